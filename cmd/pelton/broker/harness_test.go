package broker_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pelton-broker/pelton/cmd/pelton/broker"
	"github.com/pelton-broker/pelton/internal/config"
)

// answerWithin bounds every wait for an answer or an event. It is a bound on hanging, not on speed.
const answerWithin = 15 * time.Second

// realBroker names a broker outside, host:port, that the tests on the shared broker are pointed at: a real Kafka 3.9.1 shows whether a test
// itself is right.
const realBroker = "PELTON_TEST_BROKER"

// moreSettings are key=value settings, separated by blanks, laid over the defaults of every broker under test: the same tests with another
// poller, disk backend or number of shards.
const moreSettings = "PELTON_TEST_SETTINGS"

// run tells the topics of this run from those that an outside broker kept from the last one.
var run = fmt.Sprintf("%06x", rand.N(1<<24))

// everyone is the broker that tests share which do not stop it and do not need settings of their own.
var everyone sharedNode

type sharedNode struct {
	once sync.Once
	dir  string
	node *node
	err  error
}

func TestMain(m *testing.M) {
	serveInstead()
	code := m.Run()
	if n := everyone.node; n != nil {
		if err := n.end(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the shared broker:", err)
			code = 1
		}
	}
	if everyone.dir != "" {
		os.RemoveAll(everyone.dir)
	}
	if c := outside.coordination; c != nil {
		c.close()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// node is a broker under test.
type node struct {
	addr   string
	keys   map[string]string
	broker *broker.Broker
	ready  broker.Ready
	log    *slog.Logger // testLog's when nil
}

// defaults are the settings of a broker under test: free ports, and beats so short that tests need not wait for them.
func defaults(dir string) map[string]string {
	keys := map[string]string{
		"broker.id": "0", "listeners": "PLAINTEXT://127.0.0.1:0", "pelton.zookeeper.listen": "127.0.0.1:0",
		"log.dirs": filepath.Join(dir, "logs"), "pelton.zookeeper.data.dir": filepath.Join(dir, "zookeeper"),
		"num.shards": "2", "num.partitions": "1", "offsets.topic.num.partitions": "3", "offsets.topic.replication.factor": "1",
		"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "10", "log.retention.check.interval.ms": "50", "log.retention.ms": "-1",
		"offsets.retention.check.interval.ms": "50", "log.segment.delete.delay.ms": "50", "producer.id.expiration.check.interval.ms": "100",
		"log.flush.offset.checkpoint.interval.ms": "200", "pelton.log.recovery.wait.ms": "600000",
	}
	for _, s := range strings.Fields(os.Getenv(moreSettings)) {
		key, value, _ := strings.Cut(s, "=")
		keys[key] = value
	}
	return coordinate(keys)
}

// shared is the broker that this run's tests share, or the one outside.
func shared(t *testing.T) *node {
	t.Helper()
	if addr := os.Getenv(realBroker); addr != "" {
		return &node{addr: addr}
	}
	everyone.once.Do(func() {
		if everyone.dir, everyone.err = os.MkdirTemp("", "pelton-cases"); everyone.err != nil {
			return
		}
		everyone.node = &node{keys: defaults(everyone.dir)}
		if everyone.err = everyone.node.begin(); everyone.err != nil {
			everyone.node = nil
		}
	})
	if everyone.err != nil {
		t.Fatal(everyone.err)
	}
	return everyone.node
}

// own starts a broker for one test, with settings key=value over the defaults.
func own(t *testing.T, settings ...string) *node {
	t.Helper()
	if os.Getenv(realBroker) != "" {
		t.Skip(realBroker + " names a broker outside, whose settings and directories this test cannot choose")
	}
	n := &node{keys: defaults(t.TempDir())}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		n.keys[key] = value
	}
	if err := n.begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.end(); err != nil {
			t.Error("stopping:", err)
		}
	})
	return n
}

func (n *node) begin() error {
	c, _, err := config.Load(nil, maps.Clone(n.keys), nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	log := n.log
	if log == nil {
		log = testLog()
	}
	b, err := broker.Start(ctx, c, log)
	if err != nil {
		return err
	}
	n.broker, n.addr, n.ready = b, b.Addr().String(), b.Ready()
	return nil
}

// testLog is silent unless PELTON_TEST_LOG is set.
func testLog() *slog.Logger {
	if os.Getenv("PELTON_TEST_LOG") == "" {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}

func (n *node) end() error {
	if n.broker == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	err := n.broker.Stop(ctx)
	n.broker = nil
	return err
}

// restart stops the broker cleanly and starts it again on the same directories, on another port.
func (n *node) restart(t *testing.T) {
	t.Helper()
	if err := n.end(); err != nil {
		t.Fatal("stopping:", err)
	}
	if err := n.begin(); err != nil {
		t.Fatal("starting again:", err)
	}
}

// runs numbers the tests of this process, so that one that runs again does not find what it made before.
var runs struct {
	mu sync.Mutex
	of map[*testing.T]int
}

// unique is a topic or group name of the test's own, the same each time the test asks.
func unique(t *testing.T) string {
	runs.mu.Lock()
	defer runs.mu.Unlock()
	if runs.of == nil {
		runs.of = map[*testing.T]int{}
	}
	if _, ok := runs.of[t]; !ok {
		runs.of[t] = len(runs.of)
	}
	return fmt.Sprintf("%s-%s-%d", strings.ToLower(strings.NewReplacer("/", "-", "_", "-", "#", "-").Replace(t.Name())), run, runs.of[t])
}

// eventually asks again and again until what it waits for is there; each try is a round trip to the broker.
func eventually(t *testing.T, what string, try func() bool) {
	t.Helper()
	for end := time.Now().Add(answerWithin); ; {
		if try() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}
