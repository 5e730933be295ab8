#!/usr/bin/env bash
# measuring.sh: runs every command of docs/MEASURING.md and benchmarks/README.md in a tiny form: that they run, not what they measure.
set -euo pipefail
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
DIR=$(mktemp -d)
trap 'jobs -p | xargs -r kill 2>/dev/null; wait; rm -rf "$DIR"' EXIT
ln -s "$ROOT/examples" "$ROOT/bin" "$DIR/"
cd "$DIR"
echo 'num.shards=2' >server.properties
bin/pelton server --data-dir data --listen 127.0.0.1:0 --zk-listen 127.0.0.1:0 --override admin.listener=127.0.0.1:0 >ready 2>broker.log &
for _ in $(seq 300); do grep -q '"ready"' ready && break; sleep 0.1; done
B=$(sed -n 's/.*"kafka":"\([^"]*\)".*/\1/p' ready) ADMIN=$(sed -n 's/.*"admin":"\([^"]*\)".*/\1/p' ready) HISTORY=$DIR/history.jsonl
[ -n "$B" ] && [ -n "$ADMIN" ] || { echo "measuring: the broker did not start" >&2; cat ready broker.log >&2; exit 1; }
seq 100 | bin/pelton produce orders -b "$B" >/dev/null # what is recorded and replayed

# Each of these is the program with less work.
SMALL="-pairs 1 -bytes 5000000 -scale 0.01 -latency 200ms"
pelton() {
	case "$1 ${2-}" in
	"perf self-test") bin/pelton "$@" --duration 200ms --quiet ;;
	"perf record" | "perf replay" | "perf consume") bin/pelton "$@" -b "$B" --quiet ;;
	"perf "*) bin/pelton "$@" -b "$B" --duration 500ms --warmup 100ms --quiet ;;
	"lab run") bin/pelton "$@" --repetitions 5 --duration 100ms ;;
	"top "*) bin/pelton "$@" --count 1 --interval 200ms ;;
	"doctor "*) bin/pelton "$@" || case $? in 1 | 3) ;; *) return 1 ;; esac ;; # its code speaks of the machine
	*) bin/pelton "$@" ;;
	esac
}
bench() { (cd "$ROOT" && bin/bench "$@" $SMALL -rows "${ROWS-^produce-16k}"); }
go() { case "$*" in *-bench*) set -- "$@" -benchtime 1000x ;; esac; (cd "$ROOT" && command go "$@"); }
make() {
	case $1 in
	bench-rivals) set -- "$@" RIVALS="${RIVALS-redis}" BENCH="$SMALL -rows ^rivals-1k-fetch" ;;
	bench-latency) set -- "$@" BENCH="$SMALL -rows ^latency-1k" ;;
	bench | bench-compare | bench-zk) set -- "$@" BENCH="$SMALL -rows ^produce-16k" ;;
	lab-check) set -- "$@" LAB="--repetitions 5 --duration 100ms" LABDIR="$DIR" ;;
	esac
	command make -C "$ROOT" --no-print-directory HISTORY="$HISTORY" "$@"
}

n=0
for page in docs/MEASURING.md benchmarks/README.md; do
	# Lines of blocks, and what stands in backquotes in text and tables; … and capitals stand for something to fill in.
	awk '/^ *```/ { inside = !inside; next } inside { print; next } { n = split($0, part, "`"); for (i = 2; i <= n; i += 2) print part[i] }' "$ROOT/$page" |
		grep -E '^(pelton|make|bin/bench|go|RIVALS=[a-z]) ' | grep -vE '…|FILE|=`?$|REF=$|make measuring|^pelton (perf|lab|plan)$' | awk '!seen[$0]++' >commands || true
	[ "$(wc -l <commands)" -ge 4 ] || { echo "measuring: $page has no commands to run" >&2; exit 1; }
	while IFS= read -r line <&3; do
		n=$((n + 1))
		line=${line//127.0.0.1:9101/$ADMIN}
		line=${line//bin\/bench -/bench -}
		line=${line//\/path\/to\/other\/pelton/bin\/pelton}
		line=${line//4.2.0,3.9.1,nats,redis,rabbitmq/${RIVALS-redis}} # who is absent is named by the program
		line=${line//benchmarks\/history.jsonl/$HISTORY}
		echo "$page: $line"
		# In a shell of its own, where a command that fails ends it.
		( set -e; eval "$line" ) >said 2>&1 || { cat said; echo "measuring: this failed: $line" >&2; exit 1; }
	done 3<commands
done
[ -s "$HISTORY" ] || { echo "measuring: no benchmark has kept a line" >&2; exit 1; }
echo "measuring: $n commands did what the pages say"
