package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/pelton-broker/pelton/zk/jute"
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

func TestServerExpiresSilentSessions(t *testing.T) {
	s := start(t, t.TempDir(), func(o *Options) { o.TickTimeMs = 50 })
	defer stop(t, s)
	c, _ := dial(t, s)
	defer c.Close()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b := jute.AppendLong(jute.AppendInt(nil, 0), 0)
	b = jute.AppendLong(jute.AppendInt(b, 100), 0)
	b = jute.AppendBuffer(b, make([]byte, 16))
	body := jute.AppendACL(jute.AppendBuffer(jute.AppendText(nil, "/silent"), nil), []jute.ACL{{Perms: 31, ID: jute.ID{Scheme: "world", ID: "anyone"}}})
	req := append(jute.AppendInt(jute.AppendInt(nil, 1), jute.OpCreate), jute.AppendInt(body, jute.FlagEphemeral)...)
	out := append(jute.AppendInt(nil, int32(len(b))), b...)
	out = append(append(out, jute.AppendInt(nil, int32(len(req)))...), req...)
	_, _, made, err := c.ExistsW("/silent")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Write(out); err != nil {
		t.Fatal(err)
	}
	if ev := <-made; ev.Type != zk.EventNodeCreated {
		t.Fatalf("event %+v", ev)
	}
	_, _, gone, err := c.ExistsW("/silent")
	if err != nil {
		t.Fatal(err)
	}
	if ev := <-gone; ev.Type != zk.EventNodeDeleted {
		t.Fatalf("event %+v", ev)
	}
	// The server has closed the connection of the session that expired.
	if _, err := io.ReadAll(nc); err != nil {
		t.Fatal(err)
	}
	_ = nc.Close()
}

func TestFourLetterWordsHaveZooKeepersLayout(t *testing.T) {
	s := start(t, t.TempDir(), func(o *Options) { o.FourLetterWhitelist = "srvr, ruok, cons" })
	defer stop(t, s)
	c, _ := dial(t, s)
	defer c.Close()
	must[string](t)(c.Create("/a", nil, 0, zk.WorldACL(zk.PermAll)))
	addr := []string{s.Addr().String()}
	// go-zookeeper reads the dates of 3.5 and before only, so it cannot parse srvr of a real 3.9 either.
	srvr := asked(t, addr[0], "srvr")
	layout := regexp.MustCompile(`^Zookeeper version: 3\.9\.5-\S+, built on \d{4}-\d\d-\d\d \d\d:\d\d UTC\nLatency min/avg/max: \d+/[\d.]+/\d+\nReceived: \d+\nSent: \d+\nConnections: 2\nOutstanding: 0\nZxid: 0x2\nMode: standalone\nNode count: 6\n$`)
	if !layout.MatchString(srvr) {
		t.Fatalf("srvr: %q", srvr)
	}
	if up := zk.FLWRuok(addr, 5*time.Second); !up[0] {
		t.Fatal("ruok")
	}
	conns := regexp.MustCompile(`^ /127\.0\.0\.1:\d+\[1\]\(queued=0,recved=\d+,sent=\d+,sid=0x[0-9a-f]+,lop=CREA,est=\d+,to=10000,lcxid=0x1,lzxid=0x2,lresp=\d+,llat=\d+,minlat=\d+,avglat=\d+,maxlat=\d+\)\n /127\.0\.0\.1:\d+\[0\]\(queued=0,recved=1,sent=0\)\n\n$`)
	if got := asked(t, addr[0], "cons"); !conns.MatchString(got) {
		t.Fatalf("cons: %q", got)
	}
	if got := asked(t, addr[0], "mntr"); got != "mntr is not executed because it is not in the whitelist.\n" {
		t.Fatalf("mntr: %q", got)
	}
}

func asked(t *testing.T, addr, word string) string {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_, _ = nc.Write([]byte(word))
	b, err := io.ReadAll(nc)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// C-61: many children with long names, and a frame that claims 2 GB.
func TestServerSendsLongListsWhole(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	defer stop(t, s)
	c, _ := dial(t, s)
	defer c.Close()
	open := zk.WorldACL(zk.PermAll)
	must[string](t)(c.Create("/many", nil, 0, open))
	n := 100_000
	if testing.Short() {
		n = 30_000
	}
	for from := 0; from < n; from += 1000 {
		ops := make([]any, 0, 1000)
		for i := from; i < from+1000; i++ {
			ops = append(ops, &zk.CreateRequest{Path: fmt.Sprintf("/many/%040d", i), Acl: open})
		}
		if _, err := c.Multi(ops...); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	_, _ = raw.Write([]byte{0x7F, 0xFF, 0xFF, 0xFF})
	if b, err := io.ReadAll(raw); err != nil || len(b) != 0 {
		t.Fatalf("a frame of 2 GB: %q %v", b, err)
	}
	st := must2(t)(c.Exists("/many"))
	if int(st.NumChildren) != n {
		t.Fatalf("%d children", st.NumChildren)
	}
	names, _, err := c.Children("/many")
	if err != nil || len(names) != n {
		t.Fatalf("%d names, %v", len(names), err)
	}
}

func must2(t *testing.T) func(there bool, st *zk.Stat, err error) *zk.Stat {
	return func(there bool, st *zk.Stat, err error) *zk.Stat {
		t.Helper()
		if err != nil || !there {
			t.Fatal(there, err)
		}
		return st
	}
}
