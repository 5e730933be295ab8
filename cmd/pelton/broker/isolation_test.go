package broker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// planted restarts a broker with batches behind a topic's log, as another broker's crash would leave them.
func planted(t *testing.T, n *node, name string, from int64, batches ...[]byte) *conn {
	t.Helper()
	if err := n.end(); err != nil {
		t.Fatal(err)
	}
	dir := n.keys["log.dirs"]
	f, err := os.OpenFile(filepath.Join(dir, name+"-0", fmt.Sprintf("%020d.log", 0)), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, b := range batches {
		h, err := batch.ParseHeader(b)
		if err != nil {
			t.Fatal(err)
		}
		batch.PatchAppend(b, from, 0)
		from += int64(h.LastOffsetDelta) + 1
		if _, err := f.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, ".kafka_cleanshutdown")); err != nil {
		t.Fatal(err)
	}
	if err := n.begin(); err != nil {
		t.Fatal(err)
	}
	c := n.dial(t)
	eventually(t, "the partition is led", func() bool { return led(c, name) })
	return c
}

// inTransaction is a batch of a producer's transaction.
func inTransaction(id int64, sequence int32, values ...string) []byte {
	b := batch.NewBuilder(batch.None)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.Transactional = id, 0, sequence, true
	for i, v := range values {
		b.Add(baseTime+1000+int64(i), []byte("k"), []byte(v))
	}
	return b.Bytes()
}

func isolated(c *conn, version int16, level int8, name string, offset int64) kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	req := fetchRequest(name, 0, offset)
	req.IsolationLevel = level
	return ask[*kmsg.FetchResponse](c, version, req).Topics[0].Partitions[0]
}

// C-22, C-23: what the two isolation levels tell about an aborted and an open transaction, in every version that has them; a consumer of the
// old formats sees all records and no marker.
func TestIsolationLevels(t *testing.T) {
	n := own(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	mustProduce(c, name, values("a", "b"))
	c = planted(t, n, name, 2, inTransaction(7, 0, "aborted-1", "aborted-2"), values("c"), batch.BuildMarker(7, 0, 0, 0, baseTime+1), inTransaction(8, 0, "open"), values("d"))
	for version := int16(4); version <= 11; version++ {
		for _, from := range []int64{0, 3, 4} {
			p := isolated(c, version, 0, name, from)
			what := fmt.Sprintf("v%d from %d", version, from)
			want(t, what+": read_uncommitted has a list of aborted transactions", p.AbortedTransactions != nil, false)
			want(t, what+": high watermark and last stable offset", fmt.Sprint(p.HighWatermark, p.LastStableOffset), "8 6")
			q := isolated(c, version, 1, name, from)
			want(t, what+": last stable offset", q.LastStableOffset, 6)
			if from < 4 { // behind the transaction's records only its marker is left, and a list may name it or not
				want(t, what+": aborted transactions", len(q.AbortedTransactions), 1)
			}
			for _, a := range q.AbortedTransactions {
				want(t, what+": the aborted transaction", fmt.Sprint(a.ProducerID, a.FirstOffset), "7 2")
			}
			last := int64(-1)
			for _, r := range unpack(t, q.RecordBatches, from) {
				last = r.offset
			}
			want(t, what+": the last record that read_committed may see", last, 5)
		}
	}
	for version := int16(0); version <= 3; version++ {
		var got string
		for _, r := range unpack(t, oldFetch(c, version, name, 0).RecordBatches, 0) {
			got += fmt.Sprintf(" %d=%s", r.offset, r.value)
		}
		want(t, fmt.Sprintf("Fetch v%d", version), got, " 0=a 1=b 2=aborted-1 3=aborted-2 4=c 6=open 7=d")
	}
	for version := int16(2); version <= 7; version++ {
		want(t, "the end for read_committed", committedOffset(c, version, name, -1).Offset, 6)
		want(t, "the end", listOffset(c, version, name, 0, -1).Offset, 8)
	}
}

// committedOffset is what ListOffsets answers to a read_committed consumer.
func committedOffset(c *conn, version int16, name string, timestamp int64) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, 1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: name, Partitions: []kmsg.ListOffsetsRequestTopicPartition{{Timestamp: timestamp, CurrentLeaderEpoch: -1}}}}
	return ask[*kmsg.ListOffsetsResponse](c, version, req).Topics[0].Partitions[0]
}

// readCommittedValues is what a read_committed consumer makes of a fetch from the beginning.
func readCommittedValues(t *testing.T, c *conn, name string) (out []string) {
	t.Helper()
	p := isolated(c, 11, 1, name, 0)
	gone := map[int64]int64{}
	for _, a := range p.AbortedTransactions {
		gone[a.ProducerID] = a.FirstOffset
	}
	if err := batch.Iterate(p.RecordBatches, func(r batch.Record) bool {
		first, aborted := gone[r.Batch.ProducerID]
		if !r.Batch.IsControl() && !(r.Batch.IsTransactional() && aborted && r.Offset >= first) {
			out = append(out, fmt.Sprintf("%d=%s", r.Offset, r.Value))
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// C-23: while a transaction is open, neither a fetch nor a lookup by time passes it; when its abort comes late, what plain producers wrote behind
// it appears, and its own records never do.
func TestAnAbortThatComesLate(t *testing.T) {
	n := own(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	mustProduce(c, name, values("a", "b", "c", "d", "e"))
	later := func(v string, ms int64) []byte {
		b := batch.NewBuilder(batch.None)
		b.Add(baseTime+ms, nil, []byte(v))
		return b.Bytes()
	}
	c = planted(t, n, name, 5, inTransaction(7, 0, "never"), later("x", 6000), later("y", 7000), later("z", 8000))
	for version := int16(2); version <= 7; version++ {
		want(t, "the end while it is open", committedOffset(c, version, name, -1).Offset, 5)
		for _, ms := range []int64{1000, 5500, 8000} {
			got := committedOffset(c, version, name, baseTime+ms)
			want(t, fmt.Sprintf("v%d: the record %d ms on", version, ms), fmt.Sprint(got.ErrorCode, got.Offset, got.Timestamp), "0 -1 -1")
		}
		want(t, "the same for read_uncommitted", listOffset(c, version, name, 0, baseTime+5500).Offset, 6)
	}
	want(t, "read while it is open", fmt.Sprint(readCommittedValues(t, c, name)), "[0=a 1=b 2=c 3=d 4=e]")
	c = planted(t, n, name, 9, batch.BuildMarker(7, 0, 0, 0, baseTime+9000))
	want(t, "the end", committedOffset(c, 7, name, -1).Offset, 10)
	want(t, "by time", committedOffset(c, 7, name, baseTime+5500).Offset, 6)
	want(t, "read afterwards", fmt.Sprint(readCommittedValues(t, c, name)), "[0=a 1=b 2=c 3=d 4=e 6=x 7=y 8=z]")
}
