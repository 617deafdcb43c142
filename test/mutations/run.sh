#!/usr/bin/env bash
# Applies every mutation to a copy of the tree and expects its test to fail.
#   test/mutations/run.sh PRESET [NAME...]
# The copy is build/mutations; with ccache, what the presets' own build compiled is not compiled again.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
preset=${1:?a preset: release, dev or asan}
shift
copy=$source_dir/build/mutations
mkdir -p "$copy"

# Unchanged files keep the times that they have in the copy, so that a second run builds little, but
# builds again what a mutation was the last to change.
(cd "$source_dir" && git ls-files --cached --others --exclude-standard -z) |
  rsync -a --no-times --checksum --files-from=- --from0 --ignore-missing-args "$source_dir/" "$copy/"
cd "$copy"
build=build/$preset

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
    lit:*) (cd "$build/test" && "$(sed -n 's/^MINIGPTC_LIT:[A-Z]*=//p' ../CMakeCache.txt)" -q --filter "${1#lit: }" .) >test.log 2>&1 ;;
    *) (cd "$build" && ctest -R "$1" --no-tests=error --timeout 300) >test.log 2>&1 ;;
  esac
}

names=("$@")
[ ${#names[@]} -gt 0 ] || for f in "$source_dir"/test/mutations/*.mutation; do names+=("$(basename "$f" .mutation)"); done
mutation() { echo "$source_dir/test/mutations/$1.mutation"; }

# Without a mutation every test passes, or its failing would say nothing.
targets=() tests=()
for name in "${names[@]}"; do
  targets+=($(field target "$(mutation "$name")"))
  tests+=("$(field test "$(mutation "$name")")")
done
mapfile -t targets < <(printf '%s\n' "${targets[@]}" | sort -u)
mapfile -t tests < <(printf '%s\n' "${tests[@]}" | sort -u)
tools/build.sh "$preset" "${targets[@]}" >build.log 2>&1 || { tail -n 20 build.log; exit 1; }
for test in "${tests[@]}"; do
  runs_test "$test" || { tail -n 20 test.log; echo "mutations: '$test' fails without a mutation"; exit 1; }
done

caught=0
bad=0
for name in "${names[@]}"; do
  m=$(mutation "$name")
  file=$(field file "$m")
  cp -p "$file" original
  if ! replace_once "$file" "$(field old "$m")" "$(field new "$m")"; then
    echo "mutation $name: does not apply to $file"
    bad=$((bad + 1))
  elif ! tools/build.sh "$preset" $(field target "$m") >build.log 2>&1; then
    echo "mutation $name: does not build (see $copy/build.log)"
    bad=$((bad + 1))
  elif runs_test "$(field test "$m")"; then
    echo "mutation $name: NOT CAUGHT: $(field what "$m")"
    bad=$((bad + 1))
  else
    echo "mutation $name: caught"
    caught=$((caught + 1))
  fi
  cp original "$file" # With a new time, so that the original is built again.
done
echo "$caught mutations caught, $bad not"
[ $bad -eq 0 ]
