"""A client of an ensemble that is rolled: writes one node after the other and keeps an ephemeral, until a file appears. Prints how many writes were
answered, and at its end checks that nothing that was answered is lost and that its session never was. hosts, file, and the ports that must be shut."""
import os
import socket
import sys
import time

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, NodeExistsError
from kazoo.handlers.threading import KazooTimeoutError

hosts, stop, shut = sys.argv[1], sys.argv[2], sys.argv[3:]


def check(name, good):
    if not good:
        raise AssertionError(name)


def reachable(addr):
    host, port = addr.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), 1).close()
        return True
    except OSError:
        return False


for addr in hosts.split(","):
    check("the client port %s is open" % addr, reachable(addr))
for addr in shut:
    check("the port %s between servers is shut to clients" % addr, not reachable(addr))

states, told = [], []
c = KazooClient(hosts=hosts, timeout=20)
c.add_listener(states.append)
c.start(timeout=30)
session = c.client_id[0]
c.create("/roll")
c.create("/roll-mine", b"held", ephemeral=True)
c.create("/roll-flag", b"0")


@c.DataWatch("/roll-flag")
def flag(data, stat):
    told.append(data)


n, last = 0, time.monotonic()
while not os.path.exists(stop):
    try:
        c.create("/roll/n-%06d" % n, b"%d" % n)
    except NodeExistsError:
        pass  # an answer was lost with its connection, and the write was not
    except (KazooException, KazooTimeoutError):
        if states and states[-1] == KazooState.LOST:
            break
        time.sleep(0.02)
        continue
    n += 1
    print("written", n, "gap %.2f" % (time.monotonic() - last), flush=True)
    last = time.monotonic()

check("the session was never lost: %s" % states, KazooState.LOST not in states and c.client_id[0] == session)
c.sync("/roll")
check("nothing that was answered is lost", sorted(c.get_children("/roll")) == ["n-%06d" % i for i in range(n)])
check("each as it was written", all(c.get("/roll/n-%06d" % i)[0] == b"%d" % i for i in range(0, n, 97)))
check("the ephemeral is the session's", c.exists("/roll-mine").ephemeralOwner == session)
c.set("/roll-flag", b"end")
for _ in range(300):
    if told[-1] == b"end":
        break
    time.sleep(0.1)
check("the watch lives on: %s" % told, told[-1] == b"end")
print("%d writes, %d times without a server, one session" % (n, states.count(KazooState.SUSPENDED)))
c.stop()
