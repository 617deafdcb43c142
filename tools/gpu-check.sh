#!/usr/bin/env bash
# Checks minigptc on this machine's GPU, in less than 8 minutes: ./gpu-check.sh [options]
#   --target TARGET     cuda (default), or cuda:test, which emulates a GPU
#   --size SIZE         without a bundle beside this script: the size of the one to make, full or nano
#   --no-build          take the programs that came prebuilt
#   --build DIR         without a bundle: the build to make it from (default: build/release)
#   --only PHASES       some of build,conformance,kernels,golden,speed,peer
#   --build-only DIR    build there, and nothing else
# It lies in a bundle of tools/gpu-bundle.sh, and needs cmake, g++ and NVIDIA's driver and libraries; no network.
# Results, as text and JSON, go to $OUT (default: ./gpu-check-out). Exit status 1 if anything failed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
known=build,conformance,kernels,golden,speed,peer
target=cuda size=full build=1 build_only='' from='' only=$known making=''
usage() { sed -n '2,10s/^# //p' "${BASH_SOURCE[0]}"; }
wrong() { echo "gpu-check: error: $1" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --no-build) build=0; shift ;;
    --target | --size | --build | --only | --build-only)
      [ $# -ge 2 ] || wrong "$1 needs a value"
      case $1 in
        --target) target=$2 ;; --only) only=$2 ;; --build-only) build_only=$2 ;;
        --size) size=$2 making=$1 ;; --build) from=$2 making=$1 ;;
      esac
      shift 2 ;;
    *) wrong "there is no option $1; see --help" ;;
  esac
done
for name in ${only//,/ }; do
  [[ ,$known, = *,$name,* ]] || wrong "--only: there is no phase $name; there are $known"
done
[[ $only = *[a-z]* ]] || wrong "--only names no phase; there are $known"
only=,${only// /,},
case $target in cuda | cuda:test) ;; *) wrong "--target is cuda or cuda:test, not $target" ;; esac
[ -z "$making" ] || [ ! -e "$here/bundle.txt" ] || wrong "$making is of a bundle to be made, and there is one beside this script"
export LC_ALL=C

# configure_and_build FOLDER: the runtime and its tools, from the bundle alone.
configure_and_build() {
  cmake -S "$here/source" -B "$1" -DCMAKE_C_COMPILER="${CC:-gcc}" -DCMAKE_CXX_COMPILER="${CXX:-g++}" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
    -DCMAKE_EXE_LINKER_FLAGS="-static-libstdc++ -static-libgcc" -DMINIGPTC_BUILD_COMPILER=OFF \
    -DMINIGPTC_BUILD_TESTS=OFF -DCMAKE_PREFIX_PATH="$here/third_party" \
    -DMINIGPTC_GENERATED_HEADERS="$here/generated" &&
    cmake --build "$1" -j "$(nproc)" --target minigptc-run minigptc-cts
}
if [ -n "$build_only" ]; then
  configure_and_build "$build_only"
  exit
fi

# From a checkout: a bundle first, which then does the rest.
if [ ! -e "$here/bundle.txt" ]; then
  [ -x "$here/gpu-bundle.sh" ] || wrong "there is no bundle beside this script (tools/gpu-bundle.sh makes one)"
  unpacked=$(mktemp -d)
  trap 'rm -rf "$unpacked"' EXIT
  options=(--size "$size")
  [ -z "$from" ] || options+=(--build "$from")
  "$here/gpu-bundle.sh" "${options[@]}" "$unpacked/bundle.tar.gz" && tar -C "$unpacked" -xzf "$unpacked/bundle.tar.gz" || exit 1
  again=(--target "$target" --only "$only")
  [ $build = 1 ] || again+=(--no-build)
  OUT=${OUT:-$PWD/gpu-check-out} "$unpacked/minigptc-gpu-check/gpu-check.sh" "${again[@]}"
  exit
fi

out=${OUT:-$PWD/gpu-check-out}
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)
rm -f "$out"/*.json "$out"/*.txt
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
report=$out/report.txt
say() { printf '%s\n' "$*" | tee -a "$report"; }
# Limits are those of a GPU; an emulated one shares the cores with whatever else the machine does.
emulated='' patience=1
[ "$target" = cuda ] || emulated=' (emulated: no GPU; its times and figures are not those of one)' patience=5
bin=$here/prebuilt
failures=0 phases=()

quoted() { sed -e 's/\\/\\\\/g; s/"/\\"/g; s/[[:cntrl:]]/ /g' <<<"$1" | tr -d '\n'; }

# phase NAME SECONDS FUNCTION: its output goes to NAME.txt, and its end to the report.
phase() {
  local name=$1 limit=$(($2 * patience)) function=$3 status=0 start=$SECONDS
  [[ $only = *,$name,* ]] || return 0
  say "== $name (at most $limit s)$emulated"
  timeout -k 5 "$limit" bash -o pipefail -c "$function" > "$out/$name.txt" 2>&1 || status=$?
  grep '^FAILED' "$out/$name.txt" | head -20 | tee -a "$report"
  tail -n "${4:-3}" "$out/$name.txt" | tee -a "$report"
  local took=$((SECONDS - start)) ok=true word=ok skipped=false
  ! grep -q '^left out: ' "$out/$name.txt" || skipped=true word='left out'
  case $status in
    0) ;;
    124 | 137) ok=false word="FAILED: not done within $limit s" ;;
    *) ok=false word="FAILED, status $status" ;;
  esac
  [ $ok = true ] || failures=$((failures + 1))
  say "-- $name: $word, $took s"
  phases+=("{\"name\": \"$name\", \"ok\": $ok, \"skipped\": $skipped, \"seconds\": $took, \"text\": \"$name.txt\"}")
}

build_phase() {
  configure_and_build "$scratch/build"
}

conformance_phase() { "$bin/minigptc-cts" conformance "$here/programs/conformance.mgx" --driver "$target" --seconds 20 --json "$out/conformance.json"; }

kernels_phase() {
  local bad=0 name
  for record in "$here"/records/*.json; do
    name=$(basename "$record" .json)
    echo "kernels of $name"
    "$bin/minigptc-cts" kernels "$here/programs/$name.mgx" "$record" --driver "$target" --seconds 20 \
      --json "$out/kernels-$name.json" || bad=1
  done
  grep -h ' checks on ' "$out/kernels.txt" | awk '{ checks += $1; failed += $(NF - 1) } END { print checks " kernels compared, " failed " failed" }'
  return $bad
}

# train NAME FOLDER FLAGS...: a training run of a program.
train() {
  local name=$1 folder=$2
  shift 2
  "$bin/minigptc-run" "$here/programs/$name.mgx" --driver "$target" --text "$here/text.txt" --log-interval 1 \
    --out "$folder" --quiet "$@"
}

# losses_agree NAME FOLDER TOLERANCE: with those that a CPU gave.
losses_agree() {
  sed -nE 's/.*"step":([0-9]+),"loss":([^,]+),.*/\1 \2/p' "$2/metrics.jsonl" |
    awk -v name="$1" -v allowed="$3" -v recorded="$here/records/$1.losses" '
      BEGIN { while ((getline line < recorded) > 0) { split(line, part); expected[part[1]] = part[2]; left++ } }
      { off = ($2 - expected[$1]) / expected[$1]; off = off < 0 ? -off : off
        if (!($1 in expected) || !(off <= allowed)) { bad++; print name ": step " $1 " has loss " $2 ", recorded " expected[$1] }
        else left--
        worst = off > worst ? off : worst }
      END { printf "%s: %d losses, off by %.2g at most (%.2g is allowed)%s\n", name, NR, worst, allowed,
              (left > 0 ? ", and " left " are missing or wrong" : "")
            exit bad > 0 || left > 0 || NR == 0 }'
}

golden_phase() {
  local bad=0 name allowed steps half
  for losses in "$here"/records/*.losses; do
    name=$(basename "$losses" .losses)
    steps=$(wc -l < "$losses")
    allowed=5e-5
    [[ $name != *bf16 ]] || allowed=1e-2
    if train "$name" "$scratch/$name" --steps "$steps" --save-weights "$scratch/$name.safetensors" > /dev/null; then
      losses_agree "$name" "$scratch/$name" $allowed || bad=1
    else
      echo "$name: the run failed"; bad=1; continue
    fi
    [ "$name" = lm-f32 ] || [ "$target" = cuda ] || continue
    half=$((steps / 2))
    if train "$name" "$scratch/$name-2" --steps $half > /dev/null &&
       train "$name" "$scratch/$name-2" --steps "$steps" --resume --save-weights "$scratch/$name-2.safetensors" > /dev/null &&
       cmp "$scratch/$name.safetensors" "$scratch/$name-2.safetensors"; then
      echo "$name: stopped after $half steps and resumed: every bit as without a stop"
    else
      echo "$name: stopped and resumed: the weights differ"; bad=1
    fi
  done
  if "$bin/minigptc-run" "$here/programs/generation.mgx" --driver "$target" --generate "Once upon" \
       --weights "$here/records/generation.safetensors" --max-tokens 60 --temperature 0 > "$scratch/generation.txt" &&
     cmp "$scratch/generation.txt" "$here/records/generation.txt"; then
    echo "generation: the recorded text"
  else
    echo "generation: not the recorded text"; bad=1
  fi
  return $bad
}

speed_phase() {
  local name=lm-124m steps=20 peak bad=0 options=()
  [ -e "$here/programs/$name.mgx" ] || { name=lm-f32; steps=1; }
  "$bin/minigptc-cts" time "$here/programs/$name.mgx" --driver "$target" --json "$out/kernel-times.json" || bad=1
  peak=$(sed -nE 's/.*"bf16_flops": ([0-9.e+]+).*/\1/p' "$out/kernel-times.json" 2> /dev/null | head -1)
  [ -z "$peak" ] || options=(--peak-flops "$peak")
  echo "steps of $name$emulated"
  "$bin/minigptc-run" "$here/programs/$name.mgx" --driver "$target" --time $steps "${options[@]}" | tee "$scratch/step" || bad=1
  awk -v name="$name" -v emulated="$([ "$target" = cuda ] && echo false || echo true)" '
    / steps on / { for (i = 2; i <= NF; i++) { if ($i ~ /^ms/) { if (!median) median = $(i - 1); else fastest = $(i - 1) }
                                               if ($i == "tokens/s") tokens = $(i - 1) } }
    /^MFU / { mfu = $2 }
    END { printf "{\"program\": \"%s\", \"emulated\": %s, \"median_ms\": %s, \"fastest_ms\": %s, \"tokens_per_s\": %s, \"mfu_percent\": %s}\n",
            name, emulated, median ? median : "null", fastest ? fastest : "null", tokens ? tokens : "null", mfu ? mfu : "null" }' \
    "$scratch/step" > "$out/speed.json"
  return $bad
}

peer_phase() {
  if [ "$target" != cuda ]; then
    echo "left out: PyTorch has no emulated GPU"
  elif ! python3 -c 'import torch; assert torch.cuda.is_available()' 2> /dev/null; then
    echo "left out: python3 has no PyTorch that finds a GPU"
  else
    python3 "$here/source/tools/bench/peers/torch_lm_124m.py" "$out/peer.json"
  fi
}

start=$SECONDS
say "$(cat "$here/bundle.txt")"
say "target $target$emulated"
gpu='' driver=''
if [ "$target" = cuda ]; then
  if command -v nvidia-smi > /dev/null; then
    gpu=$(timeout 5 nvidia-smi --query-gpu=name,memory.total,clocks.max.sm,clocks.max.memory,power.limit --format=csv,noheader 2>&1 | head -1)
    driver=$(timeout 5 nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>&1 | head -1)
  elif [ -r /proc/driver/nvidia/version ]; then
    driver=$(head -1 /proc/driver/nvidia/version)
  fi
  say "GPU: ${gpu:-unknown}; driver: ${driver:-unknown}"
fi
export -f configure_and_build train losses_agree build_phase conformance_phase kernels_phase golden_phase speed_phase peer_phase
export here bin out scratch target emulated
if [ $build = 1 ]; then
  phase build 120 build_phase 3
  if [[ $only = *,build,* ]]; then
    if [ -x "$scratch/build/bin/minigptc-run" ] && [ -x "$scratch/build/bin/minigptc-cts" ]; then
      bin=$scratch/build/bin
    else
      say "the bundle's sources did not build here (build.txt says why): its prebuilt programs go on"
    fi
  fi
fi
say "programs: $([ "$bin" = "$here/prebuilt" ] && echo prebuilt || echo 'built here')"
if device=$(timeout 20 "$bin/minigptc-cts" device --driver "$target" 2>&1); then
  say "device: $device"
else
  say "$device"
  say "FAILED: there is nothing to check on"
  failures=$((failures + 1)) only=''
fi
phase conformance 45 conformance_phase 1
phase kernels 60 kernels_phase 1
phase golden 75 golden_phase 20
phase speed 100 speed_phase 300
phase peer 45 peer_phase
# A record that is no JSON must not end the list.
results=$(cd "$out" && find . -maxdepth 1 -name '*.json' ! -name summary.json -printf '"%P"\n' | sort | paste -sd,)
cat > "$out/summary.json" << EOF
{
 "bundle": "$(quoted "$(paste -sd' ' "$here/bundle.txt")")",
 "target": "$target", "emulated": $([ "$target" = cuda ] && echo false || echo true),
 "device": "$(quoted "$device")", "gpu": "$(quoted "$gpu")", "driver": "$(quoted "$driver")",
 "programs": "$([ "$bin" = "$here/prebuilt" ] && echo prebuilt || echo built)",
 "ok": $([ $failures = 0 ] && echo true || echo false), "seconds": $((SECONDS - start)),
 "phases": [$(IFS=,; echo "${phases[*]}")],
 "results": [$results]
}
EOF
say "$([ $failures = 0 ] && echo 'all phases passed' || echo "FAILED: $failures of what was tried")$emulated in $((SECONDS - start)) s; results in $out"
[ $failures = 0 ]
