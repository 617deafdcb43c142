#!/usr/bin/env bash
# Installs what is missing, builds and runs all tests: tools/test.sh [preset] [ctest arguments...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
tools/install.sh
tools/build.sh "$preset"
ctest --preset "$preset" -j "$(nproc)" "$@"
