#!/usr/bin/env bash
# Installs the packages that the build needs (Debian 12 and later), or says how to get them.
# Does nothing, and needs no root, where all are there already.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t wanted < <(grep -vE '^(#|$)' tools/packages.txt)
if [ -n "${MLIR_DIR:-}" ]; then # The user's own build of LLVM takes these packages' place.
  mapfile -t wanted < <(printf '%s\n' "${wanted[@]}" | grep -vE '^(libmlir|liblld|llvm|mlir)-22')
fi
missing=()
if command -v dpkg-query >/dev/null; then
  for package in "${wanted[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
elif command -v clang++-22 >/dev/null && [ -d "${MLIR_DIR:-/usr/lib/llvm-22/lib/cmake/mlir}" ]; then
  exit 0 # Not a Debian system, but the compiler's own needs are met; CMake names what else is missing.
else
  cat >&2 <<'MESSAGE'
minigptc: error: this is no Debian system, so packages can't be installed for you
  help: install clang, lld and MLIR/LLVM 22.1 (set MLIR_DIR to its lib/cmake/mlir), and: cmake, ninja, BLIS,
        FlatBuffers with flatc, nlohmann-json, yaml-cpp, CLI11 2, Catch2 2, zstd, zlib, xxHash, rsync. Then run this again.
MESSAGE
  exit 1
fi
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  if command -v sudo >/dev/null; then
    as_root=(sudo)
  else
    printf 'minigptc: error: these packages are missing: %s\n  help: install them as root: apt-get install %s\n' \
      "${missing[*]}" "${missing[*]}" >&2
    exit 1
  fi
fi
echo "Installing with apt-get: ${missing[*]}"
if ! "${as_root[@]}" apt-get update -qq; then
  echo "minigptc: error: apt-get update failed; is the network there?" >&2
  exit 1
fi
if ! apt-cache show libmlir-22-dev >/dev/null 2>&1; then
  cat >&2 <<'MESSAGE'
minigptc: error: this system's package lists have no MLIR 22
  help: add the LLVM project's package source for version 22 and run this again, or build LLVM 22.1 with MLIR
        and set MLIR_DIR to its lib/cmake/mlir.
MESSAGE
  exit 1
fi
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
