#!/usr/bin/env bash
# From a fresh clone to a trained model and a sample of its text:
#   tools/quickstart.sh            installs what is missing, builds, trains 500 steps, writes a sample
#   tools/quickstart.sh --steps N  trains N steps
#   tools/quickstart.sh --out DIR  writes the run there (default: runs/quickstart)
# Can be run again at any time: it replaces its own run, and no other.
set -euo pipefail

usage_error() { echo "quickstart: error: $*" >&2; exit 2; }
steps=500
out=
while [ $# -gt 0 ]; do
  case $1 in
    --steps) steps=${2-}; shift 2 || usage_error "--steps needs a number" ;;
    --out) out=${2-}; shift 2 || usage_error "--out needs a folder" ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) usage_error "unknown argument '$1' (there are --steps N and --out DIR)" ;;
  esac
done
[[ $steps =~ ^[1-9][0-9]*$ ]] || usage_error "--steps needs a positive number, not '$steps'"
[ -z "$out" ] || out=$(realpath -m -- "$out")
here=$PWD
cd "$(dirname "$0")/.."
out=${out:-runs/quickstart}

say() { printf '\n== %s\n' "$*"; }
say "1/4 Packages: what tools/packages.txt lists and is missing is installed"
tools/install.sh
say "2/4 Build: build/release (some minutes the first time)"
tools/build.sh release minigptc minigptc-run
say "3/4 Train: the 'tiny' model on small stories, $steps steps, sharded over 8 devices that this machine simulates"
bin=build/release/bin
text=build/data/quickstart-stories.txt
if grep -qs "$text" "$out/config.yaml"; then
  rm -rf "$out"
fi
mkdir -p "$(dirname "$out")" build/data
"$bin/minigptc" data stories --bytes 1000000 --seed 1 -o "$text"
"$bin/minigptc" train --preset tiny --text "$text" --steps "$steps" --out "$out" --devices 8 --mode fsdp_tp
say "4/4 Sample"
"$bin/minigptc" generate --run "$out" --prompt "Once upon a time" --max-tokens 300 --temperature 0.7 --seed 1 | tee "$out/sample.txt"
# As the caller would write them.
bin=$(realpath -s --relative-to="$here" "$bin")
out=$(realpath -s --relative-to="$here" "$out")
printf '\n\nThe run is in %s. Go on with:\n  %s/minigptc generate --run %s --prompt "The little dog"\n  %s/minigptc train --preset tiny --text YOUR.txt --out runs/mine\n' \
  "$out" "$bin" "$out" "$bin"
