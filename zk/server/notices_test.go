package server

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/zk/jute"
)

// event reads one notification and nothing else.
func (r *rawSession) event() (kind int32, path string, zxid int64) {
	r.t.Helper()
	in := jute.NewReader(r.frame())
	xid, zxid, code := in.Int(), in.Long(), in.Int()
	kind, state, path := in.Int(), in.Int(), in.String()
	if xid != jute.XidWatch || code != 0 || state != jute.StateConnected || in.Err() != nil || len(in.Rest()) != 0 {
		r.t.Fatalf("no event: xid %d, error %d, state %d, %d bytes behind it", xid, code, state, len(in.Rest()))
	}
	return kind, path, zxid
}

// Events of many watchers are sent from the same bytes: each watcher gets all of its own, in order, and one that may not read a node gets none of it.
func TestManyWatchersOfOneChange(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	defer stop(t, s)
	c, _ := dial(t, s)
	defer c.Close()
	must[string](t)(c.Create("/w", nil, 0, zk.WorldACL(zk.PermAll)))
	must[string](t)(c.Create("/w/secret", nil, 0, append(zk.DigestACL(zk.PermRead, "u", "p"), zk.WorldACL(zk.PermWrite)...)))
	const watchers, rounds = 40, 5
	var all []*rawSession
	for range watchers {
		r := openRaw(t, s, nil)
		r.write(jute.AppendInt(jute.AppendText(jute.AppendInt(jute.AppendInt(nil, 1), jute.OpAddWatch), "/w"), zkRecursive))
		r.reply(1, nil)
		all = append(all, r)
	}
	var zxids []int64
	for i := range rounds {
		// One transaction with two events, then one with another: nothing may be told of the node that they cannot read.
		if _, err := c.Multi(&zk.SetDataRequest{Path: "/w", Version: -1}, &zk.SetDataRequest{Path: "/w/secret", Version: -1},
			&zk.CreateRequest{Path: fmt.Sprintf("/w/n%d", i), Acl: zk.WorldACL(zk.PermAll)}); err != nil {
			t.Fatal(err)
		}
		zxids = append(zxids, must[*zk.Stat](t)(c.Set("/w", []byte("x"), -1)).Mzxid)
	}
	for k, r := range all {
		for i, zxid := range zxids {
			for _, want := range []struct {
				kind int32
				path string
				zxid int64
			}{{jute.EventDataChanged, "/w", zxid - 1}, {jute.EventCreated, fmt.Sprintf("/w/n%d", i), zxid - 1}, {jute.EventDataChanged, "/w", zxid}} {
				if kind, path, at := r.event(); kind != want.kind || path != want.path || at != want.zxid {
					t.Fatalf("watcher %d, round %d: event %d of %s at 0x%x, want %+v", k, i, kind, path, at, want)
				}
			}
		}
	}
}

// zkRecursive is the mode of addWatch for everything below a node.
const zkRecursive int32 = 1
