//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/internal/task"
)

func main() {
	ops := flag.Int("ops", 220_000, "operations")
	clients := flag.Int("clients", 16, "clients")
	command := flag.String("command", "bin/pelton zk server --config {cfg}", "how a server is started; {cfg} is its zoo.cfg")
	base := flag.Int("port", 21540, "the first of 30 ports")
	seed := flag.Int64("seed", 1, "of what goes wrong when")
	patience := flag.Duration("patience", 3*time.Minute, "how long the servers may take to form an ensemble after something went wrong")
	keep := flag.Bool("keep", false, "leave the servers' directories")
	flag.Parse()
	if err := linear(*ops, *clients, *command, *base, *seed, *patience, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "ensemble:", err)
		os.Exit(1)
	}
}

func linear(ops, clients int, command string, base int, seed int64, patience time.Duration, keep bool) error {
	dir, err := os.MkdirTemp("", "pelton-ensemble")
	if err != nil {
		return err
	}
	if !keep {
		defer os.RemoveAll(dir)
	}
	c, err := newCluster(dir, command, base, patience)
	if err != nil {
		return err
	}
	defer c.close()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	around := task.NewGroup()
	defer around.Stop()
	around.Go("interrupt", func(ctx context.Context) {
		select {
		case <-interrupted:
			c.close()
			os.Exit(130)
		case <-ctx.Done():
		}
	})
	for i := range 3 {
		if err := c.start(i); err != nil {
			return err
		}
	}
	if err := c.wait(); err != nil {
		return err
	}
	w := &work{c: c, h: &history{begun: time.Now()}, want: ops, names: map[string]bool{}}
	if err := w.prepare(); err != nil {
		return err
	}
	harmed := make(chan error, 1)
	harming, working := task.NewGroup(), task.NewGroup()
	harming.Go("harm", func(ctx context.Context) {
		err := harm(c, rand.New(rand.NewSource(seed)), ctx.Done())
		if err != nil {
			w.done.Store(int64(ops)) // what is not harmed proves nothing
		}
		harmed <- err
	})
	for i := range clients {
		working.Go("client", func(context.Context) { w.client(i, rand.New(rand.NewSource(seed+int64(i)*1000))) })
	}
	watched := w.watchers(working, seed+500)
	working.Stop() // clients end by themselves
	harming.Stop()
	if err := <-harmed; err != nil {
		return err
	}
	if err := watched(); err != nil {
		return err
	}
	fmt.Printf("%d operations in %s\n", w.h.count(), time.Since(w.h.begun).Round(time.Second))
	if err := w.after(); err != nil {
		return err
	}
	return w.h.check()
}

// harm does something every two seconds or so, one server at a time, and once in a while to all.
func harm(c *cluster, rng *rand.Rand, stop <-chan struct{}) error {
	pause := func(d time.Duration) bool {
		select {
		case <-stop:
			return true
		case <-time.After(d):
			return false
		}
	}
	between := func() time.Duration { return time.Duration(500+rng.Intn(2500)) * time.Millisecond }
	for round := 0; ; round++ {
		if pause(between()) {
			return c.wait()
		}
		i := rng.Intn(3)
		if rng.Intn(2) == 0 {
			i = c.leader()
		}
		kind := []string{"kill", "stop", "split", "cut", "kill", "split", "stop", "all", "blackout"}[round%9]
		if kind == "split" && !c.spaces {
			kind = "stop"
		}
		if c.volumes == nil && (kind == "cut" || kind == "blackout") {
			kind = "kill"
		}
		fmt.Printf("%s server %d\n", kind, i+1)
		switch kind {
		case "kill":
			c.kill(i)
			pause(between())
			if err := c.start(i); err != nil {
				return err
			}
		case "stop":
			c.signal(i, syscall.SIGSTOP)
			pause(between())
			c.signal(i, syscall.SIGCONT)
		case "split":
			c.split(i, true)
			pause(2 * between())
			c.split(i, false)
		case "cut":
			if err := c.cut(i); err != nil {
				return err
			}
		case "blackout":
			if err := c.cut(0, 1, 2); err != nil {
				return err
			}
		case "all":
			for j := range 3 {
				c.kill(j)
			}
			for j := range 3 {
				if err := c.start(j); err != nil {
					return err
				}
			}
		}
		if err := c.wait(); err != nil {
			return fmt.Errorf("after %s of server %d: %w", kind, i+1, err)
		}
	}
}

// work is what the clients do together.
type work struct {
	c    *cluster
	h    *history
	want int
	done atomic.Int64
	mu   sync.Mutex
	// names are the sequential names that were given out.
	names map[string]bool
	bad   error
}

const sessionTime = 6 * time.Second

func (w *work) dial() (*zk.Conn, error) {
	hosts := []string{w.c.client(0), w.c.client(1), w.c.client(2)}
	conn, _, err := zk.Connect(hosts, sessionTime, zk.WithLogger(silent{}))
	return conn, err
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func (w *work) prepare() error {
	conn, err := w.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, p := range []string{"/seq", "/eph", "/k"} {
		if _, err := conn.Create(p, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

// opsPerKey bounds the history of one znode, which is checked as a whole.
const opsPerKey = 400

// keysAtOnce is how many znodes are worked on at a time.
const keysAtOnce = 8

func (w *work) client(id int, rng *rand.Rand) {
	conn, err := w.dial()
	if err != nil {
		return
	}
	defer func() { conn.Close() }()
	mine := fmt.Sprintf("/eph/%d", id)
	for n := 0; ; n++ {
		at := w.done.Add(1)
		if at > int64(w.want) {
			return
		}
		window := at / (opsPerKey * keysAtOnce)
		key := fmt.Sprintf("/k/%d.%d", window, rng.Intn(keysAtOnce))
		val := fmt.Sprintf("%d.%d", id, n)
		var err error
		switch r := rng.Intn(100); {
		case r < 3:
			err = w.sequence(conn)
		case r < 5:
			_, err = conn.Create(mine, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		case r < 20:
			err = w.write(id, op{"create", key, val}, func() error { _, err := conn.Create(key, []byte(val), 0, zk.WorldACL(zk.PermAll)); return err })
		case r < 55:
			err = w.write(id, op{"set", key, val}, func() error { _, err := conn.Set(key, []byte(val), -1); return err })
		case r < 60:
			err = w.write(id, op{"delete", key, ""}, func() error { return conn.Delete(key, -1) })
		default:
			err = w.read(id, key, conn)
		}
		if errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zk.ErrClosing) || errors.Is(err, zk.ErrSessionMoved) {
			conn.Close()
			if conn, err = w.dial(); err != nil {
				return
			}
		}
	}
}

func (w *work) write(id int, o op, do func() error) error {
	call := w.h.now()
	err := do()
	a := answer{kind: "ok"}
	switch {
	case errors.Is(err, zk.ErrNodeExists):
		a.kind = "exists"
	case errors.Is(err, zk.ErrNoNode):
		a.kind = "none"
	case errors.Is(err, zk.ErrSessionMoved):
		return err // it did not happen
	case err != nil:
		a.kind = "unknown"
	}
	w.h.add(id, o, a, call)
	return err
}

func (w *work) read(id int, key string, conn *zk.Conn) error {
	call := w.h.now()
	if _, err := conn.Sync(key); err != nil {
		return err
	}
	data, _, err := conn.Get(key)
	a := answer{"ok", string(data)}
	if errors.Is(err, zk.ErrNoNode) {
		a = answer{kind: "none"}
	} else if err != nil {
		return err
	}
	w.h.add(id, op{"read", key, ""}, a, call)
	return nil
}

func (w *work) sequence(conn *zk.Conn) error {
	name, err := conn.Create("/seq/n-", nil, zk.FlagSequence|zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.names[name] {
		w.bad = fmt.Errorf("the name %s was given out twice", name)
	}
	w.names[name] = true
	return nil
}

// after looks at what must be so when every client is gone: no ephemerals, and the same everywhere.
func (w *work) after() error {
	if w.bad != nil {
		return w.bad
	}
	until := time.Now().Add(3 * sessionTime)
	for i := range 3 {
		conn, _, err := zk.Connect([]string{w.c.client(i)}, sessionTime, zk.WithLogger(silent{}))
		if err != nil {
			return err
		}
		for {
			if _, err := conn.Sync("/"); err != nil {
				return err
			}
			eph, _, err := conn.Children("/eph")
			if err != nil {
				return err
			}
			seq, _, err := conn.Children("/seq")
			if err != nil {
				return err
			}
			if len(eph)+len(seq) == 0 {
				break
			}
			if time.Now().After(until) {
				return fmt.Errorf("server %d still has %d and %d ephemerals of sessions that ended", i+1, len(eph), len(seq))
			}
			time.Sleep(200 * time.Millisecond)
		}
		conn.Close()
	}
	fmt.Printf("%d sequential names, each once; no ephemeral outlived its session\n", len(w.names))
	return nil
}
