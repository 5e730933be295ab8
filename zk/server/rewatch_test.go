package server

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/zk/jute"
)

// xidSetWatches is the number that clients give such requests.
const xidSetWatches int32 = -8

// rawSession is a session of bare frames.
type rawSession struct {
	t    *testing.T
	c    net.Conn
	id   int64
	pass []byte
}

func openRaw(t *testing.T, s *Server, again *rawSession) *rawSession {
	t.Helper()
	r, err := connectRaw(t, s, again)
	if err != nil || r.id == 0 {
		t.Fatalf("the session is refused: %v", err)
	}
	return r
}

// connectRaw asks for a session, anew or again; its id is 0 when it is refused.
func connectRaw(t *testing.T, s *Server, again *rawSession) (*rawSession, error) {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = c.Close() })
	r := &rawSession{t: t, c: c, pass: make([]byte, 16)}
	if again != nil {
		r.id, r.pass = again.id, again.pass
	}
	b := jute.AppendLong(jute.AppendInt(nil, 0), 0)
	b = jute.AppendLong(jute.AppendInt(b, 10_000), r.id)
	r.write(jute.AppendBool(jute.AppendBuffer(b, r.pass), false))
	answer, err := r.next()
	if err != nil {
		return nil, err
	}
	in := jute.NewReader(answer)
	in.Int()
	in.Int()
	r.id, r.pass = in.Long(), append([]byte(nil), in.Buffer()...)
	return r, nil
}

func (r *rawSession) write(b []byte) {
	r.t.Helper()
	if _, err := r.c.Write(append(jute.AppendInt(nil, int32(len(b))), b...)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rawSession) frame() []byte {
	r.t.Helper()
	b, err := r.next()
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

func (r *rawSession) next() ([]byte, error) {
	_ = r.c.SetReadDeadline(time.Now().Add(60 * time.Second))
	var head [4]byte
	if _, err := io.ReadFull(r.c, head[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(r.c, b)
	return b, err
}

// reply reads on to the answer with that xid; events before it are counted by type and path.
func (r *rawSession) reply(xid int32, events map[string]int) jute.Reader {
	r.t.Helper()
	for {
		in := jute.NewReader(r.frame())
		got, _, code := in.Int(), in.Long(), in.Int()
		if got == jute.XidWatch {
			kind, _, path := in.Int(), in.Int(), in.String()
			events[fmt.Sprint(kind, " ", path)]++
			continue
		}
		if got != xid || code != 0 {
			r.t.Fatalf("answer %d with error %d, not %d", got, code, xid)
		}
		return in
	}
}

// C-59: five thousand watches of each kind, with long paths, set again in several requests after a reconnect: each request has one answer, everything that
// changed is told at once, and the rest stays armed.
func TestManyWatchesAreSetAgain(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	defer stop(t, s)
	c, _ := dial(t, s)
	defer c.Close()
	const n, each = 5000, 1000
	long := strings.Repeat("x", 100)
	path := func(kind string, i int) string { return fmt.Sprintf("/%s/%s-%05d", kind, long, i) }
	acl := zk.WorldACL(zk.PermAll)
	for _, kind := range []string{"data", "exist", "child"} {
		must[string](t)(c.Create("/"+kind, nil, 0, acl))
		for from := 0; from < n && kind != "exist"; from += each {
			ops := make([]any, 0, each)
			for i := from; i < from+each; i++ {
				ops = append(ops, &zk.CreateRequest{Path: path(kind, i), Acl: acl})
			}
			if _, err := c.Multi(ops...); err != nil {
				t.Fatal(err)
			}
		}
	}
	first := openRaw(t, s, nil)
	events := map[string]int{}
	first.write(jute.AppendBool(jute.AppendText(jute.AppendInt(jute.AppendInt(nil, 1), jute.OpExists), "/data"), false))
	in := first.frame()
	seen := int64(binary.BigEndian.Uint64(in[4:])) // the zxid in the answer's header
	_ = first.c.Close()
	// From elsewhere: a change, an end, an end and a new beginning, a creation, a child.
	must[*zk.Stat](t)(c.Set(path("data", 1), []byte("new"), -1))
	if err := c.Delete(path("data", 2), -1); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(path("data", 3), -1); err != nil {
		t.Fatal(err)
	}
	must[string](t)(c.Create(path("data", 3), nil, 0, acl))
	must[string](t)(c.Create(path("exist", 1), nil, 0, acl))
	must[string](t)(c.Create(path("child", 1)+"/below", nil, 0, acl))
	if err := c.Delete(path("child", 2), -1); err != nil {
		t.Fatal(err)
	}
	r := openRaw(t, s, first)
	for from := 0; from < n; from += each {
		b := jute.AppendLong(jute.AppendInt(jute.AppendInt(nil, xidSetWatches), jute.OpSetWatches), seen)
		for _, kind := range []string{"data", "exist", "child"} {
			var paths []string
			for i := from; i < from+each; i++ {
				paths = append(paths, path(kind, i))
			}
			b = jute.AppendTexts(b, paths)
		}
		r.write(b)
	}
	for range n / each {
		r.reply(xidSetWatches, events)
	}
	// Ours come before a change that is made now.
	must[*zk.Stat](t)(c.Set(path("data", n-1), []byte("late"), -1))
	must[string](t)(c.Create(path("exist", n-1), nil, 0, acl))
	must[string](t)(c.Create(path("child", n-1)+"/below", nil, 0, acl))
	r.write(jute.AppendText(jute.AppendInt(jute.AppendInt(nil, 9), jute.OpSync), "/"))
	r.reply(9, events)
	want := map[string]int{
		fmt.Sprint(jute.EventDataChanged, " ", path("data", 1)): 1, fmt.Sprint(jute.EventDeleted, " ", path("data", 2)): 1, fmt.Sprint(jute.EventDataChanged, " ", path("data", 3)): 1,
		fmt.Sprint(jute.EventCreated, " ", path("exist", 1)): 1, fmt.Sprint(jute.EventChildrenChanged, " ", path("child", 1)): 1, fmt.Sprint(jute.EventDeleted, " ", path("child", 2)): 1,
		fmt.Sprint(jute.EventDataChanged, " ", path("data", n-1)): 1, fmt.Sprint(jute.EventCreated, " ", path("exist", n-1)): 1, fmt.Sprint(jute.EventChildrenChanged, " ", path("child", n-1)): 1,
	}
	if fmt.Sprint(events) != fmt.Sprint(want) {
		t.Errorf("events %v\nwant %v", events, want)
	}
}
