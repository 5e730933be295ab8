package run

import (
	"slices"
	"sync"
	"testing"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/zk/zktest"
)

// losses are the partitions that a member says it cannot serve.
type losses struct {
	mu  sync.Mutex
	now map[string][]int32
}

func (l *losses) set(now map[string][]int32) { l.mu.Lock(); defer l.mu.Unlock(); l.now = now }

func (l *losses) get() map[string][]int32 { l.mu.Lock(); defer l.mu.Unlock(); return l.now }

// again starts broker 0 anew on a server.
func again(t *testing.T, server *zktest.Server, lost *losses) *member {
	t.Helper()
	m := newMember()
	o := options(m, 0, 25092)
	o.ZK.Wire, o.Lost = server.Wire, lost.get
	if err := m.start(t, o); err != nil {
		t.Fatal(err)
	}
	return m
}

func stateOf(t *testing.T, server *zktest.Server, path string) string {
	t.Helper()
	return string(server.Dump("/kafka")[path].Data)
}

func reports(server *zktest.Server) (left []string) {
	for path := range server.Dump("/kafka" + pathLogDirEvents) {
		if path != "/" {
			left = append(left, path)
		}
	}
	return left
}

func is(p *meta.Partition, leader, epoch int32, offline ...int32) bool {
	return p != nil && p.Leader == leader && p.LeaderEpoch == epoch && slices.Equal(p.ISR, []int32{0}) && slices.Equal(p.Offline, offline)
}

// The values are those of Kafka 3.9.1 with two directories of which one is taken away: after the report nobody leads what was in it, the ISR
// stays, the epoch rises by one; a start with the directory still away elects and finds the loss again, which takes two; a start with the
// directory back elects.
func TestPartitionsOfAFailedLogDirectory(t *testing.T) {
	lost := &losses{}
	m, server := fake(t, func(o *Options) { o.Lost = lost.get })
	mustCreate(t, m, spec("t", 2))
	mustCreate(t, m, spec("whole", 1))
	lost.set(map[string][]int32{"t": {1}})
	if err := m.ReportLogDirFailure(t.Context()); err != nil {
		t.Fatal(err)
	}
	img := m.until(t, "the loss", func(img *meta.Image) bool { return is(img.Partition("t", 1), -1, 1, 0) })
	if !is(img.Partition("t", 0), 0, 0) || !is(img.Partition("whole", 0), 0, 0) {
		t.Errorf("what was not lost has changed: %+v %+v", img.Partition("t", 0), img.Partition("whole", 0))
	}
	if got, want := stateOf(t, server, pathState("t", 1)), `{"controller_epoch":1,"leader":-1,"version":1,"leader_epoch":1,"isr":[0]}`; got != want {
		t.Errorf("the znode is %s, want %s", got, want)
	}
	if left := reports(server); len(left) > 0 {
		t.Errorf("reports are left: %v", left)
	}
	mustCreate(t, m, spec("later", 1))
	if !is(m.Image().Partition("later", 0), 0, 0) {
		t.Errorf("a new topic: %+v", m.Image().Partition("later", 0))
	}
	m.stop(t)
	m = again(t, server, lost)
	if p := m.Image().Partition("t", 1); !is(p, -1, 3, 0) {
		t.Errorf("started with the loss: %+v", p)
	}
	m.stop(t)
	lost.set(nil)
	m = again(t, server, lost)
	if p := m.Image().Partition("t", 1); !is(p, 0, 4) {
		t.Errorf("started without: %+v", p)
	}
	if got, want := stateOf(t, server, pathState("t", 1)), `{"controller_epoch":3,"leader":0,"version":1,"leader_epoch":4,"isr":[0]}`; got != want {
		t.Errorf("the znode is %s, want %s", got, want)
	}
}

// A topic with a lost partition stays, marked, until the directory is back: its log could not be removed.
func TestDeletionWaitsForAFailedLogDirectory(t *testing.T) {
	lost := &losses{}
	m, server := fake(t, func(o *Options) { o.Lost = lost.get })
	mustCreate(t, m, spec("t", 2))
	lost.set(map[string][]int32{"t": {1}})
	if err := m.LookAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := m.Image().Partition("t", 1); !is(p, -1, 1, 0) {
		t.Fatalf("looked again: %+v", p)
	}
	if err := m.DeleteTopic(t.Context(), "t"); err != nil || m.Image().Topic("t") == nil || !m.Image().Topic("t").Deleting {
		t.Fatalf("%v %+v", err, m.Image().Topic("t"))
	}
	m.stop(t)
	m = again(t, server, lost)
	if m.Image().Topic("t") == nil || stateOf(t, server, pathTopic("t")) == "" {
		t.Fatal("the topic has gone with its log still there")
	}
	m.stop(t)
	lost.set(nil)
	m = again(t, server, lost)
	m.until(t, "the deletion's end", func(img *meta.Image) bool { return img.Topic("t") == nil })
	if err := m.LookAgain(t.Context()); err != nil { // a turn later
		t.Fatal(err)
	}
	if got := stateOf(t, server, pathTopic("t")); got != "" {
		t.Errorf("the znode is still there: %s", got)
	}
}

// A broker that is not the controller reports all the same, and the controller takes the report away, also one that it cannot read.
func TestReportsOfOthers(t *testing.T) {
	lost := &losses{}
	m, server := fake(t, func(o *Options) { o.Lost = lost.get })
	mustCreate(t, m, spec("t", 1))
	other := join(t, server, 1)
	gone := server.Await("delete /kafka" + pathLogDirEvents + "/log_dir_event_0000000000")
	if err := other.ReportLogDirFailure(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-gone
	lost.set(map[string][]int32{"t": {0}}) // nobody has told of that
	asked(t, server, pathLogDirEvents+"/log_dir_event_x", "not a report")
	if err := m.LookAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := m.Image().Partition("t", 0); !is(p, -1, 1, 0) {
		t.Errorf("%+v", p)
	}
}
