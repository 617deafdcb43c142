#!/usr/bin/env bash
# cuda_resume.sh DIR FLAGS...: runs on emulated GPUs that were stopped go on as if they had not been. DIR/text is the text to train
# on.
set -euo pipefail
dir=$1
shift
flags=("$@")
train() { # OUT ARGUMENTS...
  local out=$1
  shift
  minigptc train --preset minigpt-tiny --set model.num_layers=1 --set training.batch_size=2 --set model.context_length=8 \
    --set training.log_interval=1 --text "$dir/text" --target cuda:test --threads 1 --quiet --out "$dir/$out" \
    "${flags[@]}" "$@"
}
steps() { cat "$dir/$1/metrics.jsonl" 2>/dev/null | grep -c '"loss"' || true; }

train whole --steps 6 --save-weights "$dir/whole.safetensors"
train half --steps 3
train half --steps 6 --resume --save-weights "$dir/half.safetensors"
cmp "$dir/whole.safetensors" "$dir/half.safetensors"

train stopped --steps 500 & pid=$!
for _ in $(seq 600); do
  [ "$(steps stopped)" -lt 2 ] || break
  sleep 0.05
done
kill -INT "$(pgrep -P $pid minigptc || echo $pid)"
status=0
wait $pid || status=$?
[ $status = 130 ] || { echo "interrupted: exit status $status"; exit 1; }
# In the middle of a step, or at its end: the state is whole.
done=$(steps stopped)
train stopped --resume --steps $((done + 2)) --save-weights "$dir/stopped.safetensors"
train through --steps $((done + 2)) --save-weights "$dir/through.safetensors"
cmp "$dir/stopped.safetensors" "$dir/through.safetensors"
