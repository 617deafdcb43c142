#!/usr/bin/env bash
# Checks the layering of docs/design/architecture.md from the includes, and a few habits:
#   tools/lint/lint.sh
# Prints one line per offence; exit status 1 if there is any, 77 outside a git checkout.
set -uo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C
git rev-parse --is-inside-work-tree > /dev/null 2>&1 || { echo "lint: skipped: this is no git checkout"; exit 77; }

offences=0
offend() { printf 'lint: %s\n' "$1"; offences=1; }

# sources WHERE: the source files below the space-separated paths.
sources() { git ls-files -- $1 | grep -E '\.(cpp|h|td)$'; }

# forbid WHAT WHERE PATTERN [EXCEPT]: no source file below WHERE has a line that matches PATTERN.
forbid() {
  local line
  while read -r line; do offend "$1: $line"; done < <(
    sources "$2" | grep -vE "${4:-^$}" | xargs -r grep -nE "$3" /dev/null)
}

# Layers: who may include whom.
include='^ *#include ["<]'
forbid 'the runtime knows no compiler' 'runtime tools/minigptc-run tools/minigptc-cts' "$include(compiler|dialects|models|mlir|llvm)/"
forbid 'runtime/base rests on nothing above' 'runtime/base runtime/include' "$include"'runtime/(hal|drivers|exec|train)/'
forbid 'runtime/hal rests on base' 'runtime/hal' "$include"'runtime/(drivers|exec|train)/'
forbid 'drivers rest on hal' 'runtime/drivers' "$include"'runtime/(exec|train)/'
forbid 'texts rest on base' 'runtime/text' "$include"'runtime/(hal|drivers|exec|train)/'
forbid 'exec knows drivers by their registry' 'runtime/exec' "$include"'runtime/(drivers/[a-z]|train/)'
forbid 'public headers are free of MLIR' 'compiler/include' "$include(mlir|llvm|dialects|compiler)/"
forbid 'dialect IR rests on no transform' 'dialects/*/IR' "$include(dialects/[a-z]+/Transforms|compiler|models|tools)/"
forbid 'dialects rest on no compiler' 'dialects' "$include(compiler|models|tools)/"
forbid 'the compiler rests on no tool or model' 'compiler' "$include(models|tools)/"
# dialects/dist/Schedules are functions of numbers.
forbid 'models use the public frontend' 'models' "$include(mlir|llvm|dialects/[a-z]+/(IR|Transforms)|compiler|tools)/"

# Passes ask interfaces. An op's class is named where it is defined, where it is traced, and where
# models of interfaces are attached to it; ops of structure (a vjp, a host call, a fusion) are like calls.
ops=$(git ls-files -- 'dialects/graph/IR/*.td' | grep -v Structure | xargs sed -nE 's/^def Graph_([A-Za-z]+Op) .*/\1/p' | paste -sd'|')
models=$(git grep -lE '::ExternalModel<' -- compiler | paste -sd'|')
forbid 'passes ask interfaces, not op names' 'compiler' \
  "(isa|cast)[a-z_]*<([^<>]*[, ])?(::)?(minigptc::)?(graph::)?($ops)\b|\[[^]]*\]\((minigptc::)?(graph::)?($ops) |getStringRef\(\) *[=!]=" \
  "compiler/(interpreter|conversion/GraphToLoops|trace)/|$models"

# A constant index of llvm.getelementptr has 29 bits, and loses the others.
forbid 'constant offsets are values (addressBehind in compiler/target/common/Elements.h)' 'compiler' 'GEPArg>\{(int|[0-9])'

# Passes: described by before and after, in a file and with a test of their name.
for table in $(git ls-files -- '*Passes.td'); do
  folder=$(dirname "$table")
  while read -r pass flag examples; do
    name=$(sed -E 's/^(Graph|Dist|Exec|Convert)//' <<<"$pass")
    test=$(sed -E 's/^(graph|dist|exec)-//; s/-/_/g' <<<"$flag").mlir
    [ "$examples" -gt 0 ] || offend "$table: $pass shows no before and after"
    [ -f "$folder/$name.cpp" ] || offend "$table: $pass is not in $folder/$name.cpp"
    [ -n "$(git ls-files -- "test/**/$test")" ] || offend "$table: $pass has no test $test"
  done < <(awk '/^def [A-Za-z]+ : Pass</ { if (pass) print pass, flag, examples; pass = $2; examples = 0;
                                           match($0, /"[^"]*"/); flag = substr($0, RSTART + 1, RLENGTH - 2) }
                /```mlir/ { examples++ } END { if (pass) print pass, flag, examples }' "$table")
done

# Mutations apply: what they replace stands in their file, once. So does the lit test that they name.
for mutation in $(git ls-files -- 'test/mutations/*.mutation'); do
  file=$(sed -n 's/^file=//p' "$mutation")
  old=$(sed -n 's/^old=//p' "$mutation")
  [ "$(grep -oF -- "$old" "$file" | wc -l)" = 1 ] || offend "$mutation no longer applies to $file"
  test=$(sed -n 's/^test=//p' "$mutation")
  case $test in
    'lit: '*) [ -n "$(git ls-files -- "test/${test#lit: }*")" ] || offend "$mutation names no lit test: ${test#lit: }" ;;
    lit:*) offend "$mutation: '$test' has no blank behind 'lit:'" ;;
  esac
done

# Habits.
forbid 'no path of one machine' '.' '"/(home|root|work|tmp)/'
forbid 'finished, or left out' '.' '\b(TODO|FIXME|XXX)\b|[Nn]ot (yet )?implemented|\b[Ff]or now\b'
while read -r page; do
  [ -e "$page" ] || offend "the tree speaks of $page, which is not there"
done < <({ git grep -ohE '\bdocs/[a-z_/]+\.md\b'
           git grep -ohE '`(compiler|dialects|models|runtime|tools|test)/[A-Za-z0-9_/.-]+\.(h|td|cpp|sh|fbs)`' -- 'docs/design/*.md' | tr -d '`'
         } | sort -u)
while read -r key; do
  grep -qE "\`([a-z]+\.)?$key\`" docs/reference/configuration.md || offend "docs/reference/configuration.md does not say what the key $key means"
done < <(sed -nE 's/^ *visit\("[a-z_]+", "([a-z_]+)".*/\1/p' runtime/train/RunConfig.h)
while read -r header; do
  grep -q '^#ifndef MINIGPTC_' "$header" || offend "$header has no include guard MINIGPTC_…"
  head -3 "$header" | grep -q '^//' || offend "$header does not begin with what it is for"
done < <(git ls-files -- '*.h' ':!cmake')
while read -r lines file; do
  [ "$file" = total ] || [ "$lines" -le 600 ] || offend "$file has $lines lines (600 at most)"
done < <(sources . | xargs -r wc -l)
exit $offences
