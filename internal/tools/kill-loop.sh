#!/usr/bin/env bash
# kill-loop.sh ROUNDS: while a producer writes, the broker is killed (-9) and started again on the same data and port.
# The producer goes on by itself, also while its partition is recovered; when it says that all was delivered, all of it must be there, once and in order.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-5}
dir=$(mktemp -d)
server= port=0
stop() { [ -z "$server" ] || kill -9 "$server" 2>/dev/null || true; rm -rf "$dir"; }
trap stop EXIT

start() { # takes a free port the first time, the same one afterwards
	bin/pelton server --data-dir "$dir/data" --listen "127.0.0.1:$port" --zk-listen 127.0.0.1:0 --override pelton.log.recovery.wait.ms=0 >"$dir/ready" 2>>"$dir/log" &
	server=$!
	for _ in $(seq 300); do
		grep -q '"event":"ready"' "$dir/ready" && break
		kill -0 "$server" 2>/dev/null || { tail -20 "$dir/log" >&2; echo "kill-loop: the broker did not start" >&2; exit 1; }
		sleep 0.1
	done
	address=$(sed -n 's/.*"kafka":"\([^"]*\)".*/\1/p' "$dir/ready")
	port=${address##*:}
}

# No head in these pipes: it would end the writer before it by SIGPIPE. About 120 MB of whole lines.
find "$(go env GOROOT)/src" -type f -name '*.go' -size -200k | sort | awk '{ print; again[NR] = $0 } END { for (i = 1; i <= NR; i++) print again[i] }' | xargs cat |
	awk 'length < 100000 && (n += length + 8) < 120000000 { printf "%7d\t%s\n", ++i, $0 }' >"$dir/corpus"
start
for round in $(seq "$rounds"); do
	topic=round-$round
	bin/pelton topics create "$topic" --partitions 1 -b "$address" >/dev/null
	bin/pelton produce "$topic" -b "$address" <"$dir/corpus" &
	producer=$!
	for _ in 1 2 3; do
		sleep "0.$((RANDOM % 6 + 1))"
		kill -9 "$server"; wait "$server" 2>/dev/null || true
		start
	done
	wait "$producer" || { echo "kill-loop: round $round: the producer failed" >&2; exit 1; }
	bin/pelton consume "$topic" -b "$address" -o beginning -e | cmp - "$dir/corpus" || { echo "kill-loop: round $round: what came back differs" >&2; exit 1; }
	bin/pelton topics delete "$topic" -b "$address" >/dev/null
	echo "kill-loop: round $round of $rounds: $(wc -l <"$dir/corpus") lines came back, byte for byte"
done
kill -TERM "$server"; code=0; wait "$server" || code=$?
server=
[ "$code" = 0 ] || { echo "kill-loop: a clean stop gave exit code $code" >&2; exit 1; }
