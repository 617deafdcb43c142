#!/usr/bin/env bash
# Checks the layering of DESIGN from the includes, and a few habits: tools/lint/lint.sh
# Prints one line per offence; exit status 1 if there is any.
set -uo pipefail
cd "$(dirname "$0")/../.."

offences=0
# forbid WHAT WHERE PATTERN [EXCEPT]: no source file below WHERE has a line that matches PATTERN.
forbid() {
  local found
  found=$(git ls-files -- $2 | grep -E '\.(cpp|h|td)$' | grep -vE "${4:-^$}" | xargs -r grep -nE "$3" /dev/null)
  if [ -n "$found" ]; then
    printf '%s\n' "$found" | sed "s|^|lint: $1: |"
    offences=1
  fi
}

include='^ *#include ["<]'
forbid 'the runtime knows no compiler' 'runtime tools/minigptc-run' "$include(compiler|dialects|models|mlir|llvm)/"
forbid 'public headers are free of MLIR' 'compiler/include' "$include(mlir|llvm|dialects|compiler)/"
forbid 'dialect IR rests on no transform' 'dialects/*/IR' "$include(dialects/[a-z]+/Transforms|compiler|models|tools)/"
forbid 'dialects rest on no compiler' 'dialects' "$include(compiler|models|tools)/"
forbid 'the compiler rests on no tool or model' 'compiler' "$include(models|tools)/"
forbid 'models use the public frontend' 'models' "$include(mlir|llvm|dialects|tools)/"
forbid 'passes ask interfaces, not op names' 'compiler' '(isa|cast|dyn_cast)<(::minigptc::|minigptc::)?graph::[A-Z][A-Za-z]*Op>|TypeSwitch' \
  'compiler/(interpreter|conversion/GraphToLoops|trace)/'
forbid 'no path of one machine' '.' '"/(home|root|work|tmp)/'

while read -r lines file; do
  if [ "$file" != total ] && [ "$lines" -gt 600 ]; then
    echo "lint: $file has $lines lines (600 at most)"
    offences=1
  fi
done < <(git ls-files -- '*.cpp' '*.h' '*.td' | xargs -r wc -l)
exit $offences
