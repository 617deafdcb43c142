#!/bin/bash
# processes.sh COUNT FOLDER COMMAND…: runs the command COUNT times as a launcher does; what process
# R says is in FOLDER/R.out and FOLDER/R.err, and its exit status is printed. In arguments {R} stands for R.
# KILL="SIGNAL RANK FILE": sends process RANK the signal when FILE is there.
count=$1 folder=$2
shift 2
mkdir -p "$folder"
export WORLD_SIZE=$count MASTER_ADDR=127.0.0.1 MASTER_PORT=$(bash "$(dirname "$0")/free_port.sh") MINIGPTC_PROCESS_TIMEOUT=${TIMEOUT:-60}
for ((rank = 0; rank < count; ++rank)); do
  RANK=$rank LOCAL_RANK=$rank timeout -s KILL 120 "${@//\{R\}/$rank}" > "$folder/$rank.out" 2> "$folder/$rank.err" &
  processes[rank]=$!
done
if [[ -n "$KILL" ]]; then
  read -r signal who file <<< "$KILL"
  for ((i = 0; i < 1000; ++i)); do [[ -e "$file" ]] && break; sleep 0.05; done
  pid=$(ps -o pid= --ppid "${processes[who]}" | tr -d ' ') # Of what timeout runs.
  kill -s "$signal" "$pid"
  if [[ $signal == STOP ]]; then # It goes when the others have gone.
    for ((rank = 0; rank < count; ++rank)); do
      ((rank == who)) || wait "${processes[rank]}"
    done
    kill -s KILL "$pid"
  fi
fi
for ((rank = 0; rank < count; ++rank)); do
  wait "${processes[rank]}" 2> /dev/null
  echo "process $rank: exit $?"
done
