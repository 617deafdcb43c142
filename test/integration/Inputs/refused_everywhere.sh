#!/bin/bash
# Reads rows `FLAGS | WHAT | WHERE | HELP`: train, explain and compile refuse the flags with status 2,
# before anything is traced, by just that error. $1: a folder that must not come into being.
set -f
status=0
trimmed() { sed 's/^ *//; s/ *$//' <<< "$1"; }
while IFS='|' read -r flags what where help; do
  [[ -z "$flags" || "$flags" == \#* ]] && continue
  wanted="minigptc: error: $(trimmed "$what")"$'\n'"  at $(trimmed "$where")"
  help=$(trimmed "$help")
  [ -z "$help" ] || wanted+=$'\n'"  help: $help"
  for command in "train --dummy-data --out $1" explain "compile --stop-after=trace"; do
    said=$(minigptc $command $flags 2>&1 > /dev/null)
    result=$?
    [[ $result == 2 && "$said" == "$wanted" ]] && continue
    printf '%s %s: status %s\n%s\nnot\n%s\n' "$command" "$flags" "$result" "$said" "$wanted"
    status=1
  done
done
[ ! -e "$1" ] || { echo "$1 is there"; status=1; }
exit $status
