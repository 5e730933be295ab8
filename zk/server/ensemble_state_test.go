package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/tree"
)

// gatedFS lets nobody read a received state until the gate is open.
type gatedFS struct {
	disk.FS
	reached chan struct{}
	gate    chan struct{}
}

func (g *gatedFS) OpenFile(path string, flag int, perm fs.FileMode) (*disk.File, error) {
	if strings.Contains(path, "tmp-received") && flag == os.O_RDONLY {
		g.reached <- struct{}{}
		<-g.gate
	}
	return g.FS.OpenFile(path, flag, perm)
}

// TestEnsembleReadsALargeStateBesideTheLoop holds a member up while it reads the state that it was sent, for longer than syncLimit: it must go on answering, the
// leader must not take it for dead, and must not begin anew.
func TestEnsembleReadsALargeStateBesideTheLoop(t *testing.T) {
	r := newRig(t, []uint64{1, 2, 3}, nil)
	for i := range r.configs {
		r.configs[i].KeepEntries, r.configs[i].TickTimeMs, r.configs[i].SyncLimit = 10, 1000, 1
	}
	r.start(0, 1, 2)
	lead := r.leader(0, 1, 2)
	late := (lead + 1) % 3
	r.loseDisk(late)
	c := r.dial(lead)
	const nodes, size = 32, 256 << 10
	for i := range nodes {
		again(t, func() (string, error) {
			p, err := c.Create(fmt.Sprintf("/n%d", i), make([]byte, size), 0, zk.WorldACL(zk.PermAll))
			if errors.Is(err, zk.ErrNodeExists) {
				err = nil
			}
			return p, err
		})
	}
	epoch := func() int64 {
		z, err := ask(r.servers[lead], func(l *loop) int64 { return l.tree.Zxid >> 32 })
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	before := epoch()
	gated := &gatedFS{FS: disk.OS(), reached: make(chan struct{}, 8), gate: make(chan struct{})}
	open := sync.OnceFunc(func() { close(gated.gate) })
	t.Cleanup(open) // before the servers are stopped
	r.tune = func(i int, o *Options) {
		if i == late {
			o.FS = gated
		}
	}
	r.start(late)
	<-gated.reached
	// The leader counts in its own time how long it waits for the member: until it has moved on by more than twice syncLimit.
	sinceMs := func() int64 {
		v, err := ask(r.servers[lead], func(l *loop) int64 { return l.nowMs })
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for from := sinceMs(); sinceMs()-from < 2500; {
		if _, err := ask(r.servers[late], func(l *loop) int64 { return l.nowMs }); err != nil {
			t.Fatalf("the member's loop stands still while it reads the state: %v", err)
		}
	}
	if got := r.word(late, "ruok"); got != "imok" {
		t.Fatalf("the member answers %q while it reads the state", got)
	}
	undisturbed := epoch() == before // a machine that stands still for half a second changes leaders, and a new one begins anew
	if len(gated.reached) != 0 && undisturbed {
		t.Error("the leader began anew although the member was there")
	}
	open()
	r.role(late)
	if got, err := ask(r.servers[late], func(l *loop) int { return l.tree.Count() }); err != nil || got < nodes {
		t.Fatalf("the member has %d nodes: %v", got, err)
	}
	if !undisturbed {
		t.Log("the leader changed meanwhile: nothing is said of how long it waits")
	}
	left, err := filepath.Glob(filepath.Join(r.dirs[late], "version-2", "tmp-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// countingFS fails writing a received state, as a full disk does, as often as it is told.
type countingFS struct {
	disk.FS
	fails atomic.Int32
}

var errFull = errors.New("no space left")

func (c *countingFS) OpenFile(path string, flag int, perm fs.FileMode) (*disk.File, error) {
	if strings.Contains(path, "tmp-received") && flag != os.O_RDONLY && c.fails.Add(-1) >= 0 {
		return nil, errFull
	}
	return c.FS.OpenFile(path, flag, perm)
}

// TestEnsembleAsksForAStateAgain has a disk that is full at first: the member stays, and has everything in the end.
func TestEnsembleAsksForAStateAgain(t *testing.T) {
	r := newRig(t, []uint64{1, 2, 3}, nil)
	for i := range r.configs {
		r.configs[i].KeepEntries, r.configs[i].TickTimeMs, r.configs[i].SyncLimit = 10, 100, 2
	}
	r.start(0, 1, 2)
	lead := r.leader(0, 1, 2)
	late := (lead + 1) % 3
	r.loseDisk(late)
	c := r.dial(lead)
	for i := range 60 {
		again(t, func() (string, error) { return c.Create(fmt.Sprintf("/n%d", i), nil, 0, zk.WorldACL(zk.PermAll)) })
	}
	full := &countingFS{FS: disk.OS()}
	full.fails.Store(2)
	r.tune = func(i int, o *Options) {
		if i == late {
			o.FS = full
		}
	}
	r.start(late)
	r.role(late)
	if n := full.fails.Load(); n >= 0 {
		t.Errorf("the state was taken at the first try: %d", n)
	}
	for until := time.Now().Add(20 * time.Second); ; {
		n, err := ask(r.servers[late], func(l *loop) *tree.Node { return l.tree.Get("/n59") })
		if err != nil {
			t.Fatal(err)
		}
		if n != nil {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the member never got the state")
		}
	}
}
