#!/bin/bash
# Reads rows of flags: what a training leaves must be the same, byte for byte, with collectives
# beside compute and without. $1: a folder, $2: a text.
status=0
while read -r flags; do
  [[ -z "$flags" || "$flags" == \#* ]] && continue
  for overlap in on off; do
    rm -rf "$1/$overlap"
    minigptc train $flags --overlap $overlap --text "$2" --steps 3 --quiet --out "$1/$overlap" \
      > /dev/null || { echo "fails: $flags --overlap $overlap"; exit 1; }
  done
  cmp "$1"/{on,off}/checkpoints/step-3/data-0.bin || { echo "other bits: $flags"; status=1; }
done
exit $status
