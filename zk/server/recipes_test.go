package server

import (
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// The lock of go-zookeeper: one holder at a time, in the order of their coming, free when its holder's session ends.
func TestLockRecipe(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	defer stop(t, s)
	var inside, rounds atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		c, _ := dial(t, s)
		defer c.Close()
		wg.Add(1)
		go func() {
			defer wg.Done()
			l := zk.NewLock(c, "/lock", zk.WorldACL(zk.PermAll))
			for range 10 {
				if err := l.Lock(); err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two holders")
				}
				rounds.Add(1)
				inside.Add(-1)
				if err := l.Unlock(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if rounds.Load() != 40 {
		t.Fatalf("%d rounds", rounds.Load())
	}
	dying, _ := dial(t, s)
	if err := zk.NewLock(dying, "/lock", zk.WorldACL(zk.PermAll)).Lock(); err != nil {
		t.Fatal(err)
	}
	heir, _ := dial(t, s)
	defer heir.Close()
	got := make(chan error, 1)
	go func() { got <- zk.NewLock(heir, "/lock", zk.WorldACL(zk.PermAll)).Lock() }()
	select {
	case err := <-got:
		t.Fatalf("two holders: %v", err)
	case <-time.After(100 * time.Millisecond): // long enough to be given it wrongly
	}
	dying.Close()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

// Leader election by sequential ephemerals: the oldest leads, each watches the one before, and the next one leads when that has gone.
func TestElectionRecipe(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	defer stop(t, s)
	const candidates = 5
	led := make(chan int, candidates)
	conns := make([]*zk.Conn, candidates)
	for i := range candidates {
		conns[i], _ = dial(t, s)
		if i == 0 {
			must[string](t)(conns[0].Create("/election", nil, 0, zk.WorldACL(zk.PermAll)))
		}
		mine := must[string](t)(conns[i].Create("/election/n-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll)))
		go stand(t, conns[i], strings.TrimPrefix(mine, "/election/"), func() { led <- i })
	}
	for want := range candidates {
		if got := <-led; got != want {
			t.Fatalf("%d leads, want %d", got, want)
		}
		select {
		case got := <-led:
			t.Fatalf("%d leads beside %d", got, want)
		default:
		}
		conns[want].Close()
	}
}

// stand waits until mine is the first of the nodes.
func stand(t *testing.T, c *zk.Conn, mine string, lead func()) {
	for {
		names, _, err := c.Children("/election")
		if err != nil {
			t.Error(err)
			return
		}
		sort.Strings(names)
		i := sort.SearchStrings(names, mine)
		if i == 0 {
			lead()
			return
		}
		there, _, gone, err := c.ExistsW("/election/" + names[i-1])
		if err != nil {
			t.Error(err)
			return
		}
		if there {
			<-gone
		}
	}
}
