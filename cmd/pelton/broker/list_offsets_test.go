package broker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore/batch"
)

func wantOffset(t *testing.T, what string, p kmsg.ListOffsetsResponseTopicPartition, offset, ts int64) {
	t.Helper()
	if p.ErrorCode != 0 || p.Offset != offset || p.Timestamp != ts {
		t.Errorf("%s: error %d offset %d timestamp %d, want error 0 offset %d timestamp %d", what, p.ErrorCode, p.Offset, p.Timestamp, offset, ts)
	}
}

// C-1: the newest timestamp, and special values in versions that do not know them.
func TestListOffsetsSpecial(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 2)
	mustProduce(c, name, timed(batch.None, 5, 9, 7))
	wantOffset(t, "newest timestamp", listOffset(c, 7, name, 0, -3), 1, 9)
	wantOffset(t, "newest timestamp of an empty partition", listOffset(c, 7, name, 1, -3), -1, -1)
	if p := listOffset(c, 6, name, 0, -3); p.Offset != -1 || p.Timestamp != -1 {
		t.Errorf("-3 in version 6: offset %d timestamp %d", p.Offset, p.Timestamp)
	}
	wantOffset(t, "earliest", listOffset(c, 7, name, 0, -2), 0, -1)
	wantOffset(t, "latest", listOffset(c, 7, name, 0, -1), 3, -1)
	wantOffset(t, "earliest local", listOffset(c, 8, name, 0, -4), 0, -1)
	wantOffset(t, "latest tiered", listOffset(c, 9, name, 0, -5), -1, -1)
}

// C-2: a time after the last record is no offset and no time, in every version.
func TestListOffsetsAfterTheEnd(t *testing.T) {
	n := shared(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	mustProduce(c, name, timed(batch.None, 10, 20, 30))
	_, highest := served(c, 2)
	for v := int16(1); v <= highest; v++ {
		wantOffset(t, fmt.Sprintf("v%d", v), listOffset(c, v, name, 0, 31), -1, -1)
		wantOffset(t, fmt.Sprintf("v%d", v), listOffset(c, v, name, 0, 30), 2, 30)
	}
}

// C-4: the first record in log order at or after the time, found inside a batch, compressed or not.
func TestListOffsetsInsideABatch(t *testing.T) {
	c := shared(t).dial(t)
	for _, codec := range []batch.Codec{batch.None, batch.Gzip} {
		t.Run(fmt.Sprintf("codec-%d", codec), func(t *testing.T) {
			name := topic(t, c, 1)
			mustProduce(c, name, timed(codec, 2, 4, 6, 8))
			mustProduce(c, name, timed(batch.None, 3, 1))
			for _, due := range []struct{ ask, offset, ts int64 }{{3, 1, 4}, {5, 2, 6}, {7, 3, 8}, {8, 3, 8}, {9, -1, -1}, {0, 0, 2}} {
				wantOffset(t, fmt.Sprint(due.ask), listOffset(c, listVersion, name, 0, due.ask), due.offset, due.ts)
			}
		})
	}
}

// C-5: times that run backwards, far apart and beyond 32 bits in one segment.
func TestListOffsetsTimesOutOfOrder(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1, "retention.ms=-1", "index.interval.bytes=1")
	day := (24 * time.Hour).Milliseconds()
	now := time.Now().UnixMilli()
	for _, ts := range []int64{now, now - 60*day, now - 1000, now + 30*day} {
		mustProduce(c, name, timed(batch.None, ts))
	}
	for _, due := range []struct{ ask, offset, ts int64 }{
		{now - 61*day, 0, now}, {now - 59*day, 0, now}, {now, 0, now}, {now + day, 3, now + 30*day}, {now + 31*day, -1, -1},
	} {
		wantOffset(t, fmt.Sprint((due.ask-now)/day, " days"), listOffset(c, listVersion, name, 0, due.ask), due.offset, due.ts)
	}
	wantOffset(t, "newest", listOffset(c, listVersion, name, 0, -3), 3, now+30*day)
}

// C-5: timestamps at the ends of their range do not disturb the others.
func TestListOffsetsExtremeTimes(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1, "retention.ms=-1", "index.interval.bytes=1")
	for _, ts := range []int64{100, -1, 1 << 62, 200} {
		mustProduce(c, name, timed(batch.None, ts))
	}
	wantOffset(t, "50", listOffset(c, listVersion, name, 0, 50), 0, 100)
	wantOffset(t, "150", listOffset(c, listVersion, name, 0, 150), 2, 1<<62)
	wantOffset(t, "newest", listOffset(c, listVersion, name, 0, -3), 2, 1<<62)
	want(t, "records", len(readAll(c, name, 0, 0)), 4)
}

func TestListOffsetsErrors(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	want(t, "unknown topic", listOffset(c, listVersion, name+"-no", 0, -1).ErrorCode, 3)
	want(t, "unknown partition", listOffset(c, listVersion, name, 7, -1).ErrorCode, 3)
}
