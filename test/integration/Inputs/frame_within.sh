#!/usr/bin/env bash
# Reads a module of stage `exec`; fails unless a block's frame has at most so many bytes:
#   frame_within.sh BLOCK BYTES < exec.mlir
set -euo pipefail
frame=$(sed -n "s/.*exec\.block @$1(.* frame \([0-9]*\).*/\1/p")
echo "the frame of $1 has ${frame:?no such block} bytes; at most $2 are right"
((frame <= $2))
