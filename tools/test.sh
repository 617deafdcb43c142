#!/usr/bin/env bash
# Installs what is missing, builds and runs all tests: tools/test.sh [release|dev|asan] [ctest arguments...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=release
if [ $# -gt 0 ] && [[ $1 != -* ]]; then
  preset=$1
  shift
fi
tools/install.sh
tools/build.sh "$preset"
ctest --preset "$preset" -j "$(nproc)" "$@"
