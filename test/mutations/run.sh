#!/usr/bin/env bash
# Applies every mutation to a copy of the tree and expects its test to fail.
#   test/mutations/run.sh BUILD_DIR [NAME...]
# BUILD_DIR is a configured build, whose generator, compiler and type are taken over.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
build_dir=$(cd "${1:?build folder}" && pwd)
shift
copy=$build_dir/mutations
mkdir -p "$copy/src"

# The copy's files keep their times where they are unchanged, so that a second run builds little.
(cd "$source_dir" && git ls-files --cached --others --exclude-standard -z) |
  rsync -a --checksum --files-from=- --from0 --ignore-missing-args "$source_dir/" "$copy/src/"
variable() { sed -n "s/^$1:[A-Z]*=//p" "$build_dir/CMakeCache.txt" | head -n 1; }
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
export CCACHE_BASEDIR=$copy/src CCACHE_NOHASHDIR=1
cmake -S "$copy/src" -B "$copy/build" -G Ninja -DCMAKE_BUILD_TYPE="$(variable CMAKE_BUILD_TYPE)" \
  -DCMAKE_C_COMPILER="$(variable CMAKE_C_COMPILER)" -DCMAKE_CXX_COMPILER="$(variable CMAKE_CXX_COMPILER)" \
  -DCMAKE_EXE_LINKER_FLAGS="$(variable CMAKE_EXE_LINKER_FLAGS)" \
  -DCMAKE_CXX_FLAGS_DEBUG="$(variable CMAKE_CXX_FLAGS_DEBUG)" >"$copy/configure.log"

field() { sed -n "s/^$1=//p" "$2" | head -n 1; }

# Replaces the one occurrence of $2 in file $1 by $3.
replace_once() {
  local text
  text=$(cat "$1"; printf x)
  text=${text%x}
  local rest=${text#*"$2"}
  [ "$rest" != "$text" ] && [ "${rest#*"$2"}" = "$rest" ] || return 1
  printf '%s' "${text%%"$2"*}$3$rest" >"$1"
}

runs_test() { # TEST: runs it in the copy; its status
  case $1 in
    lit:*) ninja -C "$copy/build" minigptc-opt >"$copy/build.log" 2>&1 &&
           (cd "$copy/build/test" && "$(variable MINIGPTC_LIT)" -q --filter "${1#lit: }" .) >"$copy/test.log" 2>&1 ;;
    *) (cd "$copy/build" && ctest -R "$1" --no-tests=error --timeout 300) >"$copy/test.log" 2>&1 ;;
  esac
}

names=("$@")
[ ${#names[@]} -gt 0 ] || for f in "$source_dir"/test/mutations/*.mutation; do names+=("$(basename "$f" .mutation)"); done
caught=0
bad=0
for name in "${names[@]}"; do
  m=$source_dir/test/mutations/$name.mutation
  file=$copy/src/$(field file "$m")
  cp -p "$file" "$copy/original"
  if ! replace_once "$file" "$(field old "$m")" "$(field new "$m")"; then
    echo "mutation $name: does not apply to $(field file "$m")"
    bad=$((bad + 1))
  elif ! ninja -C "$copy/build" $(field target "$m") >"$copy/build.log" 2>&1; then
    echo "mutation $name: does not build ($copy/build.log)"
    bad=$((bad + 1))
  elif runs_test "$(field test "$m")"; then
    echo "mutation $name: NOT CAUGHT: $(field what "$m")"
    bad=$((bad + 1))
  else
    echo "mutation $name: caught"
    caught=$((caught + 1))
  fi
  cp "$copy/original" "$file" # With a new time, so that the original is built again.
done
echo "$caught mutations caught, $bad not"
[ $bad -eq 0 ]
