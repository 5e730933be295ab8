#!/usr/bin/env bash
# Starts Apache Kafka 3.9.1 with ZooKeeper 3.9.5 and Pelton with the same settings, sends both the same requests and compares.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
free() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }
stop() { internal/tools/apache stop "$dir/kafka" 2>/dev/null || true; internal/tools/apache stop "$dir/zk" 2>/dev/null || true; rm -rf "$dir"; }
trap stop EXIT
zk=$(free) kafka=$(free)
internal/tools/apache start zookeeper 3.9.5 "$zk" "$dir/zk"
internal/tools/apache start kafka 3.9.1 "$kafka" "$dir/kafka" "127.0.0.1:$zk"
same=$(grep -vE '^(log.dirs|listeners|zookeeper.connect|broker.id|)(=|$)' "$dir/kafka/server.properties" | sed '/^$/d; s/^/--override /' | tr '\n' ' ')
go build -o bin/differential ./internal/tools/differential
PELTON_OVERRIDES="--override broker.id=0 $same" internal/tools/with-broker.sh \
	bash -c 'bin/differential -a "127.0.0.1:'"$kafka"'" -b "$PELTON_BOOTSTRAP" -known docs/DIFFERENCES.md'
