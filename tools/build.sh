#!/usr/bin/env bash
# Configures and builds a preset: tools/build.sh [release|dev|asan] [ninja arguments...]
set -euo pipefail
case ${1-} in -h | --help) sed -n '2s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
if ! command -v cmake >/dev/null || ! command -v ninja >/dev/null; then
  printf 'minigptc: error: cmake or ninja is missing\n  help: tools/install.sh installs what the build needs\n' >&2
  exit 1
fi
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# ccache fails where it has no folder to write to; the build need not.
if cache=$(ccache --get-config cache_dir 2>/dev/null) && ! { mkdir -p "$cache" && [ -w "$cache" ]; } 2>/dev/null; then
  export CCACHE_DISABLE=1
fi
# Quiet, unless it fails.
output=$(cmake --preset "$preset" ${MLIR_DIR:+-DMLIR_DIR="$MLIR_DIR"} 2>&1) || { tail -n 30 <<<"$output" >&2; exit 1; }
cmake --build --preset "$preset" -- "$@"
