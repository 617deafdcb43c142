#!/usr/bin/env bash
# Packs what a machine with a GPU needs to check minigptc: tools/gpu-bundle.sh [options] OUT.tar.gz
#   --build DIR   a build with the compiler (default: build/release of this checkout)
#   --size SIZE   full, or nano: small programs only, for the emulated device of tests
#   --limit MIB   refuse a bundle that is larger (default: 60)
#   --pack-only   pack once more what the last call has made
# There: unpack it and run ./gpu-check.sh. It needs cmake and g++, but neither MLIR nor packages.
# Here: a build with the compiler, g++, and, for machine code beside PTX, the CUDA toolkit's nvJitLink.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
build=$top/build/release size=full limit=60 out='' pack_only=0
fail() { echo "gpu-bundle: error: $1" >&2; exit 1; }
usage() { sed -n '2,8s/^# //p' "$0"; }
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --pack-only) pack_only=1; shift ;;
    --build | --size | --limit)
      [ $# -ge 2 ] || fail "$1 needs a value"
      case $1 in --build) build=$2 ;; --size) size=$2 ;; --limit) limit=$2 ;; esac
      shift 2 ;;
    -*) fail "there is no option $1; see --help" ;;
    *) [ -z "$out" ] || fail "more than one file to write"; out=$1; shift ;;
  esac
done
[ -n "$out" ] || { usage >&2; exit 2; }
case $size in full | nano) ;; *) fail "--size is full or nano, not $size" ;; esac
[[ $limit =~ ^[0-9]+$ ]] || fail "--limit is a number of MiB, not $limit"
[ -d "$build" ] || fail "there is no build in $build (tools/build.sh makes one)"
build=$(cd "$build" && pwd)
minigptc=$build/bin/minigptc
[ -x "$minigptc" ] || fail "there is no $minigptc (tools/build.sh makes it)"
[ -f "$build/CMakeCache.txt" ] || fail "$build is no build folder: it has no CMakeCache.txt (tools/build.sh makes one)"
archs=sm_80,sm_90a,sm_100,sm_120

# Staged within the build, so that making it again compiles only what has changed.
stage=$build/gpu-bundle/minigptc-gpu-check
runner=$build/gpu-bundle/prebuilt
mkdir -p "$stage"

# include FILE: the folder in which the build has found a third party's header.
include() {
  local folder
  folder=$(sed -nE "s/^$1:PATH=(.*)/\\1/p" "$build/CMakeCache.txt")
  [ -n "$folder" ] || fail "the build in $build does not say where $1 is"
  echo "$folder"
}
sources() {
  rsync -a --delete --exclude __pycache__ "$top"/{CMakeLists.txt,LICENSE,cmake,runtime,tools} "$stage/source/"
  local library json
  rsync -a "$(include FLATBUFFERS_INCLUDE)/flatbuffers" "$(include CLI11_INCLUDE)/CLI" \
        "$(include XXHASH_INCLUDE)/xxhash.h" "$(include MINIGPTC_BLIS_INCLUDE)/blis.h" "$stage/third_party/include/"
  # A static library may lie beside the shared one.
  library=$(sed -nE 's/^MINIGPTC_BLIS_LIBRARY:FILEPATH=(.*)/\1/p' "$build/CMakeCache.txt")
  [ -f "${library%.so}.a" ] || fail "there is no ${library%.so}.a, which the bundle takes along"
  rsync -a "${library%.so}.a" "$stage/third_party/lib/"
  json=$(sed -nE 's/^nlohmann_json_DIR:PATH=(.*)/\1/p' "$build/CMakeCache.txt")
  rsync -a "$json" "$stage/third_party/share/cmake/"
  rsync -a "$json/../../../include/nlohmann" "$stage/third_party/include/"
  rsync -a "$build/runtime/exec/Artifact_generated.h" "$stage/generated/runtime/exec/"
  rsync -a "$top/tools/gpu-check.sh" "$stage/"
}

# The way the other machine builds, by the same script: what is packed is enough to build from.
prebuilt() {
  "$stage/gpu-check.sh" --build-only "$runner" > "$build/gpu-bundle/prebuilt.log" 2>&1 ||
    { tail -20 "$build/gpu-bundle/prebuilt.log" >&2; fail "the bundle's sources do not build"; }
  cp "$runner"/bin/minigptc-{run,cts} "$stage/prebuilt/"
  strip "$stage"/prebuilt/*
}

# program NAME TARGET FLAGS...: an artifact, with code for GPUs where nvJitLink is there to make it.
program() {
  local name=$1 target=$2
  shift 2
  "$minigptc" compile "$@" --target "$target" "${gpu[@]}" --quiet -o "$stage/programs/$name.mgx"
}
gpu=()
find_linker() {
  [ "$size" = full ] || return 0
  if "$minigptc" compile "$top/runtime/cts/kernels.mlir" --target cuda --gpu-arch $archs --quiet \
       -o "$build/gpu-bundle/try.mgx" 2> "$build/gpu-bundle/try.log"; then
    gpu=(--gpu-arch "$archs")
  else
    echo "gpu-bundle: remark: PTX only, which the GPU's driver compiles: $(head -1 "$build/gpu-bundle/try.log")" >&2
  fi
}

# Every kernel of a program, on the emulated device.
record() { "$stage/prebuilt/minigptc-cts" record "$stage/programs/$1.mgx" "$stage/records/$1.json" --driver cuda:test --seconds 600; }

# golden NAME STEPS FLAGS...: a program, its kernels' results, and the losses of the CPU.
golden() {
  local name=$1 steps=$2 work=$build/gpu-bundle/golden
  shift 2
  program "$name" cuda:test "$@"
  record "$name"
  rm -rf "$work"
  "$minigptc" compile "$@" --target cpu --quiet -o "$work.mgx"
  "$stage/prebuilt/minigptc-run" "$work.mgx" --text "$stage/text.txt" --steps "$steps" --log-interval 1 \
    --out "$work" --quiet > /dev/null
  sed -nE 's/.*"step":([0-9]+),"loss":([^,]+),.*/\1 \2/p' "$work/metrics.jsonl" > "$stage/records/$name.losses"
}

# A text that a trained model continues; greedy, from weights that the CPU has trained.
generation() {
  local work=$build/gpu-bundle/trained
  rm -rf "$work"
  "$minigptc" train --preset nano --target cpu --text "$stage/text.txt" --steps 300 --out "$work" --quiet \
    --save-weights "$stage/records/generation.safetensors" > /dev/null
  program generation cuda:test --preset nano --generation
  "$minigptc" generate --weights "$stage/records/generation.safetensors" --preset nano --target cpu \
    --prompt "Once upon" --max-tokens 60 --temperature 0 > "$stage/records/generation.txt"
}

make_all() {
  rm -rf "$stage/programs" "$stage/records" "$stage/bundle.txt"
  mkdir -p "$stage"/{programs,records,prebuilt,third_party/include,third_party/lib,third_party/share/cmake,generated/runtime/exec}
  sources
  prebuilt
  find_linker
  "$minigptc" data stories --bytes 200000 --seed 3 -o "$stage/text.txt" > /dev/null 2>&1
  program conformance cuda:test "$top/runtime/cts/kernels.mlir"
  batch=() lm=20 others=20
  [ "$size" = full ] || batch=(--set training.batch_size=2) others=4
  minigpt=(--preset minigpt-tiny "${batch[@]}")
  [ "$size" = full ] || minigpt+=(--set model.num_layers=1 --set model.context_length=16)
  golden lm-f32 $lm --preset nano "${batch[@]}"
  golden lm-bf16 $others --preset nano "${batch[@]}" --set training.precision=bf16
  golden minigpt-f32 $others "${minigpt[@]}"
  golden minigpt-bf16 $others "${minigpt[@]}" --set training.precision=bf16
  generation
  if [ "$size" = full ]; then
    large=(--model transformer_lm --set model.d_model=768 --set model.num_heads=12 --set model.d_ff=2048
           --set model.num_layers=12 --set model.vocab_size=50257 --set model.tie_embeddings=true
           --set training.precision=bf16)
    program lm-124m cuda "${large[@]}" --set model.context_length=1024 --set training.batch_size=8
    # The same widths on few tokens, which the emulator can run.
    program lm-wide cuda:test "${large[@]}" --set model.context_length=64 --set training.batch_size=1 \
      --set model.num_layers=2
    record lm-wide
  fi

  { echo "version $("$stage/prebuilt/minigptc-run" --version)"
    echo "size $size"
    echo "made $(date -u +%Y-%m-%dT%H:%M:%SZ)"; } > "$stage/bundle.txt"
}
[ $pack_only = 1 ] || make_all
[ -e "$stage/bundle.txt" ] || fail "there is nothing to pack in $stage"
mkdir -p "$(dirname "$out")"
tar -C "$build/gpu-bundle" -czf "$out.partial" minigptc-gpu-check
bytes=$(stat -c %s "$out.partial")
if [ "$bytes" -gt $((limit << 20)) ]; then
  rm -f "$out.partial"
  fail "the bundle has $bytes bytes, more than $limit MiB"
fi
mv "$out.partial" "$out"
echo "$out: $bytes bytes, size $size"
