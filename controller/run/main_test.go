package run

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/zk/client"
	"github.com/pelton-broker/pelton/zk/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// member is one broker under test and what it published.
type member struct {
	*Controller
	group *task.Group
	mu    sync.Mutex
	imgs  []*meta.Image
	lost  int
	fatal error
	wake  chan struct{}
}

func options(m *member, id int32, port int32) Options {
	return Options{
		BrokerID: id, ReservedMax: 1000, Random: rand.Reader, RetryEvery: time.Millisecond,
		Endpoints: []meta.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: port, Protocol: "PLAINTEXT"}},
		Publish: func(img *meta.Image) {
			m.mu.Lock()
			m.imgs = append(m.imgs, img)
			m.mu.Unlock()
			select {
			case m.wake <- struct{}{}:
			default:
			}
		},
		OnSessionLost: func() { m.mu.Lock(); m.lost++; m.mu.Unlock() },
		Fatal:         func(err error) { m.mu.Lock(); m.fatal = err; m.mu.Unlock() },
		ZK:            client.Options{Connect: "fake:2181/kafka", SessionTimeout: time.Second},
	}
}

func newMember() *member { return &member{group: task.NewGroup(), wake: make(chan struct{}, 1)} }

func (m *member) start(t *testing.T, o Options) error {
	t.Helper()
	if testing.Verbose() {
		o.Log = slog.New(slog.NewTextHandler(&testWriter{t: t}, nil))
	}
	c, err := Start(t.Context(), o, m.group)
	m.Controller = c
	t.Cleanup(func() { m.stop(t) })
	return err
}

type testWriter struct{ t *testing.T }

func (w *testWriter) Write(b []byte) (int, error) {
	defer func() { _ = recover() }() // a line after the test's end
	w.t.Log(string(bytes.TrimSpace(b)))
	return len(b), nil
}

func (m *member) stop(t *testing.T) {
	t.Helper()
	if m.Controller != nil {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	m.group.Stop()
}

// until waits for a published image that ok likes.
func (m *member) until(t *testing.T, what string, ok func(*meta.Image) bool) *meta.Image {
	t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	for {
		m.mu.Lock()
		img := m.imgs[len(m.imgs)-1]
		m.mu.Unlock()
		if ok(img) {
			return img
		}
		select {
		case <-m.wake:
		case <-limit.C:
			t.Fatalf("never published: %s; last image %+v", what, img)
		}
	}
}

// fake starts broker 0 on a server in memory.
func fake(t *testing.T, change func(*Options)) (*member, *zktest.Server) {
	t.Helper()
	server := zktest.NewServer(1_600_000_000_000)
	m := newMember()
	o := options(m, 0, 25092)
	o.ZK.Wire = server.Wire
	if change != nil {
		change(&o)
	}
	if err := m.start(t, o); err != nil {
		t.Fatal(err)
	}
	return m, server
}

func spec(name string, partitions int32) CreateTopicSpec {
	return CreateTopicSpec{Name: name, Partitions: partitions, ReplicationFactor: 1}
}

func mustCreate(t *testing.T, m *member, s CreateTopicSpec) CreatedTopic {
	t.Helper()
	made, err := m.CreateTopic(t.Context(), s)
	if err != nil {
		t.Fatalf("create %s: %v", s.Name, err)
	}
	return made
}

func led(img *meta.Image, topic string, partitions int) bool {
	tp := img.Topic(topic)
	return tp != nil && len(tp.Partitions) == partitions &&
		!slices.ContainsFunc(tp.Partitions, func(p *meta.Partition) bool { return p.Leader == meta.NoLeader })
}

// tap is another client of a ZooKeeper on a network.
func tap(t *testing.T, connect string) *client.Client {
	t.Helper()
	group := task.NewGroup()
	c, err := client.Open(t.Context(), client.Options{Connect: connect, SessionTimeout: 10 * time.Second}, group)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); group.Stop() })
	return c
}
