#!/usr/bin/env bash
# fuzz.sh NAME TIME PACKAGE: one fuzz target for TIME. Go's fuzzer now and then takes its own end for a failure, when TIME is short:
# "context deadline exceeded" without a failing input. That is told and passes. Everything else that fails, fails.
# Making an input smaller costs 100 runs at the most: go's default is a minute for each that finds something new, more than all of TIME.
set -uo pipefail
out=$(mktemp)
# Targets that write files mostly wait for fsync, which memory has none of. What go builds stays where it was.
if [ -d /dev/shm ] && [ -w /dev/shm ]; then
	export GOTMPDIR="${GOTMPDIR:-${TMPDIR:-/tmp}}" TMPDIR=/dev/shm
fi
trap 'rm -f "$out"' EXIT
"${GO:-go}" test -run '^$' -fuzz "^$1\$" -fuzztime "$2" -fuzzminimizetime 100x -parallel 2 "$3" 2>&1 | tee "$out"
code=${PIPESTATUS[0]}
if [ "$code" -ne 0 ] && grep -qx '    context deadline exceeded' "$out" && ! grep -qE 'Failing input written|panic|_test\.go:[0-9]+:|fatal error' "$out"; then
	echo "fuzz $1: the fuzzer's own deadline, no failing input"
	exit 0
fi
exit "$code"
