#!/usr/bin/env bash
# zk-docs.sh: runs the commands of docs/COORDINATION.md in their order. Each block must end well.
set -euo pipefail
cd "$(dirname "$0")/../.."
PATH=$PWD/bin:$PATH
DIR=$(mktemp -d)
export PATH DIR
trap 'rm -rf "$DIR"' EXIT
awk '/^<!-- run -->$/ { run = 1; next } run && /^```sh$/ { inside = 1; printf "echo \"block at line %d\"\n", NR; next } /^```$/ { run = inside = 0 } inside' docs/COORDINATION.md >"$DIR/commands.sh"
[ "$(grep -c '^echo "block' "$DIR/commands.sh")" -ge 10 ] || { echo "zk-docs: the page has no blocks to run" >&2; exit 1; }
echo 'trap - EXIT' >>"$DIR/commands.sh"
# A shell of its own: one that is part of a condition would go on after a command that fails.
sed -i '1i trap "jobs -p | xargs -r kill -9 2>/dev/null" EXIT' "$DIR/commands.sh"
bash -eu "$DIR/commands.sh" || { echo "zk-docs: the block above failed" >&2; tail -5 "$DIR"/*.log >&2; exit 1; }
echo "zk-docs: every block did what the page says"
