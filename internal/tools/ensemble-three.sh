#!/usr/bin/env bash
# ensemble-three.sh: three servers from one zoo.cfg; Apache's zkCli keeps one session on them and kazoo clients take turns at a lock,
# while each server is killed (-9) and started again. Neither may see anything of it.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD
dir=$(mktemp -d)
pids=()
stop() {
	exec 7>&- 2>/dev/null || true
	for p in "${pids[@]}" ${cli:-} ${lock:-}; do kill -9 "$p" 2>/dev/null || true; done
	[ -n "${KEEP:-}" ] || rm -rf "$dir"
}
trap stop EXIT
die() { echo "ensemble-three: $*" >&2; for i in 1 2 3; do tail -3 "$dir/$i/log" >&2 || true; done; exit 1; }

mapfile -t port < <(python3 -c '
import socket
s = [socket.socket() for _ in range(9)]
for x in s: x.bind(("127.0.0.1", 0))
for x in s: print(x.getsockname()[1])')
# One file for all three: each runs in a directory of its own, where myid says which it is.
{
	echo "tickTime=1000"; echo "initLimit=10"; echo "syncLimit=5"; echo "dataDir=data"
	echo "4lw.commands.whitelist=*"; echo "pelton.ensemble.keyFile=key"
	for i in 0 1 2; do echo "server.$((i + 1))=127.0.0.1:${port[i]}:${port[i + 3]};127.0.0.1:${port[i + 6]}"; done
} >"$dir/zoo.cfg"
(umask 077; head -c 32 /dev/urandom | base64 >"$dir/key")
hosts=127.0.0.1:${port[6]},127.0.0.1:${port[7]},127.0.0.1:${port[8]}

start() { # number
	mkdir -p "$dir/$1/data"; echo "$1" >"$dir/$1/data/myid"
	(cd "$dir/$1" && exec "$here/bin/pelton" zk server --config "$dir/zoo.cfg") >>"$dir/$1/log" 2>&1 &
	pids[$1]=$!
}
role() { # number
	exec 9<>"/dev/tcp/127.0.0.1/${port[$1 + 5]}" || return 0
	printf srvr >&9; sed -n 's/^Mode: //p' <&9; exec 9>&-
} 2>/dev/null
wait_for() { # roles, sorted
	for _ in $(seq 200); do
		[ "$(for i in 1 2 3; do role "$i"; done | sort | tr '\n' ' ')" = "$1" ] && return
		sleep 0.1
	done
	die "the servers are not $1"
}
for i in 1 2 3; do start "$i"; done
wait_for "follower follower leader "

internal/tools/apache fetch zookeeper 3.9.5
libs=${APACHE_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/apache-anchors}/zookeeper-3.9.5/libs
mkfifo "$dir/in"
java -Xmx128m -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp "$libs/*" org.apache.zookeeper.ZooKeeperMain -timeout 15000 -server "$hosts" <"$dir/in" >"$dir/out" 2>&1 &
cli=$!
exec 7>"$dir/in"
heard() { # pattern
	for _ in $(seq 300); do grep -q "$1" "$dir/out" && return; sleep 0.1; done
	cat "$dir/out" >&2; die "zkCli never said $1"
}
echo "create -e /cli begun" >&7; heard "Created /cli"

venv=bin/kazoo
[ -e $venv/.done ] || { python3 -m venv $venv && $venv/bin/pip install --quiet --disable-pip-version-check kazoo==2.10.0 && touch $venv/.done; }
$venv/bin/python internal/tools/ensemble_lock.py "$hosts" "$dir/stop" >"$dir/lock" 2>&1 &
lock=$!
for _ in $(seq 300); do [ "$(grep -c turn "$dir/lock")" -gt 5 ] && break; sleep 0.1; done

for i in 1 2 3; do
	was=$(role "$i")
	turns=$(grep -c turn "$dir/lock")
	kill -9 "${pids[$i]}"; wait "${pids[$i]}" 2>/dev/null || true
	# A command in the instant of the kill may end in "connection lost", on Apache's servers too: its outcome is unknown.
	for _ in $(seq 100); do [ -n "$(for j in 1 2 3; do [ "$j" = "$i" ] || role "$j"; done | grep leader)" ] && break; sleep 0.1; done
	for try in $(seq 20); do # so a name is not used twice
		echo "create /after-$i-$try $was" >&7
		for _ in $(seq 20); do grep -q "Created /after-$i-" "$dir/out" && break 2; sleep 0.1; done
	done
	heard "Created /after-$i-"
	for _ in $(seq 300); do [ "$(grep -c turn "$dir/lock")" -gt $((turns + 5)) ] && break; sleep 0.1; done
	[ "$(grep -c turn "$dir/lock")" -gt $((turns + 5)) ] || { tail -20 "$dir/lock" >&2; die "the lock stands still after server $i ($was) was killed"; }
	echo "server $i, $was, was killed: zkCli and the lock went on"
	start "$i"
	wait_for "follower follower leader "
done
echo "stat /cli" >&7; heard "ephemeralOwner = 0x[1-9]"
echo "quit" >&7
touch "$dir/stop"
wait $lock || { tail -20 "$dir/lock" >&2; die "the lock"; }
tail -1 "$dir/lock"
! grep -qE "Expired|Exception" "$dir/out" || { cat "$dir/out" >&2; die "zkCli saw something"; }
for i in 1 2 3; do kill "${pids[$i]}"; done
for i in 1 2 3; do wait "${pids[$i]}" || die "server $i did not stop by itself"; done
