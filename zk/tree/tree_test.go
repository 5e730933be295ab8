package tree

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/pelton-broker/pelton/zk/jute"
)

// world is a tree with its Prep, where transactions become final when told.
type world struct {
	t       testing.TB
	tree    *Tree
	prep    *Prep
	zxid    int64
	pending []*Txn
}

func newWorld(t testing.TB) *world {
	tr := New()
	tr.Extended = true
	return &world{t: t, tree: tr, prep: NewPrep(tr)}
}

func (w *world) request(session int64, op int32, body []byte) *Txn {
	w.zxid++
	x := &Txn{Session: session, Zxid: w.zxid, TimeMs: 1000}
	r := jute.NewReader(body)
	if err := w.prep.Request(op, &r, &Caller{Session: session, IDs: []jute.ID{{Scheme: "ip", ID: "127.0.0.1"}}}, x); err != nil {
		w.t.Fatal(err)
	}
	w.pending = append(w.pending, x)
	return x
}

// final applies everything, checking that each write comes out as it was judged.
func (w *world) final() {
	var res Result
	for _, x := range w.pending {
		w.tree.Apply(x, &res)
		w.prep.Committed(x.Zxid)
		if x.Op != jute.OpError && x.Op != jute.OpMulti && res.Err != jute.OK {
			w.t.Fatalf("transaction %d of type %d was taken and came to %v", x.Zxid, x.Op, res.Err)
		}
	}
	w.pending = nil
}

func createBody(path string, flags int32) []byte {
	return jute.AppendInt(jute.AppendACL(jute.AppendBuffer(jute.AppendText(nil, path), []byte("d")), OpenACL()), flags)
}

func TestNewTreeIsApaches(t *testing.T) {
	tr := New()
	var st jute.Stat
	tr.Stat(tr.Get("/"), &st)
	if st.Cversion != -1 || st.NumChildren != 1 || st.Czxid != 0 {
		t.Fatalf("root %+v", st)
	}
	tr.Stat(tr.Get("/zookeeper"), &st)
	if st.Cversion != -2 || st.NumChildren != 2 {
		t.Fatalf("/zookeeper %+v", st)
	}
	tr.Stat(tr.Get("/zookeeper/config"), &st)
	if st.Aversion != -1 {
		t.Fatalf("config %+v", st)
	}
}

// C-55: the end of the counter's range.
func TestSequenceNumbersRunOver(t *testing.T) {
	w := newWorld(t)
	w.request(1, jute.OpCreate, createBody("/s", 0))
	w.final()
	w.tree.Get("/s").Cversion = 2147483646
	for _, want := range []string{"/s/n-2147483646", "/s/n-2147483647", "/s/n--2147483648", "/s/n--2147483647"} {
		if x := w.request(1, jute.OpCreate, createBody("/s/n-", jute.FlagSequential)); x.Path != want {
			t.Fatalf("name %s, want %s", x.Path, want)
		}
		w.final()
	}
}

// Writes behind a setACL are judged by the new list, though it is not applied yet. (ZooKeeper 3.9.5 judges by the old one.)
func TestPendingACLCounts(t *testing.T) {
	w := newWorld(t)
	w.request(1, jute.OpCreate, createBody("/a", 0))
	w.final()
	readable := []jute.ACL{{Perms: jute.PermRead, ID: jute.ID{Scheme: "world", ID: "anyone"}}}
	w.request(1, jute.OpSetACL, jute.AppendInt(jute.AppendACL(jute.AppendText(nil, "/a"), readable), -1))
	if x := w.request(1, jute.OpSetData, jute.AppendInt(jute.AppendBuffer(jute.AppendText(nil, "/a"), nil), -1)); x.Err != jute.NoAuth {
		t.Fatalf("a write behind the revocation: %+v", x)
	}
	w.final()
}

// The request that ends an Apache server, then and at every start: a time to live that no node can have.
func TestCreateTTLOfPlainNodeIsRefused(t *testing.T) {
	w := newWorld(t)
	x := w.request(1, jute.OpCreateTTL, jute.AppendLong(createBody("/t", 0), -1))
	if x.Op != jute.OpError || x.Err != jute.BadArguments {
		t.Fatalf("%+v", x)
	}
}

// zookeeper.md 1: statistics nodes with null data or with text that is no quota.
func TestQuotaOfGarbageHurtsNobody(t *testing.T) {
	for _, data := range [][]byte{nil, {}, []byte("rubbish"), []byte("count=x,bytes=y"), {0xFF}} {
		w := newWorld(t)
		w.request(1, jute.OpCreate, createBody("/q", 0))
		w.request(1, jute.OpCreate, createBody("/zookeeper/quota/q", 0))
		w.request(1, jute.OpCreate, createBody("/zookeeper/quota/q/zookeeper_limits", 0))
		w.request(1, jute.OpCreate, createBody("/zookeeper/quota/q/zookeeper_stats", 0))
		w.request(1, jute.OpCreate, createBody("/zookeeper/quota/zookeeper_limits", 0))
		w.final()
		w.request(1, jute.OpSetData, jute.AppendInt(jute.AppendBuffer(jute.AppendText(nil, "/zookeeper/quota/q/zookeeper_stats"), data), -1))
		w.request(1, jute.OpCreate, createBody("/q/x", 0))
		w.final()
		w.request(1, jute.OpDelete, jute.AppendInt(jute.AppendText(nil, "/zookeeper/quota/zookeeper_limits"), -1))
		w.request(1, jute.OpDelete, jute.AppendInt(jute.AppendText(nil, "/zookeeper/quota/q/zookeeper_limits"), -1))
		w.final()
	}
}

// TestHardLimitsBindWhenTheyAreEnforced, and else they are advice, as by default in Apache's; the conformance scripts have the rest.
func TestHardLimitsBindWhenTheyAreEnforced(t *testing.T) {
	for _, enforce := range []bool{false, true} {
		w := newWorld(t)
		w.tree.EnforceQuota = enforce
		w.request(1, jute.OpCreate, createBody("/q", 0))
		w.request(1, jute.OpCreate, createBody("/zookeeper/quota/q", 0))
		for name, text := range map[string]string{limitsName: "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=1", statsName: "count=0,bytes=0"} {
			w.request(1, jute.OpCreate, jute.AppendInt(jute.AppendACL(jute.AppendBuffer(jute.AppendText(nil, "/zookeeper/quota/q/"+name), []byte(text)), OpenACL()), 0))
		}
		w.final()
		x := w.request(1, jute.OpCreate, createBody("/q/more", 0))
		if refused := x.Op == jute.OpError && x.Err == jute.QuotaExceeded; refused != enforce {
			t.Errorf("enforced %v: operation %d, %v", enforce, x.Op, x.Err)
		}
		if n := w.tree.Exceeded["q"]; enforce != (n == 1) {
			t.Errorf("enforced %v: %d refusals counted", enforce, n)
		}
	}
}

// CVE-2026-59739: what setWatches makes up is read-checked like any event; the ACL travels with it.
func TestRewatchEventsCarryTheACL(t *testing.T) {
	w := newWorld(t)
	w.request(1, jute.OpCreate, createBody("/a", 0))
	secret := []jute.ACL{{Perms: jute.PermRead, ID: jute.ID{Scheme: "digest", ID: "u:h"}}}
	w.request(1, jute.OpSetACL, jute.AppendInt(jute.AppendACL(jute.AppendText(nil, "/a"), secret), -1))
	w.final()
	w.tree.TakeEvents()
	w.tree.Rewatch("me", 0, &Rewatch{Data: []string{"/a"}, Exist: []string{"/a"}, Children: []string{"/a"}})
	events := w.tree.TakeEvents()
	if len(events) != 3 {
		t.Fatalf("%d events", len(events))
	}
	for _, ev := range events {
		if Allowed(ev.ACL, jute.PermRead, []jute.ID{{Scheme: "ip", ID: "127.0.0.1"}}) || ev.Zxid != -1 {
			t.Fatalf("event %+v may be seen by anybody", ev)
		}
	}
}

// Random histories with writes pending: judged against what is pending, each transaction fits when its turn comes,
// and its bytes say the same as itself.
func TestPrepAgreesWithApply(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		twin := New()
		paths := []string{"/a", "/b", "/a/x", "/a/y", "/a/x/z", "/b/q"}
		var res Result
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			path := rapid.SampledFrom(paths).Draw(rt, "path")
			session := int64(rapid.IntRange(1, 2).Draw(rt, "session"))
			version := int32(rapid.IntRange(-1, 2).Draw(rt, "version"))
			switch rapid.IntRange(0, 6).Draw(rt, "op") {
			case 0, 1:
				w.request(session, jute.OpCreate, createBody(path, int32(rapid.IntRange(0, 3).Draw(rt, "flags"))))
			case 2:
				w.request(session, jute.OpDelete, jute.AppendInt(jute.AppendText(nil, path), version))
			case 3:
				w.request(session, jute.OpSetData, jute.AppendInt(jute.AppendBuffer(jute.AppendText(nil, path), []byte("v")), version))
			case 4:
				b := append(jute.AppendMultiHeader(nil, jute.OpCreate, false, -1), createBody(path, 1)...)
				b = append(jute.AppendMultiHeader(b, jute.OpDelete, false, -1), jute.AppendInt(jute.AppendText(nil, rapid.SampledFrom(paths).Draw(rt, "other")), -1)...)
				w.request(session, jute.OpMulti, jute.AppendMultiHeader(b, -1, true, -1))
			case 5:
				w.zxid++
				x := &Txn{Session: session, Zxid: w.zxid}
				w.prep.CloseSession(x)
				w.pending = append(w.pending, x)
			case 6:
				for _, x := range w.pending {
					y, _, err := ParseTxn(x.AppendTo(nil))
					if err != nil {
						rt.Fatal(err)
					}
					twin.Apply(y, &res)
				}
				w.final()
				if len(w.prep.pending) != 0 {
					rt.Fatalf("%d changes are pending after all were applied", len(w.prep.pending))
				}
			}
		}
		for _, x := range w.pending {
			twin.Apply(x, &res)
		}
		w.final()
		for _, session := range []int64{1, 2} {
			if a, b := fmt.Sprint(w.tree.Ephemerals(session)), fmt.Sprint(twin.Ephemerals(session)); a != b {
				rt.Fatalf("ephemerals %s and %s", a, b)
			}
			for _, path := range w.tree.Ephemerals(session) {
				if n := w.tree.Get(path); n == nil || n.owner != session {
					rt.Fatalf("%s is no ephemeral of session %d", path, session)
				}
			}
		}
		if w.tree.Count() != twin.Count() || w.tree.ApproximateBytes() != twin.ApproximateBytes() {
			rt.Fatal("the tree read back from bytes differs")
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add(jute.OpCreate, createBody("/a", 0))
	b := append(jute.AppendMultiHeader(nil, jute.OpCreate, false, -1), createBody("/m", 2)...)
	f.Add(jute.OpMulti, jute.AppendMultiHeader(b, -1, true, -1))
	f.Add(jute.OpSetACL, jute.AppendInt(jute.AppendACL(jute.AppendText(nil, "/"), OpenACL()), -1))
	f.Fuzz(func(t *testing.T, op int32, body []byte) {
		tr := New()
		p := NewPrep(tr)
		x := &Txn{Session: 1, Zxid: 1}
		r := jute.NewReader(body)
		if err := p.Request(op, &r, &Caller{Session: 1}, x); err != nil {
			if !errors.Is(err, jute.MarshallingError) {
				t.Fatal(err)
			}
			return
		}
		y, _, err := ParseTxn(x.AppendTo(nil))
		if err != nil || y.Op != x.Op || len(y.Sub) != len(x.Sub) {
			t.Fatalf("%+v read back as %+v, %v", x, y, err)
		}
		var res Result
		tr.Apply(x, &res)
		p.Committed(1)
	})
}

func FuzzParseTxn(f *testing.F) {
	f.Add((&Txn{Op: jute.OpCreate, Path: "/a", ACL: OpenACL(), ParentCversion: 3}).AppendTo(nil))
	f.Add((&Txn{Op: jute.OpMulti, Sub: []Txn{{Op: jute.OpDelete, Path: "/a"}}}).AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, _, err := ParseTxn(b)
		if err != nil {
			return
		}
		var res Result
		New().Apply(x, &res)
	})
}

// A watcher's paths are all there until each is fired, taken back or forgotten with the watcher, in whatever order.
func TestPathsOfOneWatcher(t *testing.T) {
	paths := []string{"/a", "/b", "/c"}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		w := newWatchTable()
		for _, p := range paths {
			w.add(p, "me", standard)
			w.add(p, "other", standard)
		}
		for n, i := range order {
			if w.fire(paths[i]); len(w.fired) != 2 {
				t.Fatalf("%v told of %s", w.fired, paths[i])
			}
			if w.fire(paths[i]); len(w.fired) != 0 {
				t.Fatalf("%v told of %s once more", w.fired, paths[i])
			}
			if watchers, at, watches := w.counts(); watches != 2*(2-n) || at != 2-n || (watchers != 0) != (n < 2) {
				t.Fatalf("after %d: %d watchers, %d paths, %d watches", n+1, watchers, at, watches)
			}
			w.add(paths[i], "me", standard)
			if !w.remove(paths[i], "me", standard) || w.remove(paths[i], "me", standard) {
				t.Fatalf("the watch of %s cannot be taken back once", paths[i])
			}
		}
		for _, p := range paths {
			w.add(p, "me", standard)
		}
		w.add("/b", "other", standard)
		w.removeWatcher("me")
		if watchers, at, watches := w.counts(); watchers != 1 || at != 1 || watches != 1 || !w.has("/b", "other", standard) {
			t.Fatalf("left: %d watchers, %d paths, %d watches", watchers, at, watches)
		}
	}
}
