package broker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// deleteRecords moves the log start of partition 0.
func deleteRecords(c *conn, name string, offset int64) kmsg.DeleteRecordsResponseTopicPartition {
	c.t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 10_000
	req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: name, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: offset}}}}
	return ask[*kmsg.DeleteRecordsResponse](c, 1, req).Topics[0].Partitions[0]
}

// DeleteRecords moves the log start; what lies below is out of range, also after a restart.
func TestDeleteRecords(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	for i := range 10 {
		mustProduce(c, name, values(fmt.Sprint(i)))
	}
	got := deleteRecords(c, name, 4)
	want(t, "error", got.ErrorCode, 0)
	want(t, "low watermark", got.LowWatermark, 4)
	wantOffset(t, "earliest", listOffset(c, listVersion, name, 0, -2), 4, -1)
	want(t, "fetching below", fetch(c, name, 3).ErrorCode, 1)
	want(t, "records", len(readAll(c, name, 0, 4)), 6)
	want(t, "log start told by a fetch", fetch(c, name, 10).LogStartOffset, 4)
	want(t, "going back", deleteRecords(c, name, 2).LowWatermark, 4)
	want(t, "beyond the end", deleteRecords(c, name, 11).ErrorCode, 1)
	want(t, "to the end", deleteRecords(c, name, -1).LowWatermark, 10)
	wantOffset(t, "earliest", listOffset(c, listVersion, name, 0, -2), 10, -1)
	want(t, "the next record", mustProduce(c, name, values("v")), 10)
	want(t, "unknown topic", deleteRecords(c, name+"-none", 0).ErrorCode, 3)
	compacted := name + "-compacted"
	makeTopic(t, c, compacted, 1, "cleanup.policy=compact")
	want(t, "compacted", deleteRecords(c, compacted, -1).ErrorCode, 44)
}

// Retention by size cuts the log back, whole segments from the old end.
func TestRetentionBySize(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1, "segment.bytes=4096", "retention.bytes=8192", "file.delete.delay.ms=1")
	const batches = 40
	for range batches {
		mustProduce(c, name, values(strings.Repeat("x", 1000)))
	}
	eventually(t, "old segments go", func() bool { return listOffset(c, listVersion, name, 0, -2).Offset >= batches-14 })
	start := listOffset(c, listVersion, name, 0, -2).Offset
	if start > batches-6 {
		t.Errorf("the log starts at %d of %d: more was removed than was too much", start, batches)
	}
	want(t, "below the start", fetch(c, name, 0).ErrorCode, 1)
	want(t, "records", len(readAll(c, name, 0, start)), int(batches-start))
}

// C-17: with retention at work the earliest offset can be fetched when it is told, or is out of range; other partitions are not disturbed.
func TestRetentionByTime(t *testing.T) {
	n := shared(t)
	c := n.dial(t)
	name := topic(t, c, 1, "segment.bytes=1000", "retention.ms=1", "file.delete.delay.ms=1")
	steady := name + "-steady"
	makeTopic(t, c, steady, 1)
	mustProduce(c, steady, values("v"))
	for i := int64(0); i < 200; i++ {
		mustProduce(c, name, values(strings.Repeat("x", 300)))
		start := listOffset(c, listVersion, name, 0, -2).Offset
		req := fetchRequest(name, 0, start)
		req.Topics = append(req.Topics, fetchRequest(steady, 0, 0).Topics[0])
		got := ask[*kmsg.FetchResponse](c, fetchVersion, req).Topics
		switch p := got[0].Partitions[0]; {
		case p.ErrorCode == 1:
		case p.ErrorCode != 0:
			t.Fatalf("earliest %d: error %d", start, p.ErrorCode)
		case start <= i && len(p.RecordBatches) == 0:
			t.Fatalf("earliest %d of %d: no records", start, i)
		}
		want(t, "records of the other topic", len(unpack(t, got[1].Partitions[0].RecordBatches, 0)), 1)
	}
	eventually(t, "everything goes", func() bool {
		return listOffset(c, listVersion, name, 0, -2).Offset == 200
	})
	p := fetch(c, name, 0)
	want(t, "from the beginning", p.ErrorCode, 1)
	want(t, "where the log starts is told beside it", p.LogStartOffset, 200)
	want(t, "the next record", mustProduce(c, name, values("v")), 200)
}

// C-5: a segment stays while its largest timestamp is within retention, however old its first record is.
func TestRetentionLooksAtTheLargestTime(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1, "segment.bytes=1000", "retention.ms=86400000", "file.delete.delay.ms=1")
	gone := name + "-gone"
	makeTopic(t, c, gone, 1, "segment.bytes=1000", "retention.ms=86400000", "file.delete.delay.ms=1")
	const day = 86_400_000
	filler := func(ts int64) []byte {
		return builder(batch.None, record{ts: ts, value: strings.Repeat("x", 900)}).Bytes()
	}
	mustProduce(c, name, timed(batch.None, baseTime-60*day, baseTime))
	mustProduce(c, name, filler(baseTime)) // in a segment of its own: the first is closed
	mustProduce(c, gone, timed(batch.None, baseTime-60*day))
	mustProduce(c, gone, filler(baseTime))
	eventually(t, "the segment with old records only goes", func() bool { return listOffset(c, listVersion, gone, 0, -2).Offset == 1 })
	wantOffset(t, "the one with a new record too stays", listOffset(c, listVersion, name, 0, -2), 0, -1)
}
