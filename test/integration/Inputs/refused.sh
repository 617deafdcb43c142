#!/bin/bash
# Reads rows `FLAGS | WORDS OF THE ERROR | WORDS OF THE HELP`: `minigptc compile FLAGS` must
# end with status 2 and say both. Where the help says "set it to A or B", the command with
# either must be accepted.
status=0
fail() {
  echo "$1: $flags"
  status=1
}
compile() { minigptc compile $flags "$@" --quiet --stop-after=trace 2>&1 >/dev/null; }
while IFS='|' read -r flags error help; do
  [[ -z "$flags" || "$flags" == \#* ]] && continue
  said=$(compile)
  [[ $? -eq 2 ]] || fail "not refused with status 2"
  for words in "$error" "$help"; do
    words=$(sed 's/^ *//; s/ *$//' <<< "$words")
    [[ "$said" == *"$words"* ]] || fail "does not say '$words', but: $said"
  done
  [[ "$said" =~ error:\ ([a-z_.]+)\ is ]] && key=${BASH_REMATCH[1]}
  [[ "$said" =~ set\ it\ to\ ([0-9]+)(\ or\ ([0-9]+))? ]] || continue
  for choice in ${BASH_REMATCH[1]} ${BASH_REMATCH[3]}; do
    said=$(compile --set "$key=$choice") || fail "what it proposes ($key=$choice) is refused: $said"
  done
done
exit $status
