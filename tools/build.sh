#!/usr/bin/env bash
# Configures and builds a preset: tools/build.sh [release|dev|asan] [ninja arguments...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
cmake --preset "$preset" ${MLIR_DIR:+-DMLIR_DIR="$MLIR_DIR"} >build-"$preset".log 2>&1 || { tail -n 30 build-"$preset".log >&2; exit 1; }
rm -f build-"$preset".log
cmake --build --preset "$preset" -- "$@"
