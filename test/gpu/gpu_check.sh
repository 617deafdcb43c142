#!/usr/bin/env bash
# The bundle is made, has a limit, and its check passes on the emulated device; a wrong record fails.
#   gpu_check.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $1"; [ ! -e "$work/log" ] || cat "$work/log"; exit 1; }
check() { OUT=$work/out "$work/minigptc-gpu-check/gpu-check.sh" --target cuda:test --no-build "$@" > "$work/log" 2>&1; }

"$source/tools/gpu-bundle.sh" --build "$build" --size nano "$work/bundle.tar.gz"
tar -C "$work" -xzf "$work/bundle.tar.gz"

# A bundle that is too large is refused, and leaves nothing.
if "$source/tools/gpu-bundle.sh" --build "$build" --pack-only --limit 1 "$work/large.tar.gz" > "$work/log" 2>&1; then
  fail 'a bundle beyond its limit was made'
fi
grep -q 'more than 1 MiB' "$work/log" || fail 'no word of the limit'
[ -z "$(find "$work" -name 'large*')" ] || fail 'a bundle that was refused is there'

# The programs run where nothing is installed: they link the C library and what belongs to it.
if ldd "$work"/minigptc-gpu-check/prebuilt/* | grep -E '=>' | grep -vE 'lib(c|m|dl|pthread|rt)\.so'; then
  fail 'the prebuilt programs need more than the C library'
fi

check || fail 'the check of a good bundle'
grep -q '"ok": true' "$work/out/summary.json" || fail 'summary.json does not say that all is well'
python3 -c 'import json, sys; [json.load(open(f)) for f in sys.argv[1:]]' "$work"/out/*.json || fail 'a result is no JSON'
grep -q 'emulated' "$work/out/report.txt" || fail 'the report does not say that the device is emulated'
grep -q 'TFLOP/s .*of peak' "$work/out/speed.txt" || fail 'no table of products'
grep -q '^lm-f32: 20 losses' "$work/out/golden.txt" || fail 'no losses were compared'

grep -q '"name": "peer", "ok": true, "skipped": true' "$work/out/summary.json" || fail 'what is left out looks as if it had been tried'

# A phase that does not exist is not a check that passes; blanks part names as commas do.
for phases in spead '' ' , '; do
  ! check --only "$phases" || fail "no phase ('$phases') passed"
  grep -q 'there are\? .*build,conformance' "$work/log" || fail 'no word of the phases'
done
check --only 'conformance, golden' || fail 'two phases'
grep -q '^-- golden: ok' "$work/out/report.txt" || fail 'the second phase was left out'
grep -q '^== golden (at most 375 s)' "$work/out/report.txt" || fail 'an emulated GPU has the limits of a real one'

# What only says which bundle to make is refused where there is one.
for flag in --size --build; do
  ! check --only conformance $flag nano || fail "$flag is ignored"
  grep -q "error: $flag is of a bundle to be made" "$work/log" || fail "no word of $flag"
done

# Without a GPU: one clear line, and no more.
if [ ! -e /dev/nvidiactl ]; then
  if OUT=$work/out "$work/minigptc-gpu-check/gpu-check.sh" --no-build > "$work/log" 2>&1; then
    fail 'a GPU that is not there passed'
  fi
  grep -q 'no NVIDIA driver' "$work/log" || fail 'no word of the driver'
  [ ! -e "$work/out/conformance.txt" ] || fail 'went on without a GPU'
fi

# Wrong records: each kind fails its phase, and the phases after it still run.
records=$work/minigptc-gpu-check/records
sed -i 's/"hash": "/"hash": "f/' "$records/lm-bf16.json"
rm "$records"/lm-*.losses "$records/minigpt-bf16.losses"
sed -Ei '2s/ ([0-9])\./ 1\1./' "$records/minigpt-f32.losses"
if check --only kernels,golden; then
  fail 'wrong records passed'
fi
grep -q '^FAILED .*bits differ' "$work/out/kernels.txt" || fail 'a wrong hash passed'
grep -q 'minigpt-f32: step 1 has loss' "$work/out/golden.txt" || fail 'a wrong loss passed'
grep -q 'FAILED: 2 of what was tried' "$work/out/report.txt" || fail 'the report does not count the phases that failed'

# A program that does not run has no speed, though its kernels have.
printf '#!/bin/sh\necho no steps\nexit 1\n' > "$work/minigptc-gpu-check/prebuilt/minigptc-run"
if check --only speed; then
  fail 'steps that were not timed passed'
fi
grep -q 'FAILED: 1 of what was tried' "$work/out/report.txt" || fail 'the speed phase is not what failed'
grep -q 'TFLOP/s .*of peak' "$work/out/speed.txt" || fail 'products were not timed'
echo passed
