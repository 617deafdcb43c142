#!/bin/sh
# tokenizer_peers.sh PYTHON MINIGPTC [BYTES]: tokenizer_peers.py, or exit status 77 without a Python.
python=$1
shift
command -v "$python" > /dev/null 2>&1 || { echo "skipped: no $python"; exit 77; }
exec "$python" "$(dirname "$0")/tokenizer_peers.py" "$@"
