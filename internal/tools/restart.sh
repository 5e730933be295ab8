#!/usr/bin/env bash
# restart.sh [CLEAN_PARTITIONS [CRASH_PARTITIONS [MEGABYTES [CLEAN_MS [CRASH_MS]]]]]
# How long a start takes: on a clean directory, and after kill -9 with records beyond the recovery point. Everything that was acknowledged
# must be there afterwards. Fails when a start takes longer than its bound; 0 makes the bound none. PELTON names the binary.
set -euo pipefail
cd "$(dirname "$0")/../.."
clean=${1:-2000} crash=${2:-1000} megabytes=${3:-1024} clean_ms=${4:-1000} crash_ms=${5:-10000}
pelton=${PELTON:-bin/pelton}
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT

start() { # NAME [FLAG...]: took is the time to the ready line in ms
	local from name=$1
	shift
	: >"$dir/ready"
	from=$(date +%s%N)
	"$pelton" server --data-dir "$dir/$name" --listen 127.0.0.1:0 --zk-listen 127.0.0.1:0 "$@" >"$dir/ready" 2>>"$dir/log" &
	server=$!
	until grep -q '"event":"ready"' "$dir/ready"; do
		kill -0 "$server" 2>/dev/null || { tail -20 "$dir/log" >&2; echo "restart: the broker did not start" >&2; exit 1; }
		sleep 0.01
	done
	took=$((($(date +%s%N) - from) / 1000000))
	address=$(sed -n 's/.*"kafka":"\([^"]*\)".*/\1/p' "$dir/ready")
}

stop() { # SIGNAL
	kill "-$1" "$server"
	wait "$server" 2>/dev/null || [ "$1" = KILL ] || { echo "restart: the stop failed" >&2; exit 1; }
	server=
}

bound() { # WHAT LIMIT
	echo "restart: $1: $took ms (bound: $2 ms)"
	[ "$2" = 0 ] || [ "$took" -le "$2" ] || { echo "restart: too slow" >&2; exit 1; }
}

start clean
for part in 1 2 3 4; do
	"$pelton" topics create "many-$part" --partitions $((clean / 4)) -b "$address" --timeout 60s >/dev/null
done
stop TERM
start clean
bound "start on a clean directory with $clean partitions" "$clean_ms"
stop TERM

start crash
"$pelton" topics create work --partitions "$crash" -b "$address" --timeout 60s >/dev/null
"$pelton" perf produce --topic work --records $((megabytes * 1024)) --record-size 1024 --acks 1 -b "$address" --json >"$dir/perf"
stop KILL
start crash --override pelton.log.recovery.wait.ms=600000 # ready when every log is recovered
bound "start after kill -9 with $crash partitions and $megabytes MiB beyond the recovery point" "$crash_ms"
echo "restart: $(grep -c 'cut the end of a log' "$dir/log" || true) torn ends were cut"
stop TERM
"$pelton" log verify --json "$dir/crash/logs" >"$dir/verified" || { echo "restart: the logs are damaged" >&2; exit 1; }
found=$(grep -o '"records": *[0-9]*' "$dir/verified" | awk -F: '{ n += $2 } END { print n }')
[ "$found" -ge $((megabytes * 1024)) ] || { echo "restart: $((megabytes * 1024)) records were acknowledged, $found are there" >&2; exit 1; }
echo "restart: all of $((megabytes * 1024)) acknowledged records are there"
