package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// chosen are the releases and codecs that a run drives: all of them with PELTON_OLD_CLIENTS=all, else the ends and a middle.
func chosen() (consoles []OldConsole, codecs []string) {
	if os.Getenv("PELTON_OLD_CLIENTS") == "all" {
		return OldConsoles(), Codecs()
	}
	for _, c := range OldConsoles() {
		if slices.Contains([]string{"0.8.2.2", "0.10.2.2", "3.9.1"}, c.Version) {
			consoles = append(consoles, c)
		}
	}
	return consoles, []string{"none", "gzip", "lz4"}
}

func patiently(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// exchangeAll has every release write to one topic with every codec that it and all consumers know, and every release read all of it.
func exchangeAll(t *testing.T, b Bench, topic string, consoles []OldConsole, codecs []string) {
	var due []string
	for _, c := range consoles {
		for _, codec := range codecs {
			if !slices.Contains(c.Codecs, codec) {
				continue
			}
			lines := c.Lines(codec, 60)
			if err := c.Produce(patiently(t), b, topic, codec, lines); err != nil {
				t.Fatal(err)
			}
			due = append(due, lines...)
		}
	}
	for _, c := range consoles {
		t.Run(c.Version, func(t *testing.T) {
			got, err := c.Consume(patiently(t), b, topic, len(due))
			if err != nil {
				t.Fatal(err)
			}
			compareLines(t, got, due)
		})
	}
}

func compareLines(t *testing.T, got, due []string) {
	t.Helper()
	for i := range min(len(got), len(due)) {
		if got[i] != due[i] {
			t.Fatalf("line %d of %d: %.120q, want %.120q", i, len(due), got[i], due[i])
		}
	}
	if len(got) != len(due) {
		t.Fatalf("%d lines, want %d", len(got), len(due))
	}
}

func without(codecs []string, gone string) []string {
	return slices.DeleteFunc(slices.Clone(codecs), func(c string) bool { return c == gone })
}

// Real clients of every age share one topic: what each writes, with each codec, each reads, in order and to the byte.
func TestOldConsolesShareATopic(t *testing.T) {
	b := Bench{needed(t, "PELTON_APACHE", "the script that drives real Kafka"), seed(t), needed(t, "PELTON_ZOOKEEPER", "the broker's coordination")}
	consoles, codecs := chosen()
	exchangeAll(t, b, makeTopic(t, "old-consoles", 1), consoles, without(codecs, "zstd"))
	if slices.Contains(codecs, "zstd") {
		knowing := slices.DeleteFunc(slices.Clone(consoles), func(c OldConsole) bool { return !slices.Contains(c.Codecs, "zstd") })
		exchangeAll(t, b, makeTopic(t, "old-consoles-zstd", 1), knowing, codecs)
	}
}

// The same with topics that keep the records of each old format.
func TestOldConsolesAndOldTopics(t *testing.T) {
	apache, bin := needed(t, "PELTON_APACHE", "the script that drives real Kafka"), needed(t, "PELTON_BIN", "the broker")
	if os.Getenv("PELTON_OLD_CLIENTS") != "all" {
		t.Skip("takes minutes: PELTON_OLD_CLIENTS=all asks for it")
	}
	s, err := StartServer(bin, filepath.Join(t.TempDir(), "data"), "inter.broker.protocol.version=2.8")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	b := Bench{apache, s.Addr(), s.ZooKeeper()}
	for _, format := range []string{"0.9.0", "0.10.2"} {
		t.Run(format, func(t *testing.T) {
			topic := "format-" + format
			args := []string{"--bootstrap-server", "$BROKER", "--create", "--topic", topic, "--partitions", "1", "--replication-factor", "1", "--config", "message.format.version=" + format}
			if _, err := b.Run(patiently(t), "3.9.1", "org.apache.kafka.tools.TopicCommand", nil, args...); err != nil {
				t.Fatal(err)
			}
			consoles, codecs := chosen()
			exchangeAll(t, b, topic, consoles, without(codecs, "zstd"))
		})
	}
}

// A group of 0.8 lives in coordination: its consumers keep their offsets there, and its tool reads them.
func TestOldConsumerOffsetChecker(t *testing.T) {
	b := Bench{needed(t, "PELTON_APACHE", "the script that drives real Kafka"), seed(t), needed(t, "PELTON_ZOOKEEPER", "the broker's coordination")}
	topic := makeTopic(t, "old-group", 1)
	console := OldConsoles()[0]
	if err := console.Produce(patiently(t), b, topic, "gzip", console.Lines("gzip", 20)); err != nil {
		t.Fatal(err)
	}
	properties := filepath.Join(t.TempDir(), "consumer.properties")
	group := topic + "-readers"
	if err := os.WriteFile(properties, []byte("group.id="+group+"\nauto.commit.interval.ms=100\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := console.Consume(patiently(t), b, topic, 8, "--consumer.config", properties)
	if err != nil {
		t.Fatal(err)
	}
	compareLines(t, got, console.Lines("gzip", 20)[:8])
	out, err := b.Run(patiently(t), console.Version, "kafka.tools.ConsumerOffsetChecker", nil, "--zookeeper", "$ZOOKEEPER", "--group", group, "--topic", topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(out, "\n") {
		if f := strings.Fields(line); len(f) >= 6 && f[0] == group {
			if f[1] != topic || f[2] != "0" || f[3] != "8" || f[4] != "20" || f[5] != "12" {
				t.Fatalf("the checker says %q, want offset 8 of 20, lag 12", line)
			}
			return
		}
	}
	t.Fatalf("the checker does not know the group:\n%s", out)
}

// librdkafka and kafka-python, told that the broker is old, talk to it as to one of that age.
func TestPinnedClients(t *testing.T) {
	broker := seed(t)
	prepared := needed(t, "PELTON_INTEROP_DIR", "libraries of other languages")
	// kafka-python has no snappy and no lz4 without more libraries, so it has a topic without them.
	var due, plain []string
	topic, simple := makeTopic(t, "pinned", 1), makeTopic(t, "pinned-simple", 1)
	run := func(in []string, name string, env string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(patiently(t), name, args...)
		cmd.Stdin, cmd.Dir = strings.NewReader(strings.Join(in, "\n")+"\n"), prepared
		cmd.Env = append(os.Environ(), env)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %v: %v\n%.2000s", name, args, err, errs.String())
		}
		return string(out)
	}
	python := filepath.Join(prepared, "venv", "bin", "python")
	kcat := func(version, topic string, args ...string) []string {
		return append([]string{"-b", broker, "-t", topic, "-p", "0", "-E", "-X", "api.version.request=false", "-X", "broker.version.fallback=" + version}, args...)
	}
	versions := []string{"0.8.2", "0.9.0", "0.10.0"}
	for _, version := range versions {
		for _, codec := range []string{"none", "gzip", "snappy", "lz4"} {
			lines := OldConsole{Version: "kcat-" + version}.Lines(codec, 40)
			run(lines, "kcat", "", kcat(version, topic, "-P", "-z", codec)...)
			due = append(due, lines...)
			if codec == "none" || codec == "gzip" {
				run(lines, "kcat", "", kcat(version, simple, "-P", "-z", codec)...)
				plain = append(plain, lines...)
			}
		}
		for _, codec := range []string{"none", "gzip"} {
			lines := OldConsole{Version: "python-" + version}.Lines(codec, 40)
			run(lines, python, "PELTON_API_VERSION="+version, "kafka_python.py", "produce", broker, simple, "40", codec)
			plain = append(plain, lines...)
		}
	}
	for _, version := range versions {
		out := run(nil, "kcat", "", kcat(version, topic, "-C", "-q", "-o", "beginning", "-c", fmt.Sprint(len(due)))...)
		compareLines(t, strings.Split(strings.TrimSpace(out), "\n"), due)
		out = run(nil, "kcat", "", kcat(version, simple, "-C", "-q", "-o", "beginning", "-c", fmt.Sprint(len(plain)))...)
		compareLines(t, strings.Split(strings.TrimSpace(out), "\n"), plain)
		out = run(nil, python, "PELTON_API_VERSION="+version, "kafka_python.py", "consume", broker, simple, fmt.Sprint(len(plain)), "none")
		compareLines(t, strings.Split(strings.TrimSpace(out), "\n"), plain)
	}
}
