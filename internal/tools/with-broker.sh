#!/usr/bin/env bash
# Runs a command beside a fresh broker: with-broker.sh COMMAND...
# The command finds the broker in PELTON_BOOTSTRAP and coordination in PELTON_ZOOKEEPER. Its exit code is ours.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
server=
stop() {
	[ -z "$server" ] || { kill -TERM "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
	rm -rf "$dir"
}
trap stop EXIT
bin/pelton server --data-dir "$dir/data" --listen 127.0.0.1:0 --zk-listen 127.0.0.1:0 \
	--override group.initial.rebalance.delay.ms=0 ${PELTON_OVERRIDES:-} >"$dir/ready" 2>"$dir/log" &
server=$!
for _ in $(seq 300); do
	grep -q '"event":"ready"' "$dir/ready" && break
	kill -0 "$server" 2>/dev/null || { cat "$dir/log" >&2; echo "with-broker: the broker did not start" >&2; exit 1; }
	sleep 0.1
done
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$dir/ready"; }
PELTON_BOOTSTRAP=$(field kafka) PELTON_ZOOKEEPER=$(field zookeeper) PELTON_LOG="$dir/log"
export PELTON_BOOTSTRAP PELTON_ZOOKEEPER PELTON_LOG
[ -n "$PELTON_BOOTSTRAP" ] || { cat "$dir/log" >&2; echo "with-broker: no ready line after 30 s" >&2; exit 1; }
code=0
"$@" || code=$?
[ "$code" = 0 ] || { echo "with-broker: last lines of the broker's log:" >&2; tail -20 "$dir/log" >&2; }
exit "$code"
