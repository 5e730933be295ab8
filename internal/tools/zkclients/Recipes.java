import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;

/** Curator's recipes against the server in args[0]; every check ends the program with an exception when it fails. */
public class Recipes {
    static CuratorFramework client(String hosts) throws Exception {
        CuratorFramework c = CuratorFrameworkFactory.newClient(hosts, 10000, 10000, new ExponentialBackoffRetry(100, 5));
        c.start();
        check("connected", c.blockUntilConnected(30, TimeUnit.SECONDS));
        return c;
    }

    static void check(String name, boolean good) {
        if (!good) throw new AssertionError(name);
    }

    static void mutex(CuratorFramework a, CuratorFramework b) throws Exception {
        AtomicInteger inside = new AtomicInteger(), most = new AtomicInteger(), rounds = new AtomicInteger();
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            InterProcessMutex m = new InterProcessMutex(i % 2 == 0 ? a : b, "/curator/mutex");
            all.add(pool.submit(() -> {
                for (int n = 0; n < 20; n++) {
                    m.acquire();
                    most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                    rounds.incrementAndGet();
                    inside.decrementAndGet();
                    m.release();
                }
                return null;
            }));
        }
        for (Future<?> f : all) f.get(60, TimeUnit.SECONDS);
        pool.shutdown();
        check("one holder at a time", most.get() == 1 && rounds.get() == 80);
    }

    static void readWrite(CuratorFramework a, CuratorFramework b) throws Exception {
        InterProcessReadWriteLock first = new InterProcessReadWriteLock(a, "/curator/rw"), second = new InterProcessReadWriteLock(b, "/curator/rw");
        first.readLock().acquire();
        check("two readers", second.readLock().acquire(10, TimeUnit.SECONDS));
        second.readLock().release();
        check("no writer beside a reader", !second.writeLock().acquire(300, TimeUnit.MILLISECONDS));
        first.readLock().release();
        check("a writer alone", second.writeLock().acquire(10, TimeUnit.SECONDS));
        second.writeLock().release();
    }

    static void latch(String hosts, CuratorFramework a) throws Exception {
        CuratorFramework dying = client(hosts);
        LeaderLatch first = new LeaderLatch(dying, "/curator/latch", "first");
        first.start();
        check("the first leads", first.await(30, TimeUnit.SECONDS));
        LeaderLatch second = new LeaderLatch(a, "/curator/latch", "second");
        second.start();
        check("the second does not", !second.await(300, TimeUnit.MILLISECONDS));
        dying.getZookeeperClient().getZooKeeper().close();
        check("until the first's session has ended", second.await(30, TimeUnit.SECONDS));
        second.close();
        dying.close();
    }

    static void cache(CuratorFramework a, CuratorFramework b) throws Exception {
        CountDownLatch created = new CountDownLatch(2), changed = new CountDownLatch(1), gone = new CountDownLatch(1);
        CuratorCache cache = CuratorCache.build(a, "/curator/cache");
        cache.listenable().addListener(CuratorCacheListener.builder().forCreates(n -> created.countDown()).forChanges((o, n) -> changed.countDown())
            .forDeletes(n -> gone.countDown()).build());
        cache.start();
        b.create().creatingParentsIfNeeded().forPath("/curator/cache/x", "1".getBytes());
        check("told of the new nodes", created.await(30, TimeUnit.SECONDS));
        b.setData().forPath("/curator/cache/x", "2".getBytes());
        check("told of the change", changed.await(30, TimeUnit.SECONDS));
        b.delete().forPath("/curator/cache/x");
        check("told of the end", gone.await(30, TimeUnit.SECONDS));
        cache.close();
    }

    static void writes(CuratorFramework a, CuratorFramework b) throws Exception {
        DistributedAtomicLong n = new DistributedAtomicLong(a, "/curator/number", new ExponentialBackoffRetry(10, 10));
        for (int i = 0; i < 10; i++) check("added", n.add(3L).succeeded());
        check("30", new DistributedAtomicLong(b, "/curator/number", new ExponentialBackoffRetry(10, 10)).get().postValue() == 30);
        a.create().forPath("/curator/tx");
        try {
            a.transaction().forOperations(a.transactionOp().create().forPath("/curator/tx/a"), a.transactionOp().check().withVersion(9).forPath("/curator/tx"));
            check("the transaction is refused", false);
        } catch (KeeperException.BadVersionException e) {
            check("nothing of it is there", a.checkExists().forPath("/curator/tx/a") == null && e.getResults().size() == 2);
        }
        a.create().withTtl(60000).withMode(CreateMode.PERSISTENT_WITH_TTL).forPath("/curator/ttl");
        a.create().withMode(CreateMode.CONTAINER).forPath("/curator/container");
        PersistentNode node = new PersistentNode(a, CreateMode.EPHEMERAL, false, "/curator/persistent", "p".getBytes());
        node.start();
        check("there", node.waitForInitialCreate(30, TimeUnit.SECONDS));
        CountDownLatch again = new CountDownLatch(1);
        node.getListenable().addListener(path -> again.countDown());
        b.delete().forPath("/curator/persistent");
        check("there again", again.await(30, TimeUnit.SECONDS));
        node.close();
        CountDownLatch below = new CountDownLatch(2);
        a.watchers().add().withMode(AddWatchMode.PERSISTENT_RECURSIVE).usingWatcher((org.apache.zookeeper.Watcher) e -> below.countDown()).forPath("/curator/tx");
        b.create().forPath("/curator/tx/b");
        b.delete().forPath("/curator/tx/b");
        check("told of both below", below.await(30, TimeUnit.SECONDS));
        check("a name of its own", a.create().withProtection().withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath("/curator/tx/p-").endsWith("0000000001"));
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework a = client(args[0]), b = client(args[0]);
        a.create().forPath("/curator");
        mutex(a, b);
        System.out.println("curator: mutex");
        readWrite(a, b);
        System.out.println("curator: readWrite");
        latch(args[0], a);
        System.out.println("curator: latch");
        cache(a, b);
        System.out.println("curator: cache");
        writes(a, b);
        System.out.println("curator: writes");
        a.delete().guaranteed().deletingChildrenIfNeeded().forPath("/curator");
        a.close();
        b.close();
    }
}
