#!/usr/bin/env bash
# differential.sh [3.9.1|4.2.0 [PROBES [key=value…]]]: starts that Apache Kafka (3.9.1 with ZooKeeper 3.9.5, 4.2.0 without) and Pelton with the same settings, sends both
# the same requests and compares the answers. What may differ stands in docs/DIFFERENCES.md.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1:-3.9.1} only=${2:-}
shift $(($# < 2 ? $# : 2)) # the rest are settings of both
dir=$(mktemp -d)
free() { # three ports in a row: Kafka without ZooKeeper has its controller behind its own, and ZooKeeper takes the third
	python3 -c 'import random, socket
while True:
    p, held = random.randrange(20000, 30000), []
    try:
        for i in range(3):
            s = socket.socket(); held.append(s); s.bind(("127.0.0.1", p + i))
        print(p); break
    except OSError:
        pass
    finally:
        for s in held: s.close()'
}
stop() {
	for p in kafka zk kafka2 zk2; do [ ! -e "$dir/$p" ] || internal/tools/apache stop "$dir/$p" 2>/dev/null || true; done
	rm -rf "$dir"
}
trap stop EXIT
kafka=$(free) tables=D without='^$'
case $version in
3.*)
	internal/tools/apache start zookeeper 3.9.5 $((kafka + 2)) "$dir/zk"
	internal/tools/apache start kafka "$version" "$kafka" "$dir/kafka" "127.0.0.1:$((kafka + 2))" "$@" ;;
*)
	tables=DK # node 0, as Pelton is
	without='^(Produce|Fetch|ListOffsets) v[0-9]+ old-' # 4.x tells versions of these that it does not serve, and knows no old formats
	internal/tools/apache start kafka "$version" "$kafka" "$dir/kafka" kraft node.id=0 "controller.quorum.voters=0@127.0.0.1:$((kafka + 1))" "$@" ;;
esac
go build -o bin/differential ./internal/tools/differential
if [ -n "${PELTON_DIFFERENTIAL_SELF:-}" ]; then # a second Kafka 3.9.1 instead of Pelton: what the comparison itself gets wrong shows here
	twin=$(free)
	internal/tools/apache start zookeeper 3.9.5 $((twin + 2)) "$dir/zk2"
	internal/tools/apache start kafka "$version" "$twin" "$dir/kafka2" "127.0.0.1:$((twin + 2))" "$@"
	bin/differential -a "127.0.0.1:$kafka" -b "127.0.0.1:$twin" -known /dev/null -tables - -only "$only" -without "$without"
	exit
fi
same=$(grep -vE '^(log.dirs|listeners|advertised.listeners|zookeeper.connect|broker.id|node.id|process.roles|controller[.a-z]*)=|^$' "$dir/kafka/server.properties" |
	sed 's/^/--override /' | tr '\n' ' ')
PELTON_OVERRIDES="--override broker.id=0 $same" internal/tools/with-broker.sh \
	bash -c 'bin/differential -a "127.0.0.1:'"$kafka"'" -b "$PELTON_BOOTSTRAP" -known docs/DIFFERENCES.md -tables '"$tables -only '$only' -without '$without'"
