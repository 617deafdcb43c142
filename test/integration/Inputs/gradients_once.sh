#!/usr/bin/env bash
# With little beside them, the frame of a stage has not much more than its gradients, which the micro-batches
# before have added up: those of two blocks and of the embedding, or of the head and the last norm.
set -euo pipefail
frame() { sed -n "s/.*exec\.block @train_step\.$1(.* frame \([0-9]*\).*/\1/p" "$2"; }
block=$((4 * (4 * 128 * 128 + 3 * 128 * 512 + 2 * 128)))
for stage in 0 1; do
  gradients=$((2 * block + 4 * 256 * 128 + stage * 4 * 128))
  has=$(frame $stage "$1")
  echo "stage $stage has a frame of $has bytes, and gradients of $gradients; at most a quarter more is right"
  ((has >= gradients && 4 * has <= 5 * gradients))
done
