#!/usr/bin/env bash
# topic-id.sh [VERSION ...]: the ZooKeeper tools of 0.8.2.2, 1.1.1 and 2.2.2 know no topic ids and leave them out when they add partitions. The topic must keep its
# id through that and a restart, with all its records, and the id must be back in its znode.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD
dir=$(mktemp -d)
broker=
stop() { [ -z "$broker" ] || kill -9 "$broker" 2>/dev/null || true; [ -n "${KEEP:-}" ] || rm -rf "$dir"; }
trap stop EXIT
die() { echo "topic-id: $*" >&2; tail -20 "$dir/log" >&2; exit 1; }
versions=("$@")
[ $# -gt 0 ] || versions=(0.8.2.2 1.1.1 2.2.2)
mapfile -t port < <(python3 -c '
import socket
s = [socket.socket() for _ in range(2)]
for x in s: x.bind(("127.0.0.1", 0))
for x in s: print(x.getsockname()[1])')
seeds=127.0.0.1:${port[0]} zk=127.0.0.1:${port[1]}

start() {
	: >"$dir/ready"
	"$here/bin/pelton" server --data-dir "$dir/data" --listen "$seeds" --zk-listen "$zk" >"$dir/ready" 2>>"$dir/log" &
	broker=$!
	until grep -q '"event":"ready"' "$dir/ready"; do kill -0 "$broker" || die "the broker ended"; sleep 0.1; done
}
node() { bin/pelton zk shell "$zk" get /brokers/topics/kept; }
id() { node | sed -n 's/.*"topic_id":"\([^"]*\)".*/\1/p'; }
partitions() { node | grep -o '"[0-9]*":\[' | wc -l; }
await() { # what command...
	local what=$1
	shift
	for _ in $(seq 150); do ! "$@" || return 0; sleep 0.1; done
	die "$what"
}
back() { [ "$(id)" = "$first" ] && [ "$(partitions)" = "$n" ]; }

start
bin/pelton topics create kept --partitions 1 -b "$seeds" >/dev/null
first=$(id)
[ -n "$first" ] || die "the topic has no id: $(node)"
seq 100 | bin/pelton produce kept -b "$seeds" >/dev/null
n=1
for v in "${versions[@]}"; do
	n=$((n + 1))
	internal/tools/apache tool kafka "$v" kafka.admin.TopicCommand --zookeeper "$zk" --alter --topic kept --partitions "$n" >"$dir/tool" 2>&1 || { cat "$dir/tool" >&2; die "the tool of $v"; }
	await "after the tool of $v the znode has not $n partitions and the id $first: $(node)" back
	kill -TERM "$broker"; wait "$broker" || die "the broker did not stop"
	start
	await "after a restart the znode has not $n partitions and the id $first: $(node)" back
	seq $((100 * (n - 1) + 1)) $((100 * n)) | bin/pelton produce kept -b "$seeds" >/dev/null
	seq $((100 * n)) | cmp - <(bin/pelton consume kept -b "$seeds" -o beginning -e | sort -n) || die "records after the tool of $v"
	for p in $(seq 0 $((n - 1))); do
		grep -q "topic_id: $first" "$dir"/data/*/kept-"$p"/partition.metadata "$dir"/data/kept-"$p"/partition.metadata 2>/dev/null || die "partition $p has another id on disk"
	done
	echo "the tool of $v: $n partitions, the same id, all records"
done
kill -TERM "$broker"; wait "$broker"; broker=
