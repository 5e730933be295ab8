package broker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// C-72: at markers an old consumer gets an empty set and the high watermark, and waits; records behind them come with their own offsets.
func TestOldFetchAtMarkers(t *testing.T) {
	n := own(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	mustProduce(c, name, values("a", "b"))
	var markers [][]byte
	for range 3 {
		markers = append(markers, batch.BuildMarker(7, 0, 1, 0, baseTime))
	}
	c = planted(t, n, name, 2, markers...)
	for version := int16(0); version <= 3; version++ {
		for from := int64(2); from <= 4; from++ {
			p := oldFetch(c, version, name, from)
			want(t, "error", p.ErrorCode, 0)
			want(t, fmt.Sprintf("v%d from %d", version, from), len(p.RecordBatches), 0)
			want(t, "high watermark", p.HighWatermark, 5)
		}
		want(t, "from the start", len(unpack(t, oldFetch(c, version, name, 0).RecordBatches, 0)), 2)
	}
	// One that waits at the markers gets what is written behind them, and not before.
	waiter := n.dial(t)
	req := fetchRequest(name, 0, 2)
	req.MaxWaitMillis = int32(answerWithin.Milliseconds())
	waiter.send(2, req)
	other := n.dial(t)
	want(t, "offset", mustProduce(other, name, values("c")), 5)
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(2)
	_, body := waiter.frame()
	if err := resp.ReadFrom(body); err != nil {
		t.Fatal(err)
	}
	want(t, "behind the markers", told(t, resp.Topics[0].Partitions[0].RecordBatches, 0), "1/none/5/0/c")
	newest := ask[*kmsg.FetchResponse](c, 4, fetchRequest(name, 0, 2)).Topics[0].Partitions[0]
	want(t, "what a new consumer gets", strings.Count(told(t, newest.RecordBatches, 0), "2/none"), 4)
}

// Versions 0 to 2 take the bound of a partition at its word: what does not fit is cut off, which tells the consumer that it asks for too little.
func TestOldFetchCutsOff(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	mustProduce(c, name, values(strings.Repeat("x", 1000), strings.Repeat("y", 1000)))
	for version := int16(0); version <= 3; version++ {
		for _, most := range []int32{10, 1500, 1 << 20} {
			req := fetchRequest(name, 0, 0)
			req.Topics[0].Partitions[0].PartitionMaxBytes = most
			p := ask[*kmsg.FetchResponse](c, version, req).Topics[0].Partitions[0]
			whole := len(unpack(t, p.RecordBatches, 0))
			switch {
			case version == 3 || most == 1<<20:
				want(t, fmt.Sprintf("v%d, %d bytes: records", version, most), whole, 2)
			default:
				want(t, fmt.Sprintf("v%d, %d bytes: bytes", version, most), len(p.RecordBatches), int(most))
				want(t, "records", whole, int(most/1000))
			}
		}
	}
}

// A large log is converted piece by piece: each answer is bounded, and together they are everything. Memory for it is given back.
func TestOldFetchInPieces(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	value := strings.Repeat("v", 10_000)
	const batches, each = 120, 8
	for range batches {
		var all []string
		for range each {
			all = append(all, value)
		}
		mustProduce(c, name, values(all...))
	}
	for version := int16(0); version <= 3; version++ {
		from, answers := int64(0), 0
		for from < batches*each {
			req := fetchRequest(name, 0, from)
			req.Topics[0].Partitions[0].PartitionMaxBytes = 50 << 20
			p := ask[*kmsg.FetchResponse](c, version, req).Topics[0].Partitions[0]
			got := unpack(t, p.RecordBatches, from)
			if p.ErrorCode != 0 || len(got) == 0 || len(p.RecordBatches) > 5<<20 {
				t.Fatalf("v%d from %d: error %d, %d records in %d bytes", version, from, p.ErrorCode, len(got), len(p.RecordBatches))
			}
			for _, r := range got {
				if r.offset != from || r.value != value {
					t.Fatalf("v%d: offset %d where %d is due", version, r.offset, from)
				}
				from++
			}
			answers++
		}
		if answers < 2 {
			t.Errorf("v%d: everything in %d answers", version, answers)
		}
	}
}

// A consumer that goes away while its records are converted, or before it has read them, costs nobody anything.
func TestOldFetchGoesAway(t *testing.T) {
	n := shared(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	for range 40 {
		mustProduce(c, name, values(strings.Repeat("v", 100_000)))
	}
	for range 50 {
		gone := n.dial(t)
		for range 3 {
			gone.send(2, fetchRequest(name, 0, 0))
		}
		gone.close()
	}
	want(t, "records", len(unpack(t, oldFetch(c, 2, name, 0).RecordBatches, 0)), 10)
}

// A topic that keeps an old format gets and gives it, whoever writes; the rules are Kafka 3.9's.
func TestTopicsOfOldFormats(t *testing.T) {
	n := own(t, "inter.broker.protocol.version=2.8")
	c := n.dial(t)
	for format, magic := range map[string]int8{"0.9.0": 0, "0.10.2": 1, "0.11.0": 2} {
		name := unique(t) + "-" + format
		makeTopic(t, c, name, 1, "message.format.version="+format)
		for codec := batch.None; codec <= batch.LZ4; codec++ {
			want(t, "old", oldProduce(c, 2, name, oldSet(t, 1, codec, "a", "b")).BaseOffset, 6*int64(codec))
			want(t, "oldest", oldProduce(c, 0, name, oldSet(t, 0, codec, "c", "d")).BaseOffset, 6*int64(codec)+2)
			want(t, "new", mustProduce(c, name, builder(codec, record{value: "e"}, record{value: "f"}).Bytes()), 6*int64(codec)+4)
		}
		for version := int16(0); version <= 11; version++ {
			kind := min(magic, []int8{0, 0, 1, 1, 2}[min(version, 4)])
			p := oldFetch(c, version, name, 0)
			var got []string
			if err := batch.Iterate(p.RecordBatches, func(r batch.Record) bool {
				got = append(got, fmt.Sprintf("%d/%d/%s/%s", r.Offset, r.Batch.Magic, r.Batch.Codec(), r.Value))
				return true
			}); err != nil {
				t.Fatalf("%s v%d: %v", format, version, err)
			}
			for i := range 24 {
				due := fmt.Sprintf("%d/%d/%s/%c", i, kind, batch.Codec(i/6), 'a'+i%6)
				if i >= len(got) || got[i] != due {
					t.Fatalf("%s v%d: record %d of %v, want %s", format, version, i, got, due)
				}
			}
		}
		last := builder(batch.None, record{value: "v"})
		last.ProducerID, last.ProducerEpoch, last.BaseSequence = 5, 0, 0
		due := int16(43)
		if magic == 2 {
			due = 0
		}
		want(t, format+": idempotence", produce(c, name, last.Bytes()).ErrorCode, due)
	}
	n.restart(t)
	c = n.dial(t)
	for format := range map[string]int8{"0.9.0": 0, "0.10.2": 1} {
		name := unique(t) + "-" + format
		eventually(t, "the partition is led", func() bool { return led(c, name) })
		want(t, format+": after a restart", len(readAll(c, name, 0, 0)), 24)
		want(t, format+": goes on at", mustProduce(c, name, values("more")), 24)
	}
}

// Wrappers of format 0 carry offsets that only the log knows. Many at once, beside plain sets, come out one behind the other.
func TestOldWrappersInARow(t *testing.T) {
	n := own(t, "inter.broker.protocol.version=2.8", "log.message.format.version=0.9.0")
	c := n.dial(t)
	name := topic(t, c, 1)
	const conns, each = 3, 20
	var all []*conn
	for i := range conns {
		w := n.dial(t)
		all = append(all, w)
		for j := range each {
			codec := batch.Codec((i + j) % 4)
			w.send(1, produceRequest(name, 0, 1, oldSet(t, 0, codec, fmt.Sprintf("%d-%d-a", i, j), fmt.Sprintf("%d-%d-b", i, j))))
		}
	}
	bases := map[int64]string{}
	for i, w := range all {
		for j := range each {
			resp := kmsg.NewPtrProduceResponse()
			resp.SetVersion(1)
			_, body := w.frame()
			if err := resp.ReadFrom(body); err != nil {
				t.Fatal(err)
			}
			p := resp.Topics[0].Partitions[0]
			want(t, "error", p.ErrorCode, 0)
			bases[p.BaseOffset], bases[p.BaseOffset+1] = fmt.Sprintf("%d-%d-a", i, j), fmt.Sprintf("%d-%d-b", i, j)
		}
	}
	got := unpack(t, oldFetch(c, 0, name, 0).RecordBatches, 0)
	want(t, "records", len(got), 2*conns*each)
	for i, r := range got {
		if r.offset != int64(i) || r.value != bases[r.offset] {
			t.Fatalf("record %d: offset %d %q, answered was %q", i, r.offset, r.value, bases[r.offset])
		}
	}
}
