package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/internal/tools/expected"
	"github.com/pelton-broker/pelton/internal/tools/golden"
)

// goldenBroker is a broker on the directory of a real Kafka, with that Kafka's own server.properties but for addresses.
type goldenBroker struct {
	*node
	dir  string
	want expected.View
	old  bool // formats without a log start of their own
}

func openGolden(t *testing.T, version, state string, settings ...string) *goldenBroker {
	t.Helper()
	if os.Getenv(realBroker) != "" {
		t.Skip(realBroker + " names a broker outside, whose settings and directories this test cannot choose")
	}
	from := filepath.Join("..", "..", "..", "logstore", "testdata", "golden", "kafka-"+version)
	g := &goldenBroker{dir: t.TempDir(), old: strings.HasPrefix(version, "0.8") || strings.HasPrefix(version, "0.9")}
	var err error
	if g.want, err = expected.Read(filepath.Join(from, "expected.json")); err != nil {
		t.Fatal(err)
	}
	golden.Unpack(t, filepath.Join(from, state+".tar.gz"), g.dir)
	text, err := os.ReadFile(filepath.Join(from, "server.properties"))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := config.ParseProperties([]byte(strings.ReplaceAll(string(text), "DIR", g.dir)))
	if err != nil {
		t.Fatal(err)
	}
	delete(keys, "zookeeper.connect")
	delete(keys, "advertised.listeners")
	for _, s := range append([]string{"listeners=PLAINTEXT://127.0.0.1:0", "pelton.zookeeper.listen=127.0.0.1:0", "num.shards=2",
		"pelton.log.adopt=true", "group.initial.rebalance.delay.ms=0"}, settings...) {
		key, value, _ := strings.Cut(s, "=")
		keys[key] = value
	}
	g.node = &node{keys: coordinate(keys)}
	if err := g.begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.end(); err != nil {
			t.Error("stopping:", err)
		}
	})
	return g
}

func (g *goldenBroker) client(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(g.addr)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// records consumes [start, end) of partition 0.
func (g *goldenBroker) records(t *testing.T, topic string, end int64, opts ...kgo.Opt) []expected.Record {
	t.Helper()
	c := g.client(t, append([]kgo.Opt{kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(10 * time.Millisecond)}, opts...)...)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	var out []expected.Record
	for len(out) == 0 || out[len(out)-1].Offset < end-1 {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%s: %v", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset < end {
				out = append(out, expected.Seen(r))
			}
		})
	}
	return out
}

// check compares what the broker answers with what its Kafka did; more records were written behind since.
func (g *goldenBroker) check(t *testing.T, more int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	admin := kadm.NewClient(g.client(t))
	starts, err := admin.ListStartOffsets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := admin.ListEndOffsets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stable, err := admin.ListCommittedOffsets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range g.want.Topics {
		start, _ := starts.Lookup(name, 0)
		end, _ := ends.Lookup(name, 0)
		lso, _ := stable.Lookup(name, 0)
		if start.Err != nil || end.Err != nil || lso.Err != nil {
			t.Errorf("%s: %v %v %v", name, start.Err, end.Err, lso.Err)
			continue
		}
		if !g.old && start.Offset != want.LogStartOffset || end.Offset != want.HighWatermark+more {
			t.Errorf("%s: [%d, %d), want [%d, %d)", name, start.Offset, end.Offset, want.LogStartOffset, want.HighWatermark+more)
			continue
		}
		if want.LastStableOffset != nil {
			wanted := *want.LastStableOffset
			if wanted == want.HighWatermark {
				wanted += more
			}
			if lso.Offset != wanted {
				t.Errorf("%s: last stable offset %d, want %d", name, lso.Offset, wanted)
			}
			committed := []int64{}
			if n := len(want.ReadCommitted); n > 0 {
				for _, r := range g.records(t, name, want.ReadCommitted[n-1]+1, kgo.FetchIsolationLevel(kgo.ReadCommitted())) {
					if !r.Control {
						committed = append(committed, r.Offset)
					}
				}
			}
			if fmt.Sprint(committed) != fmt.Sprint(want.ReadCommitted) {
				t.Errorf("%s: read committed sees %v, want %v", name, committed, want.ReadCommitted)
			}
		}
		g.compare(t, name, want.Records, g.records(t, name, want.Records[len(want.Records)-1].Offset+1))
	}
	g.checkGroups(t, admin)
}

func (g *goldenBroker) compare(t *testing.T, topic string, want, got []expected.Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d records, want %d", topic, len(got), len(want))
		return
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			a, _ := json.Marshal(got[i])
			b, _ := json.Marshal(want[i])
			t.Errorf("%s:\n got %s\nwant %s", topic, a, b)
			return
		}
	}
}

func (g *goldenBroker) checkGroups(t *testing.T, admin *kadm.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	for group, want := range g.want.Groups {
		offsets, err := admin.FetchOffsets(ctx, group)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][2]any{}
		offsets.Each(func(o kadm.OffsetResponse) {
			if o.At >= 0 {
				got[fmt.Sprintf("%s-%d", o.Topic, o.Partition)] = [2]any{float64(o.At), o.Metadata}
			}
		})
		if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("group %s: %v, want %v", group, got, want)
		}
	}
}

// produce writes n records behind what is there, without ids, since formats 0 and 1 know none.
func (g *goldenBroker) produce(t *testing.T, n int) {
	t.Helper()
	c := g.client(t, kgo.DisableIdempotentWrite(), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	for topic := range g.want.Topics {
		for i := range n {
			if err := c.ProduceSync(ctx, &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "more-%d", i), Value: []byte("by Pelton")}).FirstErr(); err != nil {
				t.Fatalf("%s: %v", topic, err)
			}
		}
	}
}

// Every directory that a real Kafka left, opened with that Kafka's server.properties, answers as it did; then it takes records, stops, and is
// opened again.
func TestAdoptedDirectoriesAnswerAsTheirKafkaDid(t *testing.T) {
	for _, version := range []string{"0.8.2.2", "0.9.0.1", "0.10.2.2", "2.2.2", "3.9.1", "4.2.0"} {
		for _, state := range []string{"clean", "crashed"} {
			t.Run(version+"/"+state, func(t *testing.T) {
				g := openGolden(t, version, state)
				g.check(t, 0)
				g.produce(t, 3)
				g.restart(t)
				g.check(t, 3)
			})
		}
	}
}
