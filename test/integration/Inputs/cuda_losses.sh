#!/usr/bin/env bash
# cuda_losses.sh DIR TOLERANCE FLAGS...: 20 steps on an emulated GPU have the losses of the CPU. DIR/text is the text to train
# on; the runs are DIR/cpu and DIR/gpu. PRESET in the environment is another model.
set -euo pipefail
dir=$1 tolerance=$2
shift 2
for run in cpu gpu; do
  target=cpu
  [ $run = cpu ] || target=cuda:test
  rm -rf "$dir/$run"
  minigptc train --preset "${PRESET:-nano}" --text "$dir/text" --set training.batch_size=2 --set model.num_layers=1 \
    --set model.context_length=12 --set training.log_interval=1 --steps 20 --quiet --threads 1 --target $target \
    --out "$dir/$run" "$@" > /dev/null
  grep -o '"loss":[0-9.]*' "$dir/$run/metrics.jsonl" | cut -d: -f2 > "$dir/$run.losses"
done
paste "$dir/cpu.losses" "$dir/gpu.losses" | tee "$dir/losses" |
  awk -v most="$tolerance" '{ d = $1 - $2; if (NF != 2 || d > most || d < -most) bad = 1 } END { exit bad || NR != 20 }' ||
  { echo "other losses than the CPU's:"; cat "$dir/losses"; exit 1; }
