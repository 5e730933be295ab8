package logstore

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/tools/expected"
	"github.com/pelton-broker/pelton/internal/tools/golden"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// goldenVersions are the versions of Kafka whose directories are kept here.
func goldenVersions() []string {
	return []string{"0.8.2.2", "0.9.0.1", "0.10.2.2", "2.2.2", "3.9.1", "4.2.0"}
}

func TestGoldenDirectories(t *testing.T) {
	for _, version := range goldenVersions() {
		for _, state := range []string{"clean", "crashed"} {
			t.Run(version+"/"+state, func(t *testing.T) { checkGolden(t, version, state) })
		}
	}
}

func checkGolden(t *testing.T, version, state string) {
	from := filepath.Join("testdata", "golden", "kafka-"+version)
	want, err := expected.Read(filepath.Join(from, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	w := goldenWorld(t, filepath.Join(from, state+".tar.gz"))
	old := version[0] == '0' && version[2] != '1' // 0.8 and 0.9 have no log start of their own
	for name, topic := range want.Topics {
		l := w.log(name)
		if (!old && l.Start() != topic.LogStartOffset) || l.HighWatermark() > l.End() || l.End() != topic.HighWatermark {
			t.Errorf("%s: [%d, %d, %d), want [%d, %d)", name, l.Start(), l.HighWatermark(), l.End(), topic.LogStartOffset, topic.HighWatermark)
		}
		l.SetHighWatermark(l.End())
		if topic.LastStableOffset != nil && l.LastStable() != *topic.LastStableOffset {
			t.Errorf("%s: last stable offset %d, want %d", name, l.LastStable(), *topic.LastStableOffset)
		}
		compareGolden(t, w, l, name, &topic)
		// Then the log goes on, and everything is still there after a crash and a stop.
		next := l.End()
		if a := w.produce(l, values(batch.None, 1_700_000_000_000, "more", 3)); a.Base != next {
			t.Errorf("%s: the next offset is %d, want %d", name, a.Base, next)
		}
	}
	for _, end := range []func(){w.crash, w.stop} {
		end()
		w.start()
		for name, topic := range want.Topics {
			l := w.log(name)
			if l.End() != topic.HighWatermark+3 {
				t.Errorf("%s: ends at %d", name, l.End())
			}
			compareGolden(t, w, l, name, &topic)
		}
	}
	w.stop()
}

func goldenWorld(t *testing.T, archive string) *world {
	t.Helper()
	dir := t.TempDir()
	golden.Unpack(t, archive, dir)
	f := &fakeDisk{cold: map[int]bool{}}
	w := &world{t: t, dirs: []string{filepath.Join(dir, "data")}, clk: clock.NewManual(1_800_000_000_000), disk: f, fake: f}
	w.opt = Options{SegmentBytes: 20000, IndexMaxBytes: 4096, IndexInterval: 300, RetentionMs: NoLimit}
	w.anyID = true
	w.start()
	return w
}

func compareGolden(t *testing.T, w *world, l *Log, name string, topic *expected.Topic) {
	t.Helper()
	var got []expected.Record
	err := batch.Iterate(w.read(l, l.Start(), 1<<20, l.End()), func(r batch.Record) bool {
		if r.Offset >= l.Start() && r.Offset < topic.HighWatermark {
			got = append(got, asGolden(r))
		}
		return true
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(got) != len(topic.Records) {
		t.Fatalf("%s: %d records, want %d", name, len(got), len(topic.Records))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], topic.Records[i]) {
			a, _ := json.Marshal(got[i])
			b, _ := json.Marshal(topic.Records[i])
			t.Fatalf("%s:\n got %s\nwant %s", name, a, b)
		}
	}
	if topic.ReadCommitted != nil {
		if committed := readCommitted(l, got); fmt.Sprint(committed) != fmt.Sprint(topic.ReadCommitted) {
			t.Errorf("%s: read committed sees %v\nwant %v", name, committed, topic.ReadCommitted)
		}
	}
}

func asGolden(r batch.Record) expected.Record {
	g := expected.Record{
		Offset: r.Offset, Timestamp: r.Timestamp, TimestampType: r.Batch.TimestampType(), Key: expected.Hex(r.Key), Value: expected.Hex(r.Value), Codec: uint8(r.Batch.Codec()),
		Transactional: r.Batch.IsTransactional(), Control: r.Batch.IsControl(), ProducerID: r.Batch.ProducerID, ProducerEpoch: r.Batch.ProducerEpoch,
	}
	if r.Batch.Magic == 0 {
		g.TimestampType = -1
	}
	for _, h := range r.DecodeHeaders() {
		g.Headers = append(g.Headers, [2]*string{&h.Key, expected.Hex(h.Value)})
	}
	return g
}

// readCommitted does what a consumer does with the list of aborted transactions.
func readCommitted(l *Log, records []expected.Record) []int64 {
	out := []int64{}
	aborted := l.AbortedIn(l.Start(), l.LastStable(), nil)
	for _, r := range records {
		hidden := r.Control || r.Offset >= l.LastStable()
		for _, x := range aborted {
			hidden = hidden || (r.Transactional && r.ProducerID == x.ProducerID && r.Offset >= x.FirstOffset && r.Offset < x.LastOffset)
		}
		if !hidden {
			out = append(out, r.Offset)
		}
	}
	return out
}
