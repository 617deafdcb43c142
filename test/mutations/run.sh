#!/usr/bin/env bash
# Applies every mutation to a copy of the tree and expects its test to fail.
#   test/mutations/run.sh PRESET [NAME...]
# Two copies, build/mutations/1 and 2, share the work: most of a mutation is one file compiled, one program linked
# and one test run, which leaves a core idle. With ccache, what the presets' own build compiled is not compiled again.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
preset=${1:?a preset: release, dev or asan}
shift
build=build/$preset

mutation() { echo "$source_dir/test/mutations/$1.mutation"; }
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

# Without a mutation every test passes, or its failing would say nothing.
passes_unchanged() { # NAME...
  local name test targets=() tests=()
  for name in "$@"; do
    targets+=($(field target "$(mutation "$name")"))
    tests+=("$(field test "$(mutation "$name")")")
  done
  mapfile -t targets < <(printf '%s\n' "${targets[@]}" | sort -u)
  mapfile -t tests < <(printf '%s\n' "${tests[@]}" | sort -u)
  tools/build.sh "$preset" "${targets[@]}" >build.log 2>&1 || { tail -n 20 build.log; return 1; }
  for test in "${tests[@]}"; do
    runs_test "$test" || { tail -n 20 test.log; echo "mutations: '$test' fails without a mutation"; return 1; }
  done
}

apply() { # NAME: prints what became of it
  local m file
  m=$(mutation "$1")
  file=$(field file "$m")
  cp -p "$file" original
  if ! replace_once "$file" "$(field old "$m")" "$(field new "$m")"; then
    echo "mutation $1: does not apply to $file"
  elif ! tools/build.sh "$preset" $(field target "$m") >build.log 2>&1; then
    echo "mutation $1: does not build (see $PWD/build.log)"
  elif runs_test "$(field test "$m")"; then
    echo "mutation $1: NOT CAUGHT: $(field what "$m")"
  else
    echo "mutation $1: caught"
  fi
  cp original "$file" # With a new time, so that the original is built again.
}

work() { # COPY NAME...
  local copy=$source_dir/build/mutations/$1 name
  shift
  [ $# -gt 0 ] || return 0
  mkdir -p "$copy"
  # Unchanged files keep the times that they have in the copy, so that a second run builds little, but
  # builds again what a mutation was the last to change.
  (cd "$source_dir" && git ls-files --cached --others --exclude-standard -z) |
    rsync -a --no-times --checksum --files-from=- --from0 --ignore-missing-args "$source_dir/" "$copy/"
  cd "$copy"
  passes_unchanged "$@" || return 1
  for name in "$@"; do apply "$name"; done
}

names=("$@")
[ ${#names[@]} -gt 0 ] || for f in "$source_dir"/test/mutations/*.mutation; do names+=("$(basename "$f" .mutation)"); done
# Those of one target follow each other: the less is linked again.
mapfile -t names < <(for name in "${names[@]}"; do echo "$(field target "$(mutation "$name")")|$name"; done | sort | sed 's/.*|//')

mkdir -p "$source_dir/build/mutations"
log=$source_dir/build/mutations/log
half=$(((${#names[@]} + 1) / 2))
{
  work 1 "${names[@]:0:half}" &
  work 2 "${names[@]:half}" &
  wait
} | tee "$log"
caught=$(grep -c ': caught$' "$log" || true)
echo "$caught mutations caught, $((${#names[@]} - caught)) not"
[ "$caught" -eq ${#names[@]} ]
