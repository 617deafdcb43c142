#!/usr/bin/env bash
# Installs what is missing, builds and runs all tests: tools/test.sh [release|dev|asan] [ctest arguments...]
# As in: tools/test.sh -R first_model
set -euo pipefail
case ${1-} in -h | --help) sed -n '2,3s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."
preset=release
if [ $# -gt 0 ] && [[ $1 != -* ]]; then
  preset=$1
  shift
fi
tools/install.sh
tools/build.sh "$preset"
ctest --preset "$preset" -j "$(nproc)" "$@"
