#!/usr/bin/env bash
# Reads a module of stage `spmd`, prints how many collectives of each kind a layer's forward and
# backward function and the train step hold:
#   collectives.sh < spmd.mlir
set -euo pipefail
awk '
  /func\.func/ { match($0, /@[A-Za-z0-9_.]+/); name = substr($0, RSTART + 1, RLENGTH - 1) }
  match($0, /dist\.(all_gather|all_reduce|all_to_all|reduce_scatter|collective_permute) /) {
    count[name " " substr($0, RSTART + 5, RLENGTH - 6)]++ }
  END {
    split("transformer_block.fwd transformer_block.bwd train_step", names, " ")
    split("all_gather all_reduce all_to_all collective_permute reduce_scatter", kinds, " ")
    for (n = 1; n <= 3; n++) {
      line = names[n] ":"
      for (k = 1; k <= 5; k++)
        if (count[names[n] " " kinds[k]])
          line = line " " kinds[k] "=" count[names[n] " " kinds[k]]
      print line
    }
  }'
