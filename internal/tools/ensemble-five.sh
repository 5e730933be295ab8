#!/usr/bin/env bash
# ensemble-five.sh: five servers from one zoo.cfg behind a wall that lets clients reach their client ports alone. Each is stopped and started again in
# turn, one with an empty disk; then servers are killed until no majority is left. A client must not lose anything (root for the wall; python3).
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=${PELTON_BIN:-$PWD/bin/pelton}
dir=$(mktemp -d)
pids=() client=
inside=() outside=() walled=
net=10.216
stop() {
	for p in "${pids[@]}" $client; do kill -9 "$p" 2>/dev/null || true; done
	[ -z "$walled" ] || { ip netns del peltonsrv; ip netns del peltoncli; } 2>/dev/null || true
	[ -n "${KEEP:-}" ] || rm -rf "$dir"
}
trap stop EXIT
die() { echo "ensemble-five: $*" >&2; tail -5 "$dir/client" >&2 || true; for i in 1 2 3 4 5; do tail -3 "$dir/$i/log" >&2 || true; done; exit 1; }

# The servers have two addresses each: one between themselves, one for clients, and the clients' network has no way to the first.
wall() {
	[ "$(id -u)" = 0 ] && ip netns add peltonsrv && walled=1 && ip netns add peltoncli || return 1
	ip link add peltoncv type veth peer name peltonsv && ip link set peltonsv netns peltonsrv && ip link set peltoncv netns peltoncli || return 1
	inside=(nsenter --net=/run/netns/peltonsrv) outside=(nsenter --net=/run/netns/peltoncli)
	for i in 1 2 3 4 5; do
		"${inside[@]}" ip addr add $net.1.$i/32 dev lo
		"${inside[@]}" ip addr add $net.2.$i/24 dev peltonsv
	done
	"${inside[@]}" ip link set lo up; "${inside[@]}" ip link set peltonsv up
	"${outside[@]}" ip link set lo up; "${outside[@]}" ip addr add $net.2.254/24 dev peltoncv; "${outside[@]}" ip link set peltoncv up
}
shut=()
if wall 2>"$dir/wall"; then
	between() { echo $net.1.$1; }
	front() { echo $net.2.$1:2181; }
	for i in 1 2 3 4 5; do shut+=($net.1.$i:2888 $net.1.$i:3888 $net.2.$i:2888 $net.2.$i:3888); done
	peer=2888 election=3888
else
	echo "no wall between clients and servers: $(tail -1 "$dir/wall")"
	mapfile -t port < <(python3 -c '
import socket
s = [socket.socket() for _ in range(15)]
for x in s: x.bind(("127.0.0.1", 0))
for x in s: print(x.getsockname()[1])')
	between() { echo 127.0.0.1; }
	front() { echo 127.0.0.1:${port[$1 - 1]}; }
fi
{
	printf '%s\n' tickTime=1000 initLimit=10 syncLimit=5 dataDir=data '4lw.commands.whitelist=*' pelton.ensemble.keyFile=key
	for i in 1 2 3 4 5; do
		echo "server.$i=$(between $i):${peer:-${port[i + 4]-}}:${election:-${port[i + 9]-}};$(front $i)"
	done
} >"$dir/zoo.cfg"
(umask 077; head -c 32 /dev/urandom | base64 >"$dir/key")
hosts=$(for i in 1 2 3 4 5; do front $i; done | paste -sd,)

start() { # number
	mkdir -p "$dir/$1/data"; echo "$1" >"$dir/$1/data/myid"
	(cd "$dir/$1" && exec "${inside[@]}" "$bin" zk server --config "$dir/zoo.cfg") >>"$dir/$1/log" 2>&1 &
	pids[$1]=$!
}
asked() { "${outside[@]}" timeout 3 bash -c 'exec 9<>"/dev/tcp/${0%:*}/${0##*:}"; printf srvr >&9; cat <&9' "$(front $1)" 2>/dev/null || true; }
role() { asked "$1" | sed -n 's/^Mode: //p'; }
whole() { # how many servers
	local want=leader
	for _ in $(seq 2 "$1"); do want="follower $want"; done
	for _ in $(seq 200); do
		[ "$(for i in 1 2 3 4 5; do role $i; done | sort | paste -sd' ')" = "$want" ] && return
		sleep 0.1
	done
	die "the servers are not $want"
}
written() { grep -c '^written' "$dir/client" || true; }
goes_on() { # why
	local was
	was=$(written)
	for _ in $(seq 300); do
		[ "$(written)" -gt $((was + 20)) ] && return
		kill -0 $client 2>/dev/null || die "the client ended: $*"
		sleep 0.1
	done
	die "the client writes nothing: $*"
}

for i in 1 2 3 4 5; do start $i; done
whole 5
venv=bin/kazoo
[ -e $venv/.done ] || { python3 -m venv $venv && $venv/bin/pip install --quiet --disable-pip-version-check kazoo==2.10.0 && touch $venv/.done; }
"${outside[@]}" $venv/bin/python internal/tools/ensemble_roll.py "$hosts" "$dir/stop" "${shut[@]}" >"$dir/client" 2>&1 &
client=$!
goes_on "nothing has happened yet"
[ ${#shut[@]} = 0 ] || echo "the client reaches five client ports and none of the ${#shut[@]} others"

for i in 1 2 3 4 5; do
	was=$(role $i)
	kill "${pids[$i]}"; wait "${pids[$i]}" || die "server $i did not stop by itself"
	if [ $i = 3 ]; then rm -r "${dir:?}/3/data"; was="$was, its disk replaced"; fi
	goes_on "server $i ($was) is down"
	start $i
	whole 5
	goes_on "server $i ($was) is back"
	echo "server $i, $was: rolled"
done

kill -9 "${pids[1]}" "${pids[2]}"; wait "${pids[1]}" "${pids[2]}" 2>/dev/null || true
whole 3
goes_on "three of five are left"
kill -9 "${pids[3]}"; wait "${pids[3]}" 2>/dev/null || true
for _ in $(seq 100); do [ -z "$(role 4)$(role 5)" ] && break; sleep 0.1; done
[ -z "$(role 4)$(role 5)" ] || die "two of five serve"
was=$(written)
sleep 2 # time in which nothing may happen
[ "$(written)" = "$was" ] || die "two of five take writes"
start 3
whole 3
goes_on "three of five are there again"
start 1; start 2
whole 5
echo "three of five take writes, two do not"
touch "$dir/stop"
wait $client || die "the client"
client=
tail -1 "$dir/client"
sed -n 's/.* gap //p' "$dir/client" | sort -n | tail -1 | sed 's/^/longest time between two writes (without a majority for some seconds): /; s/$/ s/'
for i in 1 2 3 4 5; do kill "${pids[$i]}"; done
for i in 1 2 3 4 5; do wait "${pids[$i]}" || die "server $i did not stop by itself"; done
