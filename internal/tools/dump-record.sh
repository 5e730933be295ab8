#!/usr/bin/env bash
# Records what Kafka 3.9.1's DumpLogSegments prints for the directories in logstore/testdata/golden, for the tests of logstore/inspect.
# Needs Java and Maven. Usage: internal/tools/dump-record.sh OUT.tar.gz
set -euo pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")/../.." && pwd)
out=$(realpath -m "${1:?say where the archive goes}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/internal/tools/apache" fetch kafka 3.9.1
libs=${APACHE_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/apache-anchors}/kafka-3.9.1/libs
echo log4j.rootLogger=OFF >"$work/log4j.properties"
mkdir "$work/out"

run() { # NAME FLAGS... FILES: one run in the current directory
	local name=$1 code=0
	shift
	java -XX:TieredStopAtLevel=1 -Dfile.encoding=UTF-8 -Dlog4j.configuration="file:$work/log4j.properties" -cp "$libs/*" \
		kafka.tools.DumpLogSegments "${@:1:$#-1}" --files "${!#}" >"$work/out/$name.out" 2>"$work/err" || code=$?
	grep -v -e $'^\tat ' -e '^Exception' "$work/err" | sed "s#$PWD/#DIR/#g" >"$work/out/$name.err" || true
	echo $code >"$work/out/$name.rc"
}

files() { find "$@" -print 2>/dev/null | sort | paste -sd, -; }

for golden in "$here"/logstore/testdata/golden/kafka-*; do
	for state in clean crashed; do
		at=${golden##*kafka-}-$state
		mkdir "$work/$at"
		cd "$work/$at"
		tar xzf "$golden/$state.tar.gz"
		logs=$(files data -name '*.log')
		indexes=$(files data '(' -name '*.index' -o -name '*.timeindex' ')')
		run "$at.deep" --deep-iteration --print-data-log "$logs"
		run "$at.plain" "$logs"
		run "$at.index" "$(files data '(' -name '*.index' -o -name '*.timeindex' -o -name '*.snapshot' -o -name '*.txnindex' ')')"
		run "$at.verify" --verify-index-only "$indexes"
		run "$at.sanity" --index-sanity-check "$indexes"
		run "$at.skip" --skip-record-metadata --print-data-log --deep-iteration "$(files data/plain-none-0 -name '*.log')"
		run "$at.max" --max-bytes 3000 "$(files data/plain-none-0 -name '*.log')"
		groups=$(files data -path '*/__consumer_offsets-*/*.log')
		txns=$(files data -path '*/__transaction_state-*/*.log')
		[ -z "$groups" ] || run "$at.offsets" --offsets-decoder "$groups"
		[ -z "$txns" ] || run "$at.txns" --transaction-log-decoder "$txns"
	done
done
tar czf "$out" -C "$work/out" --sort=name --mtime=2026-01-01 --owner=0 --group=0 .
