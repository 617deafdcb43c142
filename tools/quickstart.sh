#!/usr/bin/env bash
# From a fresh clone to a trained model and a sample of its text:
#   tools/quickstart.sh            installs what is missing, builds, trains 500 steps, writes a sample
#   tools/quickstart.sh --steps N  trains N steps
#   tools/quickstart.sh --out DIR  writes the run there (default: runs/quickstart)
# Can be run again at any time.
set -euo pipefail
cd "$(dirname "$0")/.."

steps=500
out=runs/quickstart
while [ $# -gt 0 ]; do
  case $1 in
    --steps) steps=${2:?--steps needs a number}; shift 2 ;;
    --out) out=${2:?--out needs a folder}; shift 2 ;;
    *) echo "quickstart: error: unknown argument '$1' (there are --steps N and --out DIR)" >&2; exit 2 ;;
  esac
done

say() { printf '\n== %s\n' "$*"; }
say "1/4 Packages: what tools/packages.txt lists and is missing is installed"
tools/install.sh
say "2/4 Build: build/release (some minutes the first time)"
tools/build.sh release minigptc minigptc-run
say "3/4 Train: the 'tiny' model on small stories, $steps steps"
bin=build/release/bin
rm -rf "$out"
mkdir -p "$(dirname "$out")" build/data
"$bin/minigptc" data stories --bytes 1000000 --seed 1 -o build/data/stories.txt
"$bin/minigptc" train --preset tiny --text build/data/stories.txt --steps "$steps" --out "$out"
say "4/4 Sample"
"$bin/minigptc" generate --run "$out" --prompt "Once upon a time" --max-tokens 300 --temperature 0.7 --seed 1 | tee "$out/sample.txt"
printf '\n\nThe run is in %s. Go on with:\n  %s/minigptc generate --run %s --prompt "The little dog"\n  %s/minigptc train --preset tiny --text YOUR.txt --out runs/mine\n' \
  "$out" "$bin" "$out" "$bin"
