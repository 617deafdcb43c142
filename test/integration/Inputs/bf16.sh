#!/usr/bin/env bash
# bf16.sh DIR: losses in bf16 stay within 1 % of those in f32; threads and a resumed run give the same bytes.
set -e
dir=$1
train() { # NAME STEPS ARGUMENTS...
  minigptc train --preset "$preset" --text "$dir/text" --steps "$2" --set training.log_interval=1 --out "$dir/$1" \
    --save-weights "$dir/$1.safetensors" --quiet "${@:3}"
}
losses() { grep -o '^{"step":[0-9]*,"loss":[0-9.e+-]*' "$1/metrics.jsonl"; }
half="--set training.precision=bf16"
for preset in nano minigpt-tiny; do
  rm -rf "$dir"/f32* "$dir"/bf16* "$dir"/part*
  train f32 30
  train bf16 30 $half --threads 1
  [ "$(losses "$dir/bf16" | wc -l)" -ge 30 ]
  paste <(losses "$dir/f32" | cut -d: -f3) <(losses "$dir/bf16" | cut -d: -f3) |
    awk '{ d = ($1 - $2) / $1; if (d > 0.01 || d < -0.01) { print "loss", $1, "in f32,", $2, "in bf16"; exit 1 } }'
  ! cmp -s "$dir/f32.safetensors" "$dir/bf16.safetensors" # it was another precision
  train bf16two 30 $half --threads 2
  cmp "$dir/bf16.safetensors" "$dir/bf16two.safetensors"
  train part 20 $half
  train part 30 $half --resume
  cmp "$dir/bf16.safetensors" "$dir/part.safetensors"
  minigptc eval --run "$dir/bf16" --json | grep -q '"loss":[0-9.]'
  minigptc generate --run "$dir/bf16" --prompt "The " --max-tokens 50 --seed 1 2>/dev/null >"$dir/run.text"
  minigptc generate --weights "$dir/bf16.safetensors" --preset "$preset" $half --prompt "The " --max-tokens 50 --seed 1 \
    2>/dev/null | cmp - "$dir/run.text"
done
