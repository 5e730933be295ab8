package coord

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/logstore/batch"
)

func TestPartitionForIsJavasHash(t *testing.T) {
	// Where real Kafkas put these groups (testdata/golden).
	for id, want := range map[string]int32{"": 0, "golden-group": 4, "golden-simple": 1} {
		if got := PartitionFor(id, 5); got != want {
			t.Errorf("PartitionFor(%q, 5) = %d, want %d", id, got, want)
		}
	}
	// "polygenelubricants" has the hash -2^31, whose absolute value is no int.
	if got := PartitionFor("polygenelubricants", 50); got != 0 {
		t.Errorf("the least hash gives %d", got)
	}
	// Beyond the BMP Java sees two units: U+1F600 is D83D DE00.
	if got, want := PartitionFor("\U0001F600", 1000), int32((31*0xD83D+0xDE00)%1000); got != want {
		t.Errorf("surrogates give %d, want %d", got, want)
	}
}

func TestHostAnswersAfterTheAppend(t *testing.T) {
	w := newWorld(t)
	w.lead(w.options())
	w.manual = true
	c := w.commit("g", "t", 7)
	if c.answer != nil {
		t.Fatal("a commit was answered before its append ended")
	}
	if got := w.fetch("g"); len(got) != 0 {
		t.Fatalf("an offset was seen before it was in the log: %v", got)
	}
	w.waiting[0]()
	if c.answer.(*group.Committed).Offsets[0].Err != nil {
		t.Fatal(c.answer)
	}
	if got := w.fetch("g"); got["t-0"] != "7 " {
		t.Fatalf("offsets %v", got)
	}
}

func TestHostFailedAppendFailsItsRequestAlone(t *testing.T) {
	w := newWorld(t)
	w.lead(w.options())
	w.commit("g", "t", 7)
	w.failing = group.ErrNotAvailable
	c := w.commit("g", "t", 8)
	w.failing = nil
	if err := c.answer.(*group.Committed).Offsets[0].Err; !errors.Is(err, group.ErrNotAvailable) {
		t.Fatalf("answered %v", err)
	}
	if got := w.fetch("g"); got["t-0"] != "7 " {
		t.Fatalf("offsets %v", got)
	}
	if e := w.events[len(w.events)-1]; e.What != AppendFailed {
		t.Fatalf("event %v", e)
	}
}

func TestHostReplayBringsBackWhatWasAnswered(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.ChunkBytes = 100 // less than a batch: every chunk is one
	w.lead(o)
	for i := range 50 {
		w.commit(fmt.Sprintf("g%d", i%7), fmt.Sprintf("t%d", i%3), int64(i))
	}
	c := w.call()
	w.host.Do(&group.Delete{To: c, Group: "g3"})
	before := map[string]map[string]string{}
	for i := range 7 {
		before[fmt.Sprint(i)] = maps.Clone(w.fetch(fmt.Sprintf("g%d", i)))
	}

	w.host = New(w, o)
	w.host.Lead()
	early := w.commit("g0", "t0", 99)
	if err := early.answer.(*group.Committed).Offsets[0].Err; !errors.Is(err, group.ErrLoading) {
		t.Fatalf("during the replay: %v", err)
	}
	w.turns()
	for i := range 7 {
		if d := cmp.Diff(before[fmt.Sprint(i)], w.fetch(fmt.Sprintf("g%d", i))); d != "" {
			t.Errorf("g%d after the replay: %s", i, d)
		}
	}
	if w.reads < 50 {
		t.Errorf("%d reads: the replay was not chunked", w.reads)
	}
}

func TestHostReplayTriesAgain(t *testing.T) {
	w := newWorld(t)
	w.lead(w.options())
	w.commit("g", "t", 7)
	w.readErr = errors.New("no such luck")
	w.lead(w.options())
	if c := w.commit("g", "t", 9); !errors.Is(c.answer.(*group.Committed).Offsets[0].Err, group.ErrLoading) {
		t.Fatal("a host that could not read its log served")
	}
	w.advance(999)
	w.readErr = nil
	w.advance(1)
	if got := w.fetch("g"); got["t-0"] != "7 " {
		t.Fatalf("offsets %v", got)
	}
}

func TestHostReplayRefusesDamage(t *testing.T) {
	w := newWorld(t)
	w.lead(w.options())
	w.commit("g", "t", 7)
	w.log[len(w.log)-1] ^= 1
	w.lead(w.options())
	if e := w.events[len(w.events)-1]; e.What != ReadFailed || !errors.Is(e.Err, batch.ErrCRC) {
		t.Fatalf("event %+v", e)
	}
}

func TestHostReplaySkipsRecordsWithoutSense(t *testing.T) {
	w := newWorld(t)
	bd := batch.NewBuilder(batch.None)
	bd.Add(1, []byte("junk"), []byte("junk"))
	bd.Add(1, nil, []byte("no key"))
	bd.Add(1, []byte{0, 9, 1, 2}, []byte("of a later Kafka"))
	w.log, w.end = bd.Bytes(), 3
	w.lead(w.options())
	w.commit("g", "t", 7)
	w.lead(w.options())
	if got := w.fetch("g"); got["t-0"] != "7 " {
		t.Fatalf("offsets %v", got)
	}
	if e := w.events[len(w.events)-1]; e.What != Replayed || e.Skipped != 3 || e.Offsets != 1 || e.Groups != 1 {
		t.Fatalf("event %+v", e)
	}
}

func TestHostReplayOfTransactions(t *testing.T) {
	w := newWorld(t)
	w.lead(w.options())
	for _, o := range []int64{10, 20, 30} { // three groups' records to be put into transactions
		w.commit(fmt.Sprintf("g%d", o), "t", o)
	}
	var plain [][]byte
	for b := w.log; len(b) > 0; {
		size, _, _ := batch.EntrySize(b)
		plain, b = append(plain, b[:size]), b[size:]
	}
	w.log, w.end = nil, 0
	add := func(b []byte, n int64) {
		batch.PatchAppend(b, w.end, 0)
		w.log, w.end = append(w.log, b...), w.end+n
	}
	for i, b := range plain {
		bd := batch.NewBuilder(batch.None)
		bd.Transactional, bd.ProducerID, bd.ProducerEpoch, bd.BaseSequence = true, int64(100+i), 0, 0
		if err := batch.Iterate(b, func(r batch.Record) bool { bd.Add(1, r.Key, r.Value); return true }); err != nil {
			t.Fatal(err)
		}
		add(bd.Bytes(), 1)
	}
	add(batch.BuildMarker(100, 0, 1, 0, 1), 1) // committed; 101 is aborted, 102 stays open
	add(batch.BuildMarker(101, 0, 0, 0, 1), 1)
	w.lead(w.options())
	if got := w.fetch("g10"); got["t-0"] != "10 " {
		t.Errorf("a committed transaction's offset: %v", got)
	}
	for _, g := range []string{"g20", "g30"} {
		if got := w.fetch(g); len(got) != 0 {
			t.Errorf("%s: an offset of a transaction that is not committed: %v", g, got)
		}
	}
}

func TestHostSplitsTombstonesOnly(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.BatchBytes = 500
	w.lead(o)
	in := &group.Commit{To: w.call(), Group: "g", Generation: -1, RetentionMs: -1}
	for i := range int32(100) {
		in.Offsets = append(in.Offsets, group.CommitOffset{TopicPartition: group.TopicPartition{Topic: "t", Partition: i}, LeaderEpoch: -1, TimestampMs: -1})
	}
	w.host.Do(in)
	if w.batches != 1 {
		t.Fatalf("a commit became %d batches", w.batches)
	}
	c := w.call()
	w.manual = true
	w.host.Do(&group.Delete{To: c, Group: "g"})
	if w.batches < 5 {
		t.Fatalf("100 tombstones in %d batches of 500 bytes", w.batches-1)
	}
	for i, end := range w.waiting {
		if c.answer != nil {
			t.Fatalf("answered after %d of %d batches", i, len(w.waiting))
		}
		end()
	}
	if c.answer.(*group.Deleted).Err != nil {
		t.Fatal(c.answer)
	}
}

func TestHostTimerServesDeadlines(t *testing.T) {
	w := newWorld(t)
	w.lead(w.options())
	join := func(member string) *group.Joined {
		c := w.call()
		w.host.Do(&group.Join{To: c, Group: "g", MemberID: member, ClientID: "c", RebalanceMs: 1000, SessionMs: 10_000, ProtocolType: "x",
			Protocols: []group.Protocol{{Name: "p"}}})
		return c.answer.(*group.Joined)
	}
	j := join("")
	c := w.call()
	w.host.Do(&group.Sync{To: c, Group: "g", MemberID: j.MemberID, Generation: 1})
	w.advance(9_000)
	arms := w.arms
	for range 100 { // heartbeats do not move the timer
		w.host.Do(&group.Heartbeat{To: w.call(), Group: "g", MemberID: j.MemberID, Generation: 1})
	}
	if w.arms != arms {
		t.Errorf("100 heartbeats armed the timer %d times", w.arms-arms)
	}
	state := func() string {
		c := w.call()
		w.host.Do(&group.Describe{To: c, Group: "g"})
		return c.answer.(*group.Described).State
	}
	if w.advance(9_999); state() != "Stable" {
		t.Fatalf("%s before the session's end", state())
	}
	if w.advance(1); state() != "Empty" {
		t.Fatalf("%s after it", state())
	}
}

func TestHostResignTellsWhoWaits(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.Groups.InitialDelayMs = 3000
	w.lead(o)
	c := w.call()
	w.host.Do(&group.Join{To: c, Group: "g", ClientID: "c", SessionMs: 10_000, ProtocolType: "x", Protocols: []group.Protocol{{Name: "p"}}})
	w.host.Resign()
	if err := c.answer.(*group.Joined).Err; !errors.Is(err, group.ErrNotCoordinator) {
		t.Fatal(err)
	}
	if w.armed >= 0 {
		t.Fatal("a timer is left")
	}
	if c := w.commit("g", "t", 1); !errors.Is(c.answer.(*group.Committed).Offsets[0].Err, group.ErrNotCoordinator) {
		t.Fatal(c.answer)
	}

	w.log, w.end = nil, 0
	w.lead(w.options())
	w.commit("g", "t", 1)
	h := New(w, w.options())
	h.Lead()
	h.Resign() // in the middle of the replay
	w.turns()
	if h.Groups() != 0 {
		t.Fatal("a host that resigned went on loading")
	}
}

// TestHostReplaysRealKafka reads partitions written by real Kafkas. The offsets are what those Kafkas answered, but for
// the group of 0.10.2.2, of which no answer was recorded: there they are what its log says.
func TestHostReplaysRealKafka(t *testing.T) {
	simple := map[string]string{"plain-none-0": "42 kept by hand", "rolled-0": "50 "}
	member := func(id string, none int) map[string]string {
		return map[string]string{"plain-gzip-0": "60 " + id, "plain-none-0": fmt.Sprintf("%d %s", none, id)}
	}
	cases := map[string]struct {
		group string
		want  map[string]string
	}{
		"kafka-0.9.0.1-partition-1":  {"golden-simple", simple},
		"kafka-0.10.2.2-partition-1": {"golden-simple", simple},
		"kafka-2.2.2-partition-1":    {"golden-simple", simple},
		"kafka-3.9.1-partition-1":    {"golden-simple", simple},
		"kafka-4.2.0-partition-1":    {"golden-simple", simple},
		"kafka-0.10.2.2-partition-4": {"golden-group", member("kgo-f2aebfdb-128d-4235-a200-f8f22e051ed5", 30)},
		"kafka-2.2.2-partition-4":    {"golden-group", member("kgo-9e5e40b4-e1b1-4d23-98b2-8346c7f693de", 60)},
		"kafka-3.9.1-partition-4":    {"golden-group", member("kgo-2d12cd45-d776-444a-8ebf-c93f87ac9a3c", 60)},
		"kafka-4.2.0-partition-4":    {"golden-group", member("kgo-0afefc7c-ef26-4440-9c42-04fafdbc6f32", 60)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var err error
			if w.log, err = os.ReadFile(filepath.Join("testdata/golden", name+".log")); err != nil {
				t.Fatal(err)
			}
			w.end = endOf(t, w.log)
			w.lead(w.options())
			if e := w.events[len(w.events)-1]; e.What != Replayed || e.Skipped != 0 {
				t.Fatalf("event %+v", e)
			}
			if d := cmp.Diff(c.want, w.fetch(c.group)); d != "" {
				t.Error(d)
			}
			ask := w.call()
			w.host.Do(&group.Describe{To: ask, Group: c.group})
			d := ask.answer.(*group.Described)
			if managed := d.ProtocolType == "consumer"; d.State != "Empty" || managed != (c.group == "golden-group") {
				t.Errorf("group %+v", d)
			}
			if p := PartitionFor(c.group, 5); !strings.HasSuffix(name, fmt.Sprintf("-%d", p)) {
				t.Errorf("the group belongs to partition %d", p)
			}
		})
	}
}

func endOf(t *testing.T, b []byte) (end int64) {
	for len(b) > 0 {
		e, err := batch.ParseEntry(b)
		if err != nil {
			t.Fatal(err)
		}
		end, b = e.Last+1, b[e.Size:]
	}
	return end
}
