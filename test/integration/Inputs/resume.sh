#!/usr/bin/env bash
# resume.sh DIR: see resume.test. DIR/text is the text to train on.
set -euo pipefail
dir=$1
train() { # OUT ARGUMENTS...
  local out=$1
  shift
  minigptc train --preset minigpt-tiny --set model.num_layers=2 --set training.batch_size=4 --text "$dir/text" --steps 30 \
    --set training.log_interval=1 --set checkpoint.save_interval=7 --out "$dir/$out" --quiet "$@"
}
losses() { sed -n 's/.*"step":\([0-9]*\),"loss":\([^,]*\),.*/\1 \2/p' "$dir/$1/metrics.jsonl"; }
wait_for_step() { # OUT STEP PID
  for _ in $(seq 600); do
    if [ -f "$dir/$1/metrics.jsonl" ] && [ "$(losses "$1" | wc -l)" -gt "$2" ]; then return; fi
    kill -0 "$3" 2>/dev/null || return 0
    sleep 0.02
  done
}
same() { # OUT
  diff <(losses whole) <(losses "$1") && cmp "$dir/whole.safetensors" "$dir/$1.safetensors"
}

train whole --threads 1 --save-weights "$dir/whole.safetensors"
[ "$(losses whole | wc -l)" = 30 ]
train two --threads 2 --save-weights "$dir/two.safetensors"
same two
for signal in INT KILL; do
  train "$signal" & pid=$!
  wait_for_step "$signal" 10 $pid
  kill -$signal "$(pgrep -P $pid minigptc || echo $pid)" 2>/dev/null || true
  status=0
  wait $pid || status=$?
  if [ $signal = INT ] && [ $status != 130 ] && [ $status != 0 ]; then
    echo "interrupted: exit status $status"
    exit 1
  fi
  train "$signal" --resume --save-weights "$dir/$signal.safetensors"
  same "$signal"
done
