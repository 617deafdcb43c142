#!/bin/bash
# Reads rows `FLAGS | MESH FLAGS`: two steps on the mesh must have the losses of one device,
# to 5e-5. $1: a folder, $2: a text.
status=0
while IFS='|' read -r flags mesh; do
  [[ -z "$flags" || "$flags" == \#* ]] && continue
  for run in one many; do
    rm -rf "$1/$run"
    minigptc train $flags $([[ $run == many ]] && echo "$mesh") --text "$2" --order sequential \
      --steps 2 --quiet --out "$1/$run" > /dev/null || { echo "fails: $flags $mesh"; exit 1; }
    grep -o '"loss":[0-9.]*' "$1/$run/metrics.jsonl" | cut -d: -f2 > "$1/$run.losses"
  done
  paste "$1/one.losses" "$1/many.losses" |
    awk '{ d = $1 - $2; if (NF != 2 || d > 5e-5 || d < -5e-5) bad = 1 } END { exit bad || NR < 2 }' ||
    { echo "other losses: $flags $mesh"; paste "$1/one.losses" "$1/many.losses"; status=1; }
done
exit $status
