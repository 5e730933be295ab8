package interop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// seed is the broker under test.
func seed(t *testing.T) string {
	t.Helper()
	s := os.Getenv("PELTON_BOOTSTRAP")
	if s == "" {
		t.Skip("PELTON_BOOTSTRAP names no broker; make interop starts one")
	}
	return s
}

func clients(t *testing.T) []Client {
	s := seed(t)
	return []Client{Franz{s}, Sarama{s}, Segmentio{s}, Confluent{s}}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

const partitions = 3

// newTopic makes a topic of its own for a test.
func newTopic(t *testing.T, name string) string { return makeTopic(t, name, partitions) }

func makeTopic(t *testing.T, name string, partitions int32) string {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(seed(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	name = fmt.Sprintf("%s-%d", name, time.Now().UnixNano())
	r, err := kadm.NewClient(cl).CreateTopic(within(t), partitions, 1, nil, name)
	if err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	return name
}

// same compares what was read with what was written, partition by partition, offsets included.
func same(t *testing.T, got, want []Record) {
	t.Helper()
	for p := range int32(partitions) {
		g, w := ofPartition(got, p), ofPartition(want, p)
		if len(g) != len(w) {
			t.Fatalf("partition %d: %d records, want %d", p, len(g), len(w))
		}
		for i := range g {
			if g[i].Offset != int64(i) {
				t.Fatalf("partition %d: record %d has offset %d", p, i, g[i].Offset)
			}
			if !bytes.Equal(g[i].Key, w[i].Key) || !bytes.Equal(g[i].Value, w[i].Value) || g[i].Time.UnixMilli() != w[i].Time.UnixMilli() {
				t.Fatalf("partition %d offset %d: key %.40q value %.40q time %v, want %.40q %.40q %v", p, i, g[i].Key, g[i].Value, g[i].Time,
					w[i].Key, w[i].Value, w[i].Time)
			}
			if !slices.EqualFunc(g[i].Headers, w[i].Headers, func(a, b Header) bool { return a.Key == b.Key && bytes.Equal(a.Value, b.Value) }) {
				t.Fatalf("partition %d offset %d: headers %v, want %v", p, i, g[i].Headers, w[i].Headers)
			}
		}
	}
}

func ofPartition(rs []Record, p int32) (out []Record) {
	for _, r := range rs {
		if r.Partition == p {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Record) int { return int(a.Offset - b.Offset) })
	return out
}

// Every client writes with every codec, and every client reads it back.
func TestClientsReadWhatClientsWrite(t *testing.T) {
	for _, writer := range clients(t) {
		for _, codec := range Codecs() {
			t.Run(writer.Name()+"/"+codec, func(t *testing.T) {
				topic := newTopic(t, "codec")
				want := Sample(200, partitions)
				offsets, err := writer.Produce(within(t), topic, want, ProduceOptions{Codec: codec})
				if err != nil {
					t.Fatal(err)
				}
				for i, o := range offsets {
					if o != int64(i/partitions) {
						t.Fatalf("record %d was told offset %d", i, o)
					}
				}
				for i := range want {
					want[i].Offset = int64(i / partitions)
				}
				for _, reader := range clients(t) {
					got, err := reader.Consume(within(t), topic, partitions, len(want))
					if err != nil {
						t.Fatalf("%s reads %d: %v", reader.Name(), len(got), err)
					}
					same(t, got, want)
				}
			})
		}
	}
}

func TestClientsIdempotentProducer(t *testing.T) {
	for _, c := range clients(t) {
		if c.Name() == (Segmentio{}).Name() {
			continue // has no idempotent producer
		}
		t.Run(c.Name(), func(t *testing.T) {
			topic := newTopic(t, "idempotent")
			want := Sample(300, partitions)
			for i := range want {
				want[i].Offset = int64(i / partitions)
			}
			if _, err := c.Produce(within(t), topic, want, ProduceOptions{Codec: "none", Idempotent: true}); err != nil {
				t.Fatal(err)
			}
			got, err := c.Consume(within(t), topic, partitions, len(want))
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want)
		})
	}
}

// A group reads everything and commits; the same group finds nothing left, and the committed offsets are the ends.
func TestClientsGroups(t *testing.T) {
	for _, c := range clients(t) {
		t.Run(c.Name(), func(t *testing.T) {
			topic := newTopic(t, "group")
			want := Sample(150, partitions)
			for i := range want {
				want[i].Offset = int64(i / partitions)
			}
			if _, err := (Franz{seed(t)}).Produce(within(t), topic, want, ProduceOptions{Codec: "none"}); err != nil {
				t.Fatal(err)
			}
			group := "interop-" + topic
			got, err := c.Group(within(t), group, topic, len(want))
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want)
			cl, err := kgo.NewClient(kgo.SeedBrokers(seed(t)))
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			committed, err := kadm.NewClient(cl).FetchOffsets(within(t), group)
			if err != nil {
				t.Fatal(err)
			}
			for p := range int32(partitions) {
				o, ok := committed.Lookup(topic, p)
				if !ok || o.At != 50 {
					t.Fatalf("partition %d is committed at %d (%v)", p, o.At, ok)
				}
			}
		})
	}
}

// Two members of different libraries share one group; when one leaves, the other gets everything.
func TestClientsRebalanceAcrossLibraries(t *testing.T) {
	s := seed(t)
	topic := newTopic(t, "rebalance")
	group := "interop-" + topic
	open := func() *kgo.Client {
		cl, err := kgo.NewClient(kgo.SeedBrokers(s), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.Balancers(kgo.RangeBalancer()),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.BlockRebalanceOnPoll())
		if err != nil {
			t.Fatal(err)
		}
		return cl
	}
	first, second := open(), open()
	defer first.CloseAllowingRebalance()
	written := 0
	write := func() {
		rs := Sample(60, partitions)
		if _, err := (Franz{s}).Produce(within(t), topic, rs, ProduceOptions{Codec: "none"}); err != nil {
			t.Fatal(err)
		}
		written += len(rs)
	}
	seen := map[string]int{}
	poll := func(cl *kgo.Client) int {
		ctx, cancel := context.WithTimeout(within(t), 500*time.Millisecond)
		defer cancel()
		n := 0
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { seen[fmt.Sprintf("%d/%d", r.Partition, r.Offset)]++; n++ })
		cl.AllowRebalance()
		return n
	}
	write()
	a, b := 0, 0
	for deadline := time.Now().Add(60 * time.Second); (a == 0 || b == 0) && time.Now().Before(deadline); {
		write()
		a += poll(first)
		b += poll(second)
	}
	if a == 0 || b == 0 {
		t.Fatalf("the two members read %d and %d records: the group was not shared", a, b)
	}
	second.CloseAllowingRebalance()
	for deadline := time.Now().Add(60 * time.Second); len(seen) < written && time.Now().Before(deadline); {
		poll(first)
	}
	if len(seen) != written {
		t.Fatalf("%d of %d records were seen after a member left", len(seen), written)
	}
}

// newTopic1 makes a topic of one partition, for tools that choose partitions themselves.
func newTopic1(t *testing.T, name string) string { return makeTopic(t, name, 1) }
