package broker_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/cmd/pelton/broker"
	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/internal/disk"
)

// gateFS holds whoever opens a file of some partitions until it is opened.
type gateFS struct {
	disk.FS
	gates map[string]chan struct{} // by what a path contains
}

func (g *gateFS) OpenFile(path string, flag int, perm fs.FileMode) (*disk.File, error) {
	for part, gate := range g.gates {
		if strings.Contains(path, part) {
			<-gate
		}
	}
	return g.FS.OpenFile(path, flag, perm)
}

// said keeps what a broker logs.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.b.String(), text)
}

// count is how often it was said.
func (s *said) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.b.String(), text)
}

// beginHeld starts the broker of a process that was killed, here, with the recovery of some partitions held. Ready does not wait for them.
func (p *process) beginHeld(t *testing.T, held ...string) (map[string]chan struct{}, *said) {
	t.Helper()
	p.keys["pelton.log.recovery.wait.ms"], p.keys["admin.listener"] = "0", "127.0.0.1:0"
	c, _, err := config.Load(nil, maps.Clone(p.keys), nil)
	if err != nil {
		t.Fatal(err)
	}
	gates := map[string]chan struct{}{}
	for _, part := range held {
		gates[part] = make(chan struct{})
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	lines := &said{}
	b, err := broker.StartOn(ctx, c, slog.New(slog.NewTextHandler(lines, nil)), &gateFS{disk.OS(), gates})
	if err != nil {
		for _, gate := range gates {
			close(gate)
		}
		t.Fatal(err)
	}
	p.broker, p.addr = b, b.Addr().String()
	return gates, lines
}

// finish stops a broker that beginHeld has started.
func (p *process) finish(t *testing.T) {
	t.Helper()
	if err := p.end(); err != nil {
		t.Error("stopping:", err)
	}
}

// After kill -9 small partitions serve while a large one is still recovered. The large one has no leader until it is; a client that writes to
// it waits and loses nothing.
func TestSmallPartitionsServeWhileALargeOneIsRecovered(t *testing.T) {
	p := spawn(t, "num.recovery.threads.per.data.dir=1", "log.segment.bytes=1048576")
	c := p.dial(t)
	makeTopic(t, c, "large", 1)
	makeTopic(t, c, "small", 3)
	payload := strings.Repeat("x", 100_000)
	for i := range 50 {
		want(t, "offset", mustProduce(c, "large", values(fmt.Sprint(i, " ", payload))), int64(i))
	}
	for i := range int32(3) {
		want(t, "code", produceTo(c, "small", i, values("before")).ErrorCode, 0)
	}
	p.kill()
	gates, lines := p.beginHeld(t, "/large-0/")
	defer p.finish(t)
	open := sync.OnceFunc(func() { close(gates["/large-0/"]) })
	defer open()
	c = p.dial(t)
	eventually(t, "the small partitions have leaders", func() bool { return led(c, "small") })
	for i := range int32(3) {
		want(t, "code", produceTo(c, "small", i, values("after")).ErrorCode, 0)
		want(t, "records", len(readAll(c, "small", i, 0)), 2)
	}
	m := describe(c, "large").Topics[0].Partitions[0]
	want(t, "code in metadata", m.ErrorCode, 5)
	want(t, "leader in metadata", m.Leader, -1)
	want(t, "code of a produce", produce(c, "large", values("x")).ErrorCode, 6)
	want(t, "code of a fetch", fetch(c, "large", 0).ErrorCode, 6)
	want(t, "code of a list", listOffset(c, listVersion, "large", 0, -1).ErrorCode, 6)
	dir := `{dir="` + p.keys["log.dirs"] + `"}`
	page := p.page(t)
	want(t, "logs left", page["broker_logdir_recovering_count"+dir], 1)
	if n := page["broker_logdir_recovering_segments_count"+dir]; n < 4 {
		t.Errorf("%v segments left", n)
	}

	writer, err := kgo.NewClient(kgo.SeedBrokers(p.addr), kgo.DefaultProduceTopic("large"))
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	acked := make(chan error, 10)
	for i := range 10 {
		writer.Produce(context.Background(), kgo.StringRecord(fmt.Sprint("late ", i)), func(_ *kgo.Record, err error) { acked <- err })
	}
	select {
	case err := <-acked:
		t.Fatal("acknowledged by a log that nobody has read:", err)
	default:
	}
	open()
	for range 10 {
		if err := <-acked; err != nil {
			t.Fatal(err)
		}
	}
	got := readAll(c, "large", 0, 0)
	want(t, "records", len(got), 60)
	for i, r := range got {
		if due := fmt.Sprint(i, " ", payload); i < 50 && r.value != due || i >= 50 && r.value != fmt.Sprint("late ", i-50) {
			t.Fatalf("offset %d holds %.20q", i, r.value)
		}
	}
	want(t, "logs left", p.page(t)["broker_logdir_recovering_count"+dir], 0)
	eventually(t, "the log says so", func() bool { c.works(); return lines.has("all logs are recovered") })
}

// The coordinator of a group is found when its partition is recovered, and knows what was committed.
func TestGroupsComeBackWithTheirPartition(t *testing.T) {
	p := spawn(t, "offsets.topic.num.partitions=1")
	c := p.dial(t)
	makeTopic(t, c, "read", 1)
	coordinated(t, &p.node, "g")
	mustCommit(t, c, 8, commit("g", "read", 7))
	p.kill()
	gates, _ := p.beginHeld(t, "/__consumer_offsets-0/")
	defer p.finish(t)
	c = p.dial(t)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	want(t, "code while it is read", ask[*kmsg.FindCoordinatorResponse](c, 3, find).ErrorCode, 15)
	want(t, "code of a list", ask[*kmsg.ListGroupsResponse](c, 3, kmsg.NewPtrListGroupsRequest()).ErrorCode, 14)
	close(gates["/__consumer_offsets-0/"])
	coordinated(t, &p.node, "g")
	want(t, "offset", committed(c, "g", "read").Offset, 7)
}

// A topic may be deleted, and made again, while its partition is recovered or waits for that; and the broker may stop cleanly.
func TestDeletionEndsARecovery(t *testing.T) {
	p := spawn(t, "num.recovery.threads.per.data.dir=1")
	c := p.dial(t)
	for _, name := range []string{"first", "second", "third"} {
		makeTopic(t, c, name, 1)
		mustProduce(c, name, values(strings.Repeat("x", 1000*len(name)), "old"))
	}
	p.kill()
	gates, _ := p.beginHeld(t, "/first-0/")
	open := sync.OnceFunc(func() { close(gates["/first-0/"]) })
	defer p.finish(t)
	defer open()
	c = p.dial(t)
	deleteTopic(t, c, "third") // it waits behind the first one
	makeTopic(t, c, "third", 1)
	want(t, "first offset", mustProduce(c, "third", values("new")), 0)
	want(t, "records", len(readAll(c, "third", 0, 0)), 1)
	want(t, "still recovered", describe(c, "first").Topics[0].Partitions[0].ErrorCode, 5)
	open()
	for _, name := range []string{"first", "second"} {
		eventually(t, name+" has its leader", func() bool { return led(c, name) })
		want(t, "records", len(readAll(c, name, 0, 0)), 2)
	}
}

// A stop in the middle of a recovery leaves the rest to the next start.
func TestStopWhileRecovering(t *testing.T) {
	p := spawn(t, "num.recovery.threads.per.data.dir=1")
	c := p.dial(t)
	for _, name := range []string{"a", "bb"} {
		makeTopic(t, c, name, 1)
		mustProduce(c, name, values(strings.Repeat("x", 1000*len(name))))
	}
	p.kill()
	gates, _ := p.beginHeld(t, "/a-0/")
	c = p.dial(t)
	want(t, "code", describe(c, "bb").Topics[0].Partitions[0].ErrorCode, 5)
	stopped := make(chan error)
	go func() { stopped <- p.end() }()
	c.closed() // it has begun to stop
	close(gates["/a-0/"])
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	p.keys["pelton.log.recovery.wait.ms"] = "600000"
	if err := p.begin(); err != nil {
		t.Fatal(err)
	}
	defer p.finish(t)
	c = p.dial(t)
	for _, name := range []string{"a", "bb"} {
		want(t, "records", len(readAll(c, name, 0, 0)), 1)
	}
}
