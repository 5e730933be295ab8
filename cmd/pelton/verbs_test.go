package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pelton-broker/pelton/cmd/pelton/broker"
	"github.com/pelton-broker/pelton/internal/config"
)

// ownBroker starts a broker in this process and gives its address.
func ownBroker(t *testing.T) string {
	t.Helper()
	return brokerIn(t, t.TempDir(), "logs")
}

// brokerIn starts one whose log directories have these names in dir.
func brokerIn(t *testing.T, dir string, names ...string) string {
	t.Helper()
	for i := range names {
		names[i] = filepath.Join(dir, names[i])
	}
	c, _, err := config.Load(nil, nil, map[string]string{
		"log.dirs": strings.Join(names, ","), "pelton.zookeeper.data.dir": dir + "/zookeeper", "pelton.zookeeper.listen": "127.0.0.1:0",
		"listeners": "PLAINTEXT://127.0.0.1:0", "broker.id": "0", "num.shards": "2", "pelton.pin": "false",
		"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "2", "group.initial.rebalance.delay.ms": "0",
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(context.Background(), c, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := b.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	text, err := json.Marshal(b.Ready())
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ Kafka string }
	if err := json.Unmarshal(text, &ready); err != nil || ready.Kafka == "" {
		t.Fatalf("ready line %s, %v", text, err)
	}
	return ready.Kafka
}

// session runs verbs against one broker.
type session struct {
	t       *testing.T
	address string
}

// ok runs a verb that must succeed.
func (s session) ok(in string, args ...string) string {
	s.t.Helper()
	code, out, errs := cli(s.t, in, append(args, "-b", s.address)...)
	if code != 0 {
		s.t.Fatalf("%v: code %d, %s", args, code, errs)
	}
	return out
}

// fails runs a verb that must fail with these words.
func (s session) fails(want string, args ...string) {
	s.t.Helper()
	code, _, errs := cli(s.t, "", append(args, "-b", s.address)...)
	if code == 0 || !strings.Contains(errs, want) {
		s.t.Errorf("%v: code %d, %q does not say %q", args, code, errs, want)
	}
}

func (s session) has(out string, words ...string) {
	s.t.Helper()
	for _, w := range words {
		if !strings.Contains(out, w) {
			s.t.Errorf("%q does not hold %q", out, w)
		}
	}
}

func TestVerbsAgainstABroker(t *testing.T) {
	address := ownBroker(t)
	s := session{t, address}

	s.has(s.ok("", "topics", "create", "logs", "--partitions", "3", "--config", "retention.ms=600000"), "Created topic logs.")
	s.fails("TOPIC_ALREADY_EXISTS", "topics", "create", "logs")
	s.fails("pelton topics alter", "topics", "create", "logs")
	s.has(s.ok("", "topics", "create", "logs", "--if-not-exists"), "exists already")
	s.fails("INVALID_REPLICATION_FACTOR", "topics", "create", "two", "--replication-factor", "2")
	s.fails("pelton topics list", "topics", "describe", "nope")
	s.fails("No group has been used on this broker yet", "groups", "lag", "nobody")
	s.has(s.ok("", "topics", "list"), "logs\n")
	s.has(s.ok("", "topics", "describe", "logs"), "partitions 3", "retention.ms=600000", "PARTITION")
	s.has(s.ok("", "topics", "describe", "logs", "--json"), `"topic": "logs"`, `"leader": 0`)
	s.ok("", "topics", "alter", "logs", "--partitions", "4")
	s.has(s.ok("", "topics", "describe", "logs"), "partitions 4")
	s.fails("INVALID_PARTITIONS", "topics", "alter", "logs", "--partitions", "2")

	s.has(s.ok("", "configs", "alter", "--topic", "logs", "--add", "cleanup.policy=compact", "--delete", "retention.ms"), "Changed 2 keys.")
	out := s.ok("", "configs", "describe", "--topic", "logs")
	s.has(out, "cleanup.policy", "compact", "DYNAMIC_TOPIC_CONFIG")
	if strings.Contains(out, "retention.ms") {
		t.Errorf("retention.ms is still set: %s", out)
	}
	s.ok("", "configs", "delete", "--topic", "logs", "cleanup.policy")
	s.fails("INVALID_CONFIG", "configs", "alter", "--topic", "logs", "--add", "no.such.key=1")
	s.has(s.ok("", "configs", "describe", "--broker", "0", "broker.id"), "broker.id", "STATIC_BROKER_CONFIG", "read-only")
	s.has(s.ok("", "log-dirs"), "online")

	s.ok("", "topics", "delete", "logs")
	if out := s.ok("", "topics", "list"); strings.Contains(out, "logs") {
		t.Errorf("a deleted topic is listed: %s", out)
	}
	s.fails("UNKNOWN_TOPIC_OR_PARTITION", "topics", "delete", "logs")
}

// Verbs that change something answer programs as well.
func TestChangesInJSON(t *testing.T) {
	s := session{t, ownBroker(t)}
	s.ok("", "topics", "create", "one", "two", "--partitions", "1")
	for _, c := range []struct {
		verb []string
		want string
	}{
		{[]string{"topics", "alter", "one", "--partitions", "3"}, `[{"partitions":3,"topic":"one"}]`},
		{[]string{"configs", "alter", "--topic", "one", "--add", "retention.ms=5", "--add", "flush.messages=1"}, `[{"key":"retention.ms"},{"key":"flush.messages"}]`},
		{[]string{"configs", "delete", "--topic", "one", "retention.ms"}, `[{"key":"retention.ms"}]`},
		{[]string{"topics", "delete", "one", "two"}, `[{"topic":"one"},{"topic":"two"}]`},
		{[]string{"topics", "delete", "one", "--if-exists"}, `[]`},
	} {
		var got bytes.Buffer
		if err := json.Compact(&got, []byte(s.ok("", append(c.verb, "--json")...))); err != nil || strings.TrimSpace(got.String()) != c.want {
			t.Errorf("%v: %s, %v; want %s", c.verb, got.String(), err, c.want)
		}
	}
}

func TestLinesComeBackByteForByte(t *testing.T) {
	s := session{t, ownBroker(t)}
	s.ok("", "topics", "create", "one", "--partitions", "1")
	var text strings.Builder
	for i := range 50000 {
		fmt.Fprintf(&text, "%d\t%s\r\n", i, strings.Repeat("ü", i%97))
		if i%10 == 0 {
			text.WriteString("\n")
		}
	}
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		topic := "lines-" + codec
		s.ok("", "topics", "create", topic, "--partitions", "1")
		s.ok(text.String(), "produce", topic, "--compression", codec)
		if got := s.ok("", "consume", topic, "-o", "beginning", "-e"); got != text.String() {
			t.Errorf("%s: %d bytes came back for %d", codec, len(got), text.Len())
		}
	}
	s.ok("", "topics", "create", "spread", "--partitions", "5")
	s.ok("a=1\nb=2\na=3\nplain\n\n", "produce", "spread", "-k", "=", "-H", "h=x")
	got := s.ok("", "consume", "spread", "-o", "beginning", "-e", "-f", `%k|%s|%h\n`)
	s.has(got, "a|1|h=x\n", "b|2|h=x\n", "a|3|h=x\n", "|plain|h=x\n", "||h=x\n")
	if strings.Index(got, "a|1|") > strings.Index(got, "a|3|") {
		t.Errorf("records of one key are out of order: %s", got)
	}
	s.has(s.ok("", "consume", "lines-none", "-o", "5", "-c", "1", "--json"), `"offset":5`, `"payload":`)
	if got := s.ok("", "consume", "lines-none", "-o", "-3", "-e"); strings.Count(got, "\n") != 3 {
		t.Errorf("the last three lines are %q", got)
	}
	s.fails("has no partition 9", "consume", "one", "-p", "9", "-e")
	code, _, errs := cli(t, strings.Repeat("x", 2<<20)+"\nsmall\n", "produce", "one", "-b", s.address)
	if code != 1 || !strings.Contains(errs, "not delivered") {
		t.Errorf("a line that is too large: code %d, %s", code, errs)
	}
}

func TestGroupVerbs(t *testing.T) {
	s := session{t, ownBroker(t)}
	s.ok("", "topics", "create", "logs", "--partitions", "2")
	s.ok("1\n2\n3\n", "produce", "logs", "-p", "0")
	s.ok("4\n", "produce", "logs", "-p", "1")
	if got := s.ok("", "consume", "logs", "-g", "readers", "-o", "beginning", "-e"); strings.Count(got, "\n") != 4 {
		t.Fatalf("the group read %q", got)
	}
	if got := s.ok("", "consume", "logs", "-g", "readers", "-e"); got != "" {
		t.Errorf("the group read again: %q", got)
	}
	s.has(s.ok("", "groups", "list"), "readers")
	s.has(s.ok("", "groups", "describe", "readers"), "state Empty")
	s.ok("5\n", "produce", "logs", "-p", "1")
	var lags []lagView
	if err := json.Unmarshal([]byte(s.ok("", "groups", "lag", "readers", "--json")), &lags); err != nil || len(lags) != 2 || *lags[0].Lag != 0 || *lags[1].Lag != 1 {
		t.Fatalf("lags %+v, %v", lags, err)
	}
	s.has(s.ok("", "groups", "reset-offsets", "readers", "--topic", "logs:0", "--to-earliest"), "BEFORE")
	if got := s.ok("", "consume", "logs", "-g", "readers", "-e"); got != "5\n" {
		t.Errorf("a reset without --execute moved the group: %q", got)
	}
	s.ok("", "groups", "reset-offsets", "readers", "--topic", "logs:0", "--shift-by", "-2", "--execute")
	if got := s.ok("", "consume", "logs", "-g", "readers", "-e"); got != "2\n3\n" {
		t.Errorf("after the reset the group read %q", got)
	}
	s.fails("say where to", "groups", "reset-offsets", "readers", "--topic", "logs")
	s.has(s.ok("", "groups", "delete", "readers"), "Deleted group readers.")
	s.fails("GROUP_ID_NOT_FOUND", "groups", "delete", "readers")
}
