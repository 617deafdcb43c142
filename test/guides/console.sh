#!/usr/bin/env bash
# Runs the ```console blocks of a guide and compares what they print with what the guide shows.
#
# Usage: console.sh GUIDE BIN_DIR LLVM_TOOLS_DIR
#
# A line "$ COMMAND" is run by bash, all of a guide's in one new folder, one after the other, with
# the programs of BIN_DIR in the path; a line that ends in a backslash goes on. The lines up to the
# next command are what it prints on stdout and stderr, in which … stands for anything within a
# line, and a line of nothing else for any number of lines. "(exit status N)" as the last line says
# that the command ends so, where every other one must succeed.
set -euo pipefail
guide=$(realpath "$1")
PATH=$(realpath "$2"):$(realpath "$3"):$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/work"
cd "$folder/work"

# A FileCheck line for each line that the guide shows.
checks() {
  local directive=CHECK line any=0
  while IFS= read -r line; do
    any=1
    if [[ $line == '…' ]]; then
      directive=CHECK
      continue
    fi
    line=${line//…/'{{.*}}'}
    [[ -n $line ]] && echo "$directive: $line" || echo "CHECK-EMPTY:"
    directive=CHECK-NEXT
  done
  # What is shown without … at the end is all there is.
  if [[ $directive == CHECK-NEXT || $any -eq 0 ]]; then echo 'CHECK-NOT: {{.+}}'; fi
}

failed=0 count=0
run() {
  local want=0 status=0
  if [[ ${#shown[@]} -gt 0 && ${shown[-1]} =~ ^'(exit status '([0-9]+)')'$ ]]; then
    want=${BASH_REMATCH[1]}
    unset 'shown[-1]'
  fi
  count=$((count + 1))
  bash -c "$command" > "$folder/output" 2>&1 < /dev/null || status=$?
  printf '%s' "${shown[@]/%/$'\n'}" | checks > "$folder/checks"
  if [[ $status -ne $want ]]; then
    echo "$guide: exit status $status instead of $want: $command"
    cat "$folder/output"
    failed=1
  elif ! grep -q CHECK "$folder/checks"; then
    return # A lone …: whatever it prints.
  elif ! FileCheck --match-full-lines --allow-empty "$folder/checks" < "$folder/output"; then
    echo "$guide: other output than the guide shows: $command"
    cat "$folder/output"
    failed=1
  fi
}

command= inside=0 goes_on=0 shown=()
while IFS= read -r line; do
  if ((inside == 0)); then
    if [[ $line == '```console' ]]; then inside=1; fi
    continue
  fi
  if ((goes_on)); then
    command+=$'\n'$line
  elif [[ $line == '```' || $line == '$ '* ]]; then
    if [[ -n $command ]]; then run; fi
    command= shown=()
    if [[ $line == '```' ]]; then inside=0; else command=${line#'$ '}; fi
  else
    shown+=("$line")
  fi
  goes_on=0
  if [[ -n $command && ${#shown[@]} -eq 0 && $command == *'\' ]]; then goes_on=1; fi
done < "$guide"
echo "$guide: $count commands"
exit $((failed || count == 0))
