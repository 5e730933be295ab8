"""ensemble_lock.py HOSTS STOPFILE: four clients take turns at one lock and count under it, each without looking at versions: two
holders at once would lose a count. Ends when STOPFILE is there, with an error when a session was lost or a count is missing."""
import os
import sys
import threading

from kazoo.client import KazooClient, KazooState

hosts, stop = sys.argv[1:3]
counted = [0] * 4
lost = []


def work(i):
    zk = KazooClient(hosts=hosts, timeout=15)
    zk.add_listener(lambda state: lost.append(i) if state == KazooState.LOST and not os.path.exists(stop) else None)
    zk.start(timeout=30)
    zk.ensure_path("/count")
    lock = zk.Lock("/lock", str(i))
    while not os.path.exists(stop):
        with lock:
            data, _ = zk.retry(zk.get, "/count")
            count, _, last = (data or b"0 none").decode().partition(" ")
            stamp = f"{i}.{counted[i] + 1}"
            # A retry after a lost connection may repeat a set that was done: the same value, so that it counts once.
            zk.retry(zk.set, "/count", f"{int(count) + 1} {stamp}".encode())
            counted[i] += 1
        print("turn", i, counted[i], flush=True)
    zk.stop()


threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join(120 if os.path.exists(stop) else None)
check = KazooClient(hosts=hosts, timeout=15)
check.start(timeout=30)
check.sync("/count")
total = int(check.get("/count")[0].split()[0])
check.stop()
print(f"{total} turns at the lock by 4 clients, {sum(counted)} counted, sessions lost: {len(lost)}")
sys.exit(0 if total == sum(counted) and min(counted) > 0 and not lost else 1)
