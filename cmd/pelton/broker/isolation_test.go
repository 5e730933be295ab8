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
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID, req.IsolationLevel = -1, 1
		req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: name, Partitions: []kmsg.ListOffsetsRequestTopicPartition{{Timestamp: -1, CurrentLeaderEpoch: -1}}}}
		want(t, "the end for read_committed", ask[*kmsg.ListOffsetsResponse](c, version, req).Topics[0].Partitions[0].Offset, 6)
		want(t, "the end", listOffset(c, version, name, 0, -1).Offset, 8)
	}
}
