#!/usr/bin/env bash
# moving.sh [zookeeper|adopt|goldens]...: runs the commands of docs/MOVING.md against real Kafka. A step is the block behind <!-- run: NAME -->; the same
# shell runs them all. zookeeper is Kafka 3.9.1 -> Pelton -> Kafka -> Pelton on one Apache ZooKeeper; adopt is a directory of Kafka 4.2.0 -> Pelton -> 4.2.0.
# PORT (21200) and the 19 above it are used. Needs Java and Maven.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD page=$PWD/docs/MOVING.md port=${PORT:-21200} apache=$PWD/internal/tools/apache
dir=$(mktemp -d)
export PATH=$root/bin:$dir/bin:$PATH
PELTON= ZOOKEEPER=
ran=" "
stop() {
	code=$?
	for pid in $PELTON $ZOOKEEPER; do kill -9 "$pid" 2>/dev/null || true; done
	for d in kafka zk kraft; do [ ! -e "$dir/$d/pid" ] || "$apache" stop "$dir/$d" KILL 2>/dev/null || true; done
	[ "$code" = 0 ] || { echo "moving: last lines of the log:" >&2; tail -15 "$dir/pelton.log" >&2 2>/dev/null || true; }
	rm -rf "$dir"
}
trap stop EXIT
fail() { echo "moving: $*" >&2; exit 1; }
mkdir -p "$dir/bin"
cd "$dir"

# tool NAME BODY: a command of Kafka's bin directory, by the means of internal/tools/apache.
tool() { printf '#!/usr/bin/env bash\nset -eu\n%s\n' "$2" >"$dir/bin/$1"; chmod +x "$dir/bin/$1"; }
step() { # NAME
	local code
	code=$(awk -v want="<!-- run: $1 -->" '$0 == want { on = 1; next } on && /^```sh/ { inside = 1; next } inside && /^```/ { exit } inside' "$page")
	[ -n "$code" ] || fail "docs/MOVING.md has no step $1"
	echo "--- $1"
	ran="$ran$1 "
	eval "$code"
}
ready() {
	for _ in $(seq 300); do
		! grep -q '"event":"ready"' ready.json || return 0
		kill -0 "$PELTON" 2>/dev/null || fail "the broker did not start"
		sleep 0.1
	done
	fail "no ready line after 30 s"
}
# content: everything that a consumer sees of every topic but the internal ones, and every group's commits.
content() {
	local t
	for t in $(pelton topics list -b "$BROKER" | grep -v '^__'); do
		echo "$t $(pelton consume "$t" -b "$BROKER" -o beginning -e -f '%p %o %T %K %S %k %s %h\n' | sort | md5sum)"
	done
	for t in $(pelton groups list -b "$BROKER" | awk 'NR > 1 { print $1 }'); do
		pelton groups lag "$t" -b "$BROKER" | awk -v g="$t" 'NR > 1 { print g, $1, $2, $3 }'
	done
}
same() { # WHAT: the content is still that of the file "content"
	for _ in $(seq 20); do # Kafka takes connections before it knows its topics
		content >now
		! cmp -s content now || break
		sleep 0.5
	done
	diff content now || fail "$1: the content differs"
	echo "same content: $1 ($(wc -l <now) topics and commits)"
}
# complaints VERSION: what that Kafka's DumpLogSegments finds wrong in any file under $LOGS. It says so on standard error, with exit code 0.
complaints() {
	local found
	found() { find "$LOGS" -path '*cluster_metadata*' -prune -o -type f -name "$1" -size +0 -print | sort | paste -sd,; }
	{
		"$apache" tool kafka "$1" kafka.tools.DumpLogSegments --deep-iteration --files "$(found '*.log')"
		"$apache" tool kafka "$1" kafka.tools.DumpLogSegments --verify-index-only --files "$(found '*.index')"
		"$apache" tool kafka "$1" kafka.tools.DumpLogSegments --index-sanity-check --files "$(found '*[0-9].index'),$(found '*.timeindex')"
		[ -z "$(found '*.snapshot')" ] || "$apache" tool kafka "$1" kafka.tools.DumpLogSegments --files "$(found '*.snapshot')"
		[ -z "$(found '*.txnindex')" ] || "$apache" tool kafka "$1" kafka.tools.DumpLogSegments --files "$(found '*.txnindex')"
	} >dumped.txt 2>&1 || { tail -3 dumped.txt >&2; fail "DumpLogSegments of $1 failed"; }
	grep -q 'passed sanity check' dumped.txt || fail "no index was checked"
	grep -i 'isvalid: false\|non-consecutive\|is followed by\|corrupt\|Mismatch\|Index offset\|Index timestamp\|out of order\|Exception\|Could not' dumped.txt || true
}
# dump VERSION: it finds nothing wrong, but for what it found before Pelton came (in the file "before-dump").
dump() {
	complaints "$1" >after-dump
	touch before-dump
	! grep -Fvxf before-dump after-dump || fail "DumpLogSegments of $1 complains"
	echo "DumpLogSegments of $1 finds nothing wrong in $(grep -c '^Dumping' dumped.txt) files"
}
fill() { # ROUND: more records in every codec, and a group that moves on
	local codec
	for codec in none gzip snappy lz4 zstd; do
		pelton topics describe "plain-$codec" -b "$BROKER" >/dev/null 2>&1 || pelton topics create "plain-$codec" --partitions 2 -b "$BROKER" >/dev/null
		awk -v round="$1" 'BEGIN { for (i = 1; i <= 400; i++) printf "key-%d=value %d of round %s\n", i, i, round }' | pelton produce "plain-$codec" -k = -z "$codec" -H "round=$1" -b "$BROKER"
	done
	pelton consume plain-none -g group-of-all -c 50 -o beginning -b "$BROKER" >/dev/null
	pelton consume plain-zstd -g "group-$1" -c 30 -o beginning -b "$BROKER" >/dev/null
	content >content
}

zookeeper() {
	local version=3.9.1 zk=127.0.0.1:$((port + 1))
	export BROKER=127.0.0.1:$port CONF=$dir/kafka/server.properties LOGS=$dir/kafka/data TOPIC=plain-none
	tool kafka-server-start.sh "exec $apache start kafka $version $port $dir/kafka $zk/kafka log.segment.bytes=20000 log.index.interval.bytes=300 log.index.size.max.bytes=4096"
	tool kafka-server-stop.sh "exec $apache stop $dir/kafka"
	tool kafka-dump-log.sh "exec $apache tool kafka $version kafka.tools.DumpLogSegments \"\$@\""
	"$apache" start zookeeper 3.9.5 $((port + 1)) "$dir/zk"
	kafka-server-start.sh
	fill kafka-1
	for round in 1 2; do
		step zookeeper-out
		step zookeeper-in
		ready
		same "Pelton, round $round"
		step zookeeper-look >/dev/null
		fill "pelton-$round"
		step zookeeper-back
		PELTON=
		[ "$round" = 1 ] || break
		step check
		dump $version
		step zookeeper-again
		same "Kafka $version, round $round"
		fill "kafka-$((round + 1))"
	done
	dump $version
	"$apache" stop "$dir/zk"
}

adopt() {
	local version=4.2.0
	export BROKER=127.0.0.1:$((port + 10)) CONF=$dir/kraft/server.properties LOGS=$dir/kraft/data TOPIC=plain-gzip
	tool kafka-server-start.sh "exec $apache start kafka $version $((port + 10)) $dir/kraft kraft log.segment.bytes=1048576 pelton.zookeeper.listen=127.0.0.1:0" # Kafka takes keys that it does not know
	tool kafka-server-stop.sh "exec $apache stop $dir/kraft"
	tool kafka-dump-log.sh "exec $apache tool kafka $version kafka.tools.DumpLogSegments \"\$@\""
	mkdir -p "$dir/kraft"
	tar xzf "$root/logstore/testdata/golden/kafka-$version/clean.tar.gz" -C "$dir/kraft" # it has transactions, open and aborted ones too
	kafka-server-start.sh
	fill kafka
	step adopt-out
	(cd "$LOGS" && find __cluster_metadata-0 bootstrap.checkpoint meta.properties -type f | sort | xargs md5sum) >before
	step adopt-in
	ready
	same "Pelton, adopted"
	step adopt-configure
	fill pelton
	(cd "$LOGS" && md5sum -c --quiet "$dir/before") || fail "files of KRaft were changed"
	step adopt-back
	PELTON=
	same "Kafka $version"
	fill kafka-again
	kafka-server-stop.sh
	dump $version
}

# golden VERSION STATE [KAFKA]: the directory that a Kafka in ZooKeeper mode left goes to Pelton by adoption, with that Kafka's own file, and from there to
# the same Kafka (or another one) on the coordination that Pelton kept.
golden() {
	local version=$1 back=${3:-$1} from=$root/logstore/testdata/golden/kafka-$1
	rm -rf "$dir/kafka"
	mkdir -p "$dir/kafka"
	export BROKER=127.0.0.1:$port CONF=$dir/golden.properties LOGS=$dir/kafka/data TOPIC=plain-gzip ZKPORT=$((port + 1))
	tar xzf "$from/$2.tar.gz" -C "$dir/kafka"
	sed -e "s#DIR#$dir/kafka#" -e "s#:25092#:$port#" -e "s#^port=.*#port=$port#" "$from/server.properties" >"$CONF"
	echo "pelton.zookeeper.listen=127.0.0.1:0" >>"$CONF"
	case $back in # it reads no newer groups
	2.*) echo "inter.broker.protocol.version=${back%.*}" >>"$CONF" ;;
	0.10.*) printf '%s\n' "inter.broker.protocol.version=${back%.*}" "log.message.format.version=${back%.*}" >>"$CONF" ;;
	esac
	tool kafka-server-stop.sh true # it was stopped when the directory was packed
	case $back in 2.* | 3.*) complaints "$back" ;; *) complaints 3.9.1 ;; esac >before-dump
	step adopt-out >/dev/null
	step adopt-in >/dev/null
	ready
	content >content
	local topic
	for topic in $(awk '$1 ~ /^(plain|rolled|compacted)/ { print $1 }' content); do
		seq 30 | awk '{ print "key-" $1 "=by Pelton " $1 }' | pelton produce "$topic" -k = -X enable.idempotence=false -b "$BROKER"
	done
	[ "${version%%.*}" = 0 ] && [ "${version:0:4}" != 0.10 ] || pelton consume plain-none -g golden-simple -c 5 -b "$BROKER" >/dev/null
	content >content
	step adopt-zookeeper
	PELTON=
	for _ in $(seq 100); do ! grep -q ready zk.json || break; sleep 0.1; done
	"$apache" start kafka "$back" "$port" "$dir/kafka" "127.0.0.1:$ZKPORT" log.index.size.max.bytes=4096 log.index.interval.bytes=300 \
		log.cleaner.dedupe.buffer.size=20000000 log.segment.bytes=20000 log.retention.hours=1000000
	same "$2 directory of Kafka $version, then Pelton, then Kafka $back"
	for topic in $(awk '$1 ~ /^(plain|rolled|compacted)/ { print $1 }' content); do
		seq 30 | awk '{ print "key-" $1 "=by Kafka again " $1 }' | pelton produce "$topic" -k = -X enable.idempotence=false -b "$BROKER"
	done
	"$apache" stop "$dir/kafka"
	kill -TERM "$ZOOKEEPER" && wait "$ZOOKEEPER" || true
	case $back in 2.* | 3.*) dump "$back" ;; *) dump 3.9.1 ;; esac
}

goldens() {
	golden 3.9.1 clean
	golden 2.2.2 crashed
	golden 0.10.2.2 clean 3.9.1
}

set -- "${@:-zookeeper}" # one by one, or all
[ "$*" != zookeeper ] || [ -n "${ONLY:-}" ] || set -- zookeeper adopt goldens
all="$*"
case $1 in golden) "$@"; exit ;; esac
for way in "$@"; do
	"$way"
done
if [ "$all" = "zookeeper adopt goldens" ]; then
	for name in $(sed -n 's/^<!-- run: \(.*\) -->$/\1/p' "$page"); do
		[[ $ran == *" $name "* ]] || fail "the step $name of docs/MOVING.md was not run"
	done
fi
echo "moving: every step of docs/MOVING.md went through"
