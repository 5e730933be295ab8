package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/zk/ensemble"
)

// rig is an ensemble of servers in this process.
type rig struct {
	t       *testing.T
	servers []*Server
	configs []ensemble.Config
	dirs    []string
	clients []string
	tune    func(i int, o *Options) // nil: as they are
}

// freePorts finds ports that nobody uses now.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var out []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		out = append(out, l.Addr().(*net.TCPAddr).Port)
	}
	return out
}

func newRig(t *testing.T, ids []uint64, observers map[uint64]bool) *rig {
	t.Helper()
	r := &rig{t: t, servers: make([]*Server, len(ids))}
	ports := freePorts(t, 3*len(ids))
	var lines []ensemble.Server
	for i, id := range ids {
		r.clients = append(r.clients, fmt.Sprintf("127.0.0.1:%d", ports[3*i+2]))
		lines = append(lines, ensemble.Server{ID: id, Host: "127.0.0.1", Peer: ports[3*i], Election: ports[3*i+1], Observer: observers[id], Client: r.clients[i]})
	}
	for _, id := range ids {
		r.configs = append(r.configs, ensemble.Config{MyID: id, Servers: lines, Key: []byte("a key of the ensemble"), TickTimeMs: 500, InitLimit: 10, SyncLimit: 5, ReconfigEnabled: true})
		r.dirs = append(r.dirs, t.TempDir())
	}
	t.Cleanup(func() {
		for i := range r.servers {
			r.stop(i)
		}
	})
	return r
}

func (r *rig) start(list ...int) {
	r.t.Helper()
	for _, i := range list {
		c := r.configs[i]
		r.servers[i] = start(r.t, r.dirs[i], func(o *Options) {
			o.Ensemble, o.ClientAddr, o.TickTimeMs, o.ServerID, o.SuperDigest = &c, r.clients[i], c.TickTimeMs, int(c.MyID), DigestID("super:secret")
			o.FourLetterWhitelist = "*"
			if r.tune != nil {
				r.tune(i, o)
			}
		})
	}
}

func (r *rig) stop(i int) {
	r.t.Helper()
	if r.servers[i] != nil {
		stop(r.t, r.servers[i])
		r.servers[i] = nil
	}
}

// loseDisk stops server i and takes everything it has.
func (r *rig) loseDisk(i int) {
	r.t.Helper()
	r.stop(i)
	for _, sub := range []string{"version-2", "raft"} {
		if err := os.RemoveAll(filepath.Join(r.dirs[i], sub)); err != nil {
			r.t.Fatal(err)
		}
	}
}

// word asks server i for a four-letter word.
func (r *rig) word(i int, word string) string {
	c, err := net.Dial("tcp", r.clients[i])
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write([]byte(word)); err != nil {
		return err.Error()
	}
	var out strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			return out.String()
		}
	}
}

// role waits until server i has a role and returns it.
func (r *rig) role(i int) string {
	r.t.Helper()
	var last string
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		last = r.word(i, "srvr")
		if _, rest, ok := strings.Cut(last, "Mode: "); ok {
			mode, _, _ := strings.Cut(rest, "\n")
			return mode
		}
	}
	r.t.Fatalf("server %d has no role:\n%s", i, last)
	return ""
}

func (r *rig) leader(among ...int) int {
	r.t.Helper()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		for _, i := range among {
			if r.role(i) == "leader" {
				return i
			}
		}
	}
	r.t.Fatal("no leader")
	return 0
}

func (r *rig) dial(list ...int) *zk.Conn {
	r.t.Helper()
	var hosts []string
	for _, i := range list {
		hosts = append(hosts, r.clients[i])
	}
	c, _, err := zk.Connect(hosts, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// again repeats what a client may repeat when its connection was lost.
func again[T any](t *testing.T, fn func() (T, error)) T {
	t.Helper()
	var v T
	var err error
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		if v, err = fn(); !errors.Is(err, zk.ErrConnectionClosed) && !errors.Is(err, zk.ErrNoServer) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// super makes a client the superuser. It may be the first that the client asks, of servers that have just elected one.
func super(t *testing.T, c *zk.Conn) {
	t.Helper()
	again(t, func() (struct{}, error) { return struct{}{}, c.AddAuth("digest", []byte("super:secret")) })
}

func TestEnsembleSurvivesTheLossOfAnyMember(t *testing.T) {
	r := newRig(t, []uint64{3, 17, 40}, nil)
	r.start(0, 1, 2)
	r.leader(0, 1, 2)
	c := r.dial(0, 1, 2)
	again(t, func() (string, error) { return c.Create("/a", []byte("0"), 0, zk.WorldACL(zk.PermAll)) })
	id := c.SessionID()
	again(t, func() (string, error) {
		p, err := c.Create("/mine", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) {
			err = nil
		}
		return p, err
	})
	for i := range 3 {
		r.stop(i)
		want := fmt.Sprint(i + 1)
		again(t, func() (*zk.Stat, error) { return c.Set("/a", []byte(want), -1) })
		r.start(i)
		r.role(i)
		only := r.dial(i)
		again(t, func() (string, error) { return only.Sync("/a") })
		if got := again(t, func() ([]byte, error) { b, _, err := only.Get("/a"); return b, err }); string(got) != want {
			t.Fatalf("server %d has %q, not %q", i, got, want)
		}
		if n, err := ask(r.servers[i], func(l *loop) uint64 { return l.m.commits }); err != nil || n == 0 { // the change that it was not there for
			t.Errorf("server %d counts %d transactions: %v", i, n, err)
		}
		if st := again(t, func() (*zk.Stat, error) { _, st, err := only.Exists("/mine"); return st, err }); st.EphemeralOwner != id {
			t.Fatalf("the ephemeral belongs to %x, not %x", st.EphemeralOwner, id)
		}
		only.Close()
	}
	if c.SessionID() != id {
		t.Error("the session did not survive")
	}
}

func TestEnsembleReplacesADisk(t *testing.T) {
	r := newRig(t, []uint64{1, 2, 3}, nil)
	for i := range r.configs {
		r.configs[i].KeepEntries = 10
	}
	r.start(0, 1, 2)
	lost := r.leader(0, 1, 2)
	c := r.dial(0, 1, 2)
	for i := range 60 {
		again(t, func() (string, error) {
			p, err := c.Create(fmt.Sprintf("/n%d", i), []byte{byte(i)}, 0, zk.WorldACL(zk.PermAll))
			if errors.Is(err, zk.ErrNodeExists) {
				err = nil
			}
			return p, err
		})
	}
	lost = (lost + 1) % 3 // a follower: its leader takes it for one that knows everything
	r.loseDisk(lost)
	r.start(lost)
	r.role(lost)
	only := r.dial(lost)
	names := again(t, func() ([]string, error) {
		if _, err := only.Sync("/"); err != nil {
			return nil, err
		}
		names, _, err := only.Children("/")
		return names, err
	})
	if len(names) != 61 {
		t.Fatalf("the new disk has %d children of the root, not 61", len(names))
	}
	r.stop(lost) // and what it was given is on its disk
	r.start(lost)
	r.role(lost)
}

func TestEnsembleHasObserversAndChangesItsMembers(t *testing.T) {
	r := newRig(t, []uint64{1, 2, 3, 4}, map[uint64]bool{4: true})
	r.start(0, 1, 2, 3)
	r.leader(0, 1, 2)
	r.role(2) // whom the leader has not heard of would be taken out for good
	if got := r.role(3); got != "observer" {
		t.Fatalf("the observer calls itself %s", got)
	}
	c := r.dial(3)
	again(t, func() (string, error) { return c.Create("/a", nil, 0, zk.WorldACL(zk.PermAll)) })
	config := again(t, func() ([]byte, error) { b, _, err := c.Get("/zookeeper/config"); return b, err })
	if !strings.Contains(string(config), "server.4=127.0.0.1") || !strings.Contains(string(config), ":observer;") || !strings.HasSuffix(string(config), "\nversion=100000000") {
		t.Fatalf("config %s", config)
	}
	if _, err := c.IncrementalReconfig(nil, []string{"3"}, -1); !errors.Is(err, zk.ErrNoAuth) {
		t.Fatalf("reconfig of anybody: %v", err)
	}
	super(t, c)
	st, err := c.IncrementalReconfig(nil, []string{"3"}, -1)
	if err != nil || st.Version != -1 {
		t.Fatalf("reconfig: %+v %v", st, err)
	}
	config = again(t, func() ([]byte, error) { b, _, err := c.Get("/zookeeper/config"); return b, err })
	if strings.Contains(string(config), "server.3=") || !strings.Contains(string(config), fmt.Sprintf("\nversion=%x", st.Mzxid)) {
		t.Fatalf("config without server 3: %s", config)
	}
	// The server that was taken out serves on, without a vote.
	outside := r.dial(2) // one: a hundred would meet the bound on connections of an address
	again(t, func() (*zk.Stat, error) { return outside.Set("/a", []byte("from outside"), -1) })
	if _, err := c.IncrementalReconfig(nil, []string{"2"}, 7); !errors.Is(err, zk.ErrBadVersion) {
		t.Fatalf("reconfig of another version: %v", err)
	}
	if _, err := c.IncrementalReconfig(nil, []string{"1"}, -1); !errors.Is(err, zk.ErrBadArguments) {
		t.Fatalf("reconfig to one participant: %v", err)
	}
	joining := r.configs[2].Me().Line()
	if _, err := c.IncrementalReconfig([]string{joining}, nil, -1); err != nil {
		t.Fatalf("reconfig back: %v", err)
	}
	if got := r.role(2); got != "follower" && got != "leader" {
		t.Fatalf("the server that came back is %s", got)
	}
	only := r.dial(2)
	again(t, func() (*zk.Stat, error) { return only.Set("/a", []byte("x"), -1) })
}
