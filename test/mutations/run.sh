#!/usr/bin/env bash
# Applies mutations to the tree, one after another, and expects the test of each to fail.
#   test/mutations/run.sh [--tested] [--minutes M] PRESET [NAME...]
#   --tested      every test has passed with this tree: they are not run before the first mutation
#   --minutes M   begin no mutation later than this; which ones come first depends on the commit
# The file that a mutation changes is put back after it, whatever ends this script but SIGKILL.
set -euo pipefail
cd "$(dirname "$0")/../.."
usage() { sed -n '3,5s/^# //p' test/mutations/run.sh >&2; exit 2; }

tested=0 minutes=''
while [[ ${1-} = -* ]]; do
  case $1 in
    --tested) tested=1 ;;
    --minutes) [ $# -ge 2 ] || usage; minutes=$2; shift ;;
    *) usage ;;
  esac
  shift
done
[[ $# -gt 0 && $minutes =~ ^[0-9]*$ ]] || usage
preset=$1 names=("${@:2}")
build=build/$preset

field() { sed -n "s/^$1=//p" "test/mutations/$2.mutation" | head -n 1; }

# Replaces the one occurrence of $2 in file $1 by $3.
replace_once() {
  local text
  text=$(cat "$1"; printf x)
  text=${text%x}
  local rest=${text#*"$2"}
  [ "$rest" != "$text" ] && [ "${rest#*"$2"}" = "$rest" ] || return 1
  printf '%s' "${text%%"$2"*}$3$rest" >"$1"
}

runs_test() { # TEST: its status
  case $1 in
    lit:*) (cd "$build/test" && "$(sed -n 's/^MINIGPTC_LIT:[A-Z]*=//p' ../CMakeCache.txt)" -q --max-failures 1 --filter "${1#lit: }" .) >"$log" 2>&1 ;;
    *) (cd "$build" && ctest -R "$1" --no-tests=error --timeout 300 -j "$(nproc)" --stop-on-failure) >"$log" 2>&1 ;;
  esac
}

[ ${#names[@]} -gt 0 ] || mapfile -t names < <(basename -s .mutation -a test/mutations/*.mutation)
for name in "${names[@]}"; do
  [ -f "test/mutations/$name.mutation" ] || { echo "mutations: there is no test/mutations/$name.mutation" >&2; exit 2; }
done
if [ -n "$minutes" ]; then
  commit=$(git rev-parse HEAD)
  mapfile -t names < <(printf '%s\n' "${names[@]}" | shuf --random-source=<(yes "$commit"))
fi

scratch=$(mktemp -d)
log=$scratch/log
changed=''
put_back() { # With a new time, so that the original is built again.
  [ -z "$changed" ] || cp "$scratch/original" "$changed"
  changed=''
}
trap 'put_back; rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM HUP

if [ $tested = 0 ]; then # A test that fails anyway catches everything.
  mapfile -t targets < <(for name in "${names[@]}"; do field target "$name"; done | tr ' ' '\n' | sort -u)
  mapfile -t tests < <(for name in "${names[@]}"; do field test "$name"; done | sort -u)
  tools/build.sh "$preset" "${targets[@]}" >"$log" 2>&1 || { tail -n 20 "$log"; exit 1; }
  for test in "${tests[@]}"; do
    runs_test "$test" || { tail -n 20 "$log"; echo "mutations: '$test' fails without a mutation"; exit 1; }
  done
fi

caught=0 bad=0 touched=()
start=$SECONDS
for name in "${names[@]}"; do
  [ -z "$minutes" ] || [ $((SECONDS - start)) -lt $((minutes * 60)) ] || break
  file=$(field file "$name")
  cp "$file" "$scratch/original"
  changed=$file
  touched+=($(field target "$name"))
  if ! replace_once "$file" "$(field old "$name")" "$(field new "$name")"; then
    echo "mutation $name: does not apply to $file"
    bad=$((bad + 1))
  elif ! tools/build.sh "$preset" $(field target "$name") >"$log" 2>&1; then
    tail -n 20 "$log"
    echo "mutation $name: does not build"
    bad=$((bad + 1))
  elif runs_test "$(field test "$name")"; then
    echo "mutation $name: NOT CAUGHT: $(field what "$name")"
    bad=$((bad + 1))
  else
    echo "mutation $name: caught"
    caught=$((caught + 1))
  fi
  put_back
done
tools/build.sh "$preset" "${touched[@]}" >"$log" 2>&1 || { tail -n 20 "$log"; exit 1; } # No program of a wrong tree is left.
echo "$caught mutations caught, $bad not, $((${#names[@]} - caught - bad)) of ${#names[@]} not tried${minutes:+ in $minutes minutes}"
[ $bad -eq 0 ]
