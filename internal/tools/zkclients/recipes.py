"""kazoo's recipes against the server in argv[1]; every check ends the program with an exception when it fails."""
import sys
import threading

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError, RolledBackError
from kazoo.protocol.states import EventType
from kazoo.security import make_digest_acl

hosts, wait = sys.argv[1], 30


def client(**options):
    c = KazooClient(hosts=hosts, timeout=10, **options)
    c.start(timeout=wait)
    return c


def check(name, good):
    if not good:
        raise AssertionError(name)


def lock(a, b):
    inside, most, done = [0], [0], []

    def contend(c, n):
        for _ in range(20):
            with c.Lock("/py/lock", "contender-%d" % n):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1
        done.append(n)

    threads = [threading.Thread(target=contend, args=(c, i)) for i, c in enumerate((a, b, a, b))]
    [t.start() for t in threads]
    [t.join(wait) for t in threads]
    check("one holder at a time", most[0] == 1 and len(done) == 4)


def lock_of_the_dead(a):
    dead = client()
    held = dead.Lock("/py/heirloom", "dead")
    check("taken", held.acquire(timeout=wait))
    mine = a.Lock("/py/heirloom", "heir")
    check("not free while it is held", not mine.acquire(blocking=False))
    dead.stop()
    check("free when its session has ended", mine.acquire(timeout=wait))
    mine.release()


def election(a, b):
    led, go = [], threading.Event()

    def lead(name):
        led.append(name)
        go.wait(wait)

    elections = [a.Election("/py/election", "a"), b.Election("/py/election", "b")]
    threads = [threading.Thread(target=e.run, args=(lead, n)) for e, n in zip(elections, "ab")]
    [t.start() for t in threads]
    go.set()
    [t.join(wait) for t in threads]
    check("both led, one after the other", sorted(led) == ["a", "b"])


def watches(a, b):
    events, seen = [], threading.Semaphore(0)

    def told(event):
        events.append(event.type)
        seen.release()

    a.create("/py/watched", b"1")
    a.get("/py/watched", watch=told)
    b.set("/py/watched", b"2")
    check("told of the change", seen.acquire(timeout=wait) and events == [EventType.CHANGED])
    a.get("/py/watched", watch=told)
    b.delete("/py/watched")
    check("told of the end", seen.acquire(timeout=wait) and events[-1] == EventType.DELETED)
    values, changed = [], threading.Semaphore(0)

    @a.DataWatch("/py/data")
    def data(value, stat):
        values.append(value)
        changed.release()

    check("absent at first", changed.acquire(timeout=wait) and values == [None])
    b.create("/py/data", b"x")
    check("then there", changed.acquire(timeout=wait) and values[-1] == b"x")


def structures(a, b):
    queue = a.LockingQueue("/py/queue")
    queue.put_all([b"%d" % i for i in range(20)])
    other, got = b.LockingQueue("/py/queue"), []
    while len(got) < 20:
        got.append(other.get(timeout=wait))
        check("consumed", other.consume())
    check("each once and in order", got == [b"%d" % i for i in range(20)])
    counter = a.Counter("/py/counter")
    for _ in range(10):
        counter += 2
    check("counted", b.Counter("/py/counter").value == 20)
    barrier = a.DoubleBarrier("/py/barrier", 2)
    through = []
    t = threading.Thread(target=lambda: (b.DoubleBarrier("/py/barrier", 2).enter(), through.append("b")))
    t.start()
    barrier.enter()
    t.join(wait)
    check("both through", through == ["b"])
    party = [a.Party("/py/party", "a"), b.Party("/py/party", "b")]
    [p.join() for p in party]
    check("both are there", sorted(party[0]) == ["a", "b"])


def writes(a):
    a.create("/py/tx", b"")
    t = a.transaction()
    t.check("/py/tx", 0)
    t.create("/py/tx/a")
    t.set_data("/py/tx", b"1", 7)
    t.delete("/py/tx/a")
    results = t.commit()
    check("all or nothing", isinstance(results[2], BadVersionError) and isinstance(results[0], RolledBackError) and not a.exists("/py/tx/a"))
    names = [a.create("/py/tx/n-", sequence=True, ephemeral=True) for _ in range(3)]
    check("numbered", [n[-10:] for n in names] == ["%010d" % i for i in range(3)])
    for bad, error in ((lambda: a.create("/py/tx"), NodeExistsError), (lambda: a.get("/py/none"), NoNodeError)):
        try:
            bad()
        except error:
            continue
        raise AssertionError(error)
    secret = client(auth_data=[("digest", "joe:secret")])
    secret.create("/py/secret", b"s", acl=[make_digest_acl("joe", "secret", all=True)])
    check("hidden", refused(lambda: a.get("/py/secret")) and secret.get("/py/secret")[0] == b"s")
    secret.delete("/py/secret")
    secret.stop()


def refused(call):
    from kazoo.exceptions import NoAuthError
    try:
        call()
    except NoAuthError:
        return True
    return False


def sessions():
    states, lost = [], threading.Event()
    c = client()
    c.add_listener(lambda s: (states.append(s), lost.set() if s == KazooState.LOST else None))
    c.create("/py/mine", ephemeral=True)
    own = c.client_id
    twin = KazooClient(hosts=hosts, client_id=own)
    twin.start(timeout=wait)  # takes the session over
    check("the same session", twin.client_id[0] == own[0])
    twin.stop()
    check("its end is told", lost.wait(wait))
    c.stop()


def main():
    a, b = client(), client()
    a.ensure_path("/py")
    for step in (lock, election, watches, structures):
        step(a, b)
        print("kazoo:", step.__name__, flush=True)
    for step in (lock_of_the_dead, writes):
        step(a)
        print("kazoo:", step.__name__, flush=True)
    sessions()
    print("kazoo: sessions", flush=True)
    a.delete("/py", recursive=True)
    a.stop()
    b.stop()


main()
