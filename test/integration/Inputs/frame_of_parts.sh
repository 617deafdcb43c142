#!/usr/bin/env bash
# In the frame of a step that takes its batch in 4 parts there are, at most: what a step with a
# quarter of the batch has, the sums of gradients (148096 bytes), to which the layers add where they are, and what
# rounding up to whole lines takes.
set -euo pipefail
flags="--preset nano --devices 4 --mode dp"
frame() {
  minigptc compile $flags "$@" --stop-after=exec |
    sed -n "s/.*exec\.block @train_step(.* frame \([0-9]*\).*/\1/p"
}
parts=$(frame --set training.micro_batches=4)
quarter=$(frame --set training.batch_size=8)
whole=$(frame)
most=$((quarter + 148096 + 512))
echo "whole $whole, in parts $parts, a quarter alone $quarter; at most $most are right"
((parts <= most && parts < whole))
