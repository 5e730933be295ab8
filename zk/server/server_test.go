package server

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func start(t *testing.T, dir string, change func(*Options)) *Server {
	t.Helper()
	o := Options{DataDir: dir, ClientAddr: "127.0.0.1:0"}
	if change != nil {
		change(&o)
	}
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func dial(t *testing.T, s *Server) (*zk.Conn, <-chan zk.Event) {
	t.Helper()
	c, ev, err := zk.Connect([]string{s.Addr().String()}, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	return c, ev
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestServerServesTheClientLibrary(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	defer stop(t, s)
	c, _ := dial(t, s)
	defer c.Close()
	open := zk.WorldACL(zk.PermAll)
	if got := must[string](t)(c.Create("/a", []byte("one"), 0, open)); got != "/a" {
		t.Fatalf("created %q", got)
	}
	if _, err := c.Create("/a", nil, 0, open); !errors.Is(err, zk.ErrNodeExists) {
		t.Fatalf("second create: %v", err)
	}
	data, st, ch, err := c.GetW("/a")
	if err != nil || string(data) != "one" || st.Version != 0 {
		t.Fatalf("get: %q %v %v", data, st, err)
	}
	st = must[*zk.Stat](t)(c.Set("/a", []byte("two"), 0))
	if st.Version != 1 || st.Mzxid <= st.Czxid {
		t.Fatalf("stat after set: %+v", st)
	}
	if ev := <-ch; ev.Type != zk.EventNodeDataChanged || ev.Path != "/a" {
		t.Fatalf("event %+v", ev)
	}
	if _, err := c.Set("/a", nil, 7); !errors.Is(err, zk.ErrBadVersion) {
		t.Fatalf("set with a wrong version: %v", err)
	}
	first := must[string](t)(c.Create("/a/n-", nil, zk.FlagSequence, open))
	second := must[string](t)(c.Create("/a/n-", nil, zk.FlagSequence|zk.FlagEphemeral, open))
	if first != "/a/n-0000000000" || second != "/a/n-0000000001" {
		t.Fatalf("sequence names %q %q", first, second)
	}
	names, st, err := c.Children("/a")
	if err != nil || len(names) != 2 || st.NumChildren != 2 || st.Cversion != 2 {
		t.Fatalf("children %v %+v %v", names, st, err)
	}
	if err := c.Delete("/a", -1); !errors.Is(err, zk.ErrNotEmpty) {
		t.Fatalf("delete of a parent: %v", err)
	}
	res, err := c.Multi(&zk.CheckVersionRequest{Path: "/a", Version: 1}, &zk.CreateRequest{Path: "/m", Acl: open}, &zk.SetDataRequest{Path: "/m", Data: []byte("x")})
	if err != nil || len(res) != 3 || res[2].Stat.Czxid != res[2].Stat.Mzxid {
		t.Fatalf("multi: %+v %v", res, err)
	}
}

func TestServerEphemeralsGoWithTheirSession(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	defer stop(t, s)
	a, _ := dial(t, s)
	b, _ := dial(t, s)
	defer b.Close()
	must[string](t)(a.Create("/e", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))
	there, st, gone, err := b.ExistsW("/e")
	if err != nil || !there || st.EphemeralOwner != a.SessionID() {
		t.Fatalf("exists %v %+v %v", there, st, err)
	}
	a.Close()
	if ev := <-gone; ev.Type != zk.EventNodeDeleted {
		t.Fatalf("event %+v", ev)
	}
	if there, _, _ := b.Exists("/e"); there {
		t.Fatal("the ephemeral outlived its session")
	}
}

func TestServerKeepsStateAndSessionsOverRestarts(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir, func(o *Options) { o.SnapCount = 20 })
	c, _ := dial(t, s)
	defer c.Close()
	for i := range 50 {
		must[string](t)(c.Create(fmt.Sprintf("/n%d", i), []byte{byte(i)}, 0, zk.WorldACL(zk.PermAll)))
	}
	must[string](t)(c.Create("/mine", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))
	id := c.SessionID()
	addr := s.Addr().String()
	stop(t, s)
	s = start(t, dir, func(o *Options) { o.ClientAddr = addr })
	defer stop(t, s)
	for i := range 50 {
		data, st, err := c.Get(fmt.Sprintf("/n%d", i))
		for errors.Is(err, zk.ErrConnectionClosed) {
			data, st, err = c.Get(fmt.Sprintf("/n%d", i))
		}
		if err != nil || data[0] != byte(i) || st.Version != 0 {
			t.Fatalf("/n%d after the restart: %v %+v %v", i, data, st, err)
		}
	}
	there, st, err := c.Exists("/mine")
	if err != nil || !there || st.EphemeralOwner != id || c.SessionID() != id {
		t.Fatalf("the session's ephemeral after the restart: %v %+v %v", there, st, err)
	}
}
