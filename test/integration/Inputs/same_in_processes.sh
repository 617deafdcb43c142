#!/bin/bash
# same_in_processes.sh FOLDER COUNT MODE ARGUMENT…: trains in one process and in COUNT of them, one device each, and compares the
# losses; whatever a process other than the first one says is an error. The runs are FOLDER/one-MODE and FOLDER/MODE.
folder=$1 count=$2 mode=$3
shift 3
minigptc "$@" --devices "$count" --mode "$mode" --quiet --out "$folder/one-$mode" > "$folder/alone" || exit 1
bash "$(dirname "$0")/processes.sh" "$count" "$folder/said" minigptc "$@" --devices "$count" --mode "$mode" --quiet --out "$folder/$mode"
for ((rank = 1; rank < count; ++rank)); do
  sed "/: waiting for $count processes/d" "$folder/said/$rank.out" "$folder/said/$rank.err"
done
for run in "one-$mode" "$mode"; do
  grep -o '"step":.*"loss":[^,}]*' "$folder/$run/metrics.jsonl" > "$folder/$run.losses"
done
cmp "$folder/one-$mode.losses" "$folder/$mode.losses" && echo "$mode: the losses of one process"
