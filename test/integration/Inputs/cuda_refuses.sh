#!/usr/bin/env bash
# cuda_refuses.sh DIR N: what train, generate and minigptc-run say on a machine that cannot run a program for
# N GPUs: once, as all three must say the same, in an error and a help of a line each, with status 1, without
# having compiled or left anything; then what `devices` says of the GPUs.
dir=$1 count=$2
mesh=()
[ "$count" = 1 ] || mesh=(--devices "$count" --mode tp)
refuse() {
  rm -rf "$dir/refused"
  output=$("$@" 2>&1 < /dev/null)
  status=$?
  [ $status = 1 ] && [ "$(wc -l <<< "$output")" = 2 ] || echo "not refused in two lines (status $status): $*"
  sed "s/cannot load '[^']*': //" <<< "$output"
}
{
  refuse minigptc train --preset nano --text "$dir/text" --target cuda --quiet --out "$dir/refused" "${mesh[@]}"
  refuse minigptc generate --run "$dir/run" --prompt The --target cuda "${mesh[@]}"
  refuse minigptc-run "$dir/for$count.mgx" --text "$dir/text" --quiet --out "$dir/refused"
} | sort -u
minigptc devices | grep -A 1 '^cuda[ :][^t]' | sed 's/^cuda:test.*//'
