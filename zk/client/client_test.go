package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/zk/client"
	"github.com/pelton-broker/pelton/zk/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// events collects what a client tells.
type events struct {
	mu   sync.Mutex
	list []client.Event
}

func (e *events) add(ev client.Event) { e.mu.Lock(); e.list = append(e.list, ev); e.mu.Unlock() }

func (e *events) take() (out []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	names := map[client.Kind]string{
		client.Connected: "connected", client.Disconnected: "disconnected", client.Expired: "expired", client.Created: "created",
		client.Deleted: "deleted", client.DataChanged: "data", client.ChildrenChanged: "children",
	}
	for _, ev := range e.list {
		s := strings.TrimSpace(names[ev.Kind] + " " + ev.Path)
		if ev.Fresh {
			s += " fresh"
		}
		out = append(out, s)
	}
	e.list = nil
	return out
}

func open(t *testing.T, server *zktest.Server, connect string) (*client.Client, *events) {
	t.Helper()
	group, ev := task.NewGroup(), &events{}
	c, err := client.Open(t.Context(), client.Options{Connect: connect, OnEvent: ev.add, Wire: server.Wire}, group)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); group.Stop() })
	return c, ev
}

func expect(t *testing.T, ev *events, want ...string) {
	t.Helper()
	if got := ev.take(); strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Fatalf("events %q, want %q", got, want)
	}
}

func TestOpenMakesTheChroot(t *testing.T) {
	server := zktest.NewServer(0)
	c, ev := open(t, server, "a,b:3/x/y/")
	expect(t, ev, "connected fresh")
	if _, err := c.Create(t.Context(), "/n", nil, client.Persistent); err != nil {
		t.Fatal(err)
	}
	if n, is := server.Dump("/")["/x/y/n"]; !is || n.Data != nil {
		t.Fatalf("%v %+v", is, n)
	}
	if got := strings.Join(c.Address().Hosts, " "); got != "a:2181 b:3" {
		t.Fatal(got)
	}
	open(t, server, "a/x/y") // it is there already
}

func TestWatchesFireOnceAndAreArmedOnce(t *testing.T) {
	server := zktest.NewServer(0)
	c, ev := open(t, server, "a/root")
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ev.take()
	if _, ok, err := c.ExistsW(ctx, "/n"); ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, err := c.GetW(ctx, "/n"); !errors.Is(err, client.ErrNoNode) {
		t.Fatal(err)
	}
	must(c.Ensure(ctx, "/n", []byte("1")))
	expect(t, ev, "created /n")
	for range 3 {
		_, err := c.GetW(ctx, "/n")
		must(err)
		_, err = c.ChildrenW(ctx, "/n")
		must(err)
	}
	_, err := c.Set(ctx, "/n", []byte("2"), 0)
	must(err)
	expect(t, ev, "data /n")
	_, err = c.Set(ctx, "/n", []byte("3"), 1)
	must(err)
	expect(t, ev)
	must(c.Ensure(ctx, "/n/c", nil))
	expect(t, ev, "children /n")
	n, err := c.GetW(ctx, "/n")
	if must(err); string(n.Data) != "3" || n.Stat.Version != 2 {
		t.Fatalf("%+v", n)
	}
	must(c.Delete(ctx, "/n/c", -1))
	must(c.Delete(ctx, "/n", -1))
	expect(t, ev, "deleted /n")
}

func TestWritesAfterALostConnection(t *testing.T) {
	for _, applied := range []bool{false, true} {
		t.Run(fmt.Sprint("applied-", applied), func(t *testing.T) {
			server := zktest.NewServer(0)
			c, _ := open(t, server, "a")
			ctx := t.Context()
			for _, op := range []string{"create /a", "create /e", "set /a", "delete /a", "create /s"} {
				server.Lose(op, applied)
			}
			if _, err := c.Create(ctx, "/a", []byte("x"), client.Persistent); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Create(ctx, "/e", []byte("x"), client.Ephemeral); err != nil {
				t.Fatal(err)
			}
			if st, err := c.Set(ctx, "/a", []byte("y"), 0); err != nil || st.Version != 1 {
				t.Fatal(st, err)
			}
			if err := c.Delete(ctx, "/a", 1); err != nil {
				t.Fatal(err)
			}
			if path, err := c.Create(ctx, "/s", nil, client.Sequential); err != nil || !strings.HasPrefix(path, "/s00") {
				t.Fatal(path, err)
			}
			server.Lose("multi create /m", applied)
			_, err := c.Multi(ctx, client.CreateOp("/m", nil, client.Persistent), client.SetOp("/m", []byte("1"), 0))
			if unknown := errors.Is(err, client.ErrUnknownOutcome) && errors.Is(err, client.ErrNodeExists); applied != unknown {
				t.Fatalf("%v", err)
			}
			if n, err := c.Get(ctx, "/m"); err != nil || string(n.Data) != "1" {
				t.Fatal(n, err)
			}
		})
	}
}

func TestCreateToldFromSomebodyElses(t *testing.T) {
	server := zktest.NewServer(0)
	c, _ := open(t, server, "a")
	other, _ := open(t, server, "a")
	if _, err := other.Create(t.Context(), "/p", []byte("theirs"), client.Persistent); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Create(t.Context(), "/e", []byte("same"), client.Ephemeral); err != nil {
		t.Fatal(err)
	}
	server.Lose("create /p", false)
	if _, err := c.Create(t.Context(), "/p", []byte("ours"), client.Persistent); !errors.Is(err, client.ErrNodeExists) {
		t.Fatal(err)
	}
	server.Lose("create /e", false)
	if _, err := c.Create(t.Context(), "/e", []byte("same"), client.Ephemeral); !errors.Is(err, client.ErrNodeExists) {
		t.Fatal(err)
	}
}

func TestExpiryIsAnEventAndEndsCallsOfThatSession(t *testing.T) {
	server := zktest.NewServer(0)
	c, ev := open(t, server, "a")
	first := c.SessionID()
	if _, err := c.Create(t.Context(), "/e", nil, client.Ephemeral); err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetW(t.Context(), "/e"); err != nil {
		t.Fatal(err)
	}
	ev.take()
	server.Down()
	done := make(chan error, 1)
	go func() { _, err := c.Get(t.Context(), "/e"); done <- err }()
	server.Expire(first) // while it is down: the client learns of it when it is back
	server.Up()
	if err := <-done; !errors.Is(err, client.ErrSessionExpired) && !errors.Is(err, client.ErrNoNode) {
		t.Fatal(err)
	}
	if got := strings.Join(ev.take(), ", "); !strings.HasPrefix(got, "disconnected, expired, connected") {
		t.Fatal(got)
	}
	if c.SessionID() == first {
		t.Fatal("the session is the same")
	}
}

func TestOpenOnADeadServerFailsInTime(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	group := task.NewGroup()
	defer group.Stop()
	_, err = client.Open(t.Context(), client.Options{Connect: address, ConnectionTimeout: 50 * time.Millisecond}, group)
	if !errors.Is(err, client.ErrConnectTimeout) || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "refused") {
		t.Fatal(err)
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	server := zktest.NewServer(0)
	c, _ := open(t, server, "a")
	release := server.Hold()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := c.Get(ctx, "/"); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	release()
	server.Down()
	go func() { _, err := c.Get(t.Context(), "/"); done <- err }()
	c.Close()
	if err := <-done; !errors.Is(err, client.ErrClosed) {
		t.Fatal(err)
	}
}

func TestTooLargeIsRefusedBeforeTheServerHangsUp(t *testing.T) {
	server := zktest.NewServer(0)
	c, _ := open(t, server, "a")
	big := make([]byte, 1<<20)
	if _, err := c.Create(t.Context(), "/a", big, client.Persistent); !errors.Is(err, client.ErrTooLarge) {
		t.Fatal(err)
	}
	if _, err := c.Set(t.Context(), "/a", big, -1); !errors.Is(err, client.ErrTooLarge) {
		t.Fatal(err)
	}
	if _, err := c.Multi(t.Context(), client.CreateOp("/a", big, client.Persistent)); !errors.Is(err, client.ErrTooLarge) {
		t.Fatal(err)
	}
	if log := server.Log(); len(log) != 0 {
		t.Fatal(log)
	}
}

func TestEachReturnsTheErrorOfEach(t *testing.T) {
	server := zktest.NewServer(0)
	c, _ := open(t, server, "a")
	errs := c.Each(t.Context(), 300, func(ctx context.Context, i int) error {
		_, err := c.Create(ctx, fmt.Sprint("/n", i%200), []byte{byte(i)}, client.Persistent)
		return err
	})
	failed := 0
	for _, err := range errs {
		if errors.Is(err, client.ErrNodeExists) {
			failed++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if len(errs) != 300 || failed != 100 {
		t.Fatalf("%d of %d failed", failed, len(errs))
	}
}

// TestWatchedIsReadAgainAfterAReconnect: a change while the connection was away is not told by the server here, as it happens when the library sets its watches again
// with too late a transaction. Who is told to look finds it, and hears of the next one.
func TestWatchedIsReadAgainAfterAReconnect(t *testing.T) {
	server := zktest.NewServer(0)
	c, ev := open(t, server, "a/root")
	other, _ := open(t, server, "a/root")
	ctx := t.Context()
	if _, err := other.Create(ctx, "/e", nil, client.Ephemeral); err != nil {
		t.Fatal(err)
	}
	look := func() (there bool, below int) {
		t.Helper()
		_, there, err := c.ExistsW(ctx, "/e")
		if err != nil {
			t.Fatal(err)
		}
		names, err := c.ChildrenW(ctx, "/")
		if err != nil {
			t.Fatal(err)
		}
		return there, len(names)
	}
	if there, below := look(); !there || below != 1 {
		t.Fatal(there, below)
	}
	ev.take()
	server.Down()
	server.Expire(other.SessionID())
	server.Up()
	expect(t, ev, "disconnected", "connected", "children /", "data /e")
	if there, below := look(); there || below != 0 {
		t.Fatalf("still there: %v %d", there, below)
	}
	if _, err := c.Create(ctx, "/e", nil, client.Persistent); err != nil {
		t.Fatal(err)
	}
	expect(t, ev, "created /e", "children /")
}
