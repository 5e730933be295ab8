//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pelton-broker/pelton/internal/tools/expected"
	"github.com/pelton-broker/pelton/internal/tools/process"
)

// trip is one directory on its way.
type trip struct {
	settings
	entry
	dir    string // holds kafka/data, and the logs of everybody
	port   int
	broker *process.Process
	coord  *process.Process
	plan   expected.View // topics and groups that are looked at
	last   expected.View // what was there when somebody looked last
	// wrappers: a Kafka before 0.11 has written, whose way to note wrappers in indexes later tools call a mismatch.
	wrappers bool
}

// groupOfOurs commits at every stage.
const groupOfOurs = "roundtrip"

func (t *trip) run() (err error) {
	if t.port, err = ports(2); err != nil {
		return err
	}
	if err := t.unpack(t.home()); err != nil {
		return err
	}
	if t.plan, err = t.expected(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.broker.Stop(), t.coord.Stop()) }()
	if err := t.pelton(); err != nil {
		return fmt.Errorf("Pelton: %w", err)
	}
	if err := t.dumps("Pelton", t.kafkas...); err != nil {
		return err
	}
	if t.kafkas[0] != "4.2.0" {
		if err := t.coordinate(); err != nil {
			return err
		}
	}
	for _, version := range t.kafkas {
		if err := t.kafka(version); err != nil {
			return fmt.Errorf("Kafka %s: %w", version, err)
		}
		t.wrappers = t.wrappers || strings.HasPrefix(version, "0.")
	}
	return t.dumps("Kafka", t.kafkas[len(t.kafkas)-1])
}

func (t *trip) home() string { return filepath.Join(t.dir, "kafka") }

// config is the broker's own file, with other addresses. What goes back to a Kafka older than 2.3 says so, as in a rolling upgrade.
func (t *trip) config() (string, error) {
	b, err := os.ReadFile(filepath.Join(t.from, "kafka-"+t.version, "server.properties"))
	if err != nil {
		return "", err
	}
	var lines []string
	for _, l := range strings.Split(strings.ReplaceAll(string(b), "DIR", t.home()), "\n") {
		l = strings.NewReplacer(":25092", fmt.Sprint(":", t.port), ":25093", fmt.Sprint(":", t.port+1)).Replace(l)
		if strings.HasPrefix(l, "port=") {
			l = fmt.Sprint("port=", t.port)
		}
		lines = append(lines, l)
	}
	lines = append(lines, "pelton.zookeeper.listen=127.0.0.1:0")
	if old := oldProtocol(t.kafkas[0]); old != "" {
		lines = append(lines, "inter.broker.protocol.version="+old)
		if strings.HasPrefix(old, "0.") {
			lines = append(lines, "log.message.format.version="+old)
		}
	}
	path := filepath.Join(t.dir, "golden.properties")
	return path, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// oldProtocol is what inter.broker.protocol.version says for a Kafka that cannot read newer groups, "" for others.
func oldProtocol(version string) string {
	if strings.HasPrefix(version, "0.") || strings.HasPrefix(version, "2.2.") {
		return version[:strings.LastIndexByte(version, '.')]
	}
	return ""
}

// pelton opens the directory by adoption, compares with what its Kafka answered, and writes behind it.
func (t *trip) pelton() (err error) {
	conf, err := t.config()
	if err != nil {
		return err
	}
	t.broker, err = process.Launch(filepath.Join(t.dir, "pelton.log"), t.settings.pelton, "server", "--config", conf,
		"--override", "zookeeper.connect=", "--override", "pelton.log.adopt=true")
	if err != nil {
		return err
	}
	at := t.broker.Kafka
	if t.last, err = t.expected(); err != nil {
		return err
	}
	old := strings.HasPrefix(t.version, "0.8.") || strings.HasPrefix(t.version, "0.9.") // their logs have no start of their own
	if err := t.same(at, "", !old); err != nil {
		return err
	}
	if err := t.write(at, ""); err != nil {
		return err
	}
	return t.broker.Stop()
}

// coordinate runs coordination alone, on what the broker kept in it.
func (t *trip) coordinate() (err error) {
	conf := filepath.Join(t.dir, "zoo.cfg")
	port, err := ports(1)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("dataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\n", filepath.Join(t.home(), "zookeeper"), port)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return err
	}
	t.coord, err = process.Launch(filepath.Join(t.dir, "coordination.log"), t.settings.pelton, "zk", "server", "--config", conf)
	return err
}

// kafka boots a real one on the result: everything is there, and it goes on.
func (t *trip) kafka(version string) (err error) {
	mode := "kraft"
	if t.coord != nil {
		mode = t.coord.ZooKeeper
	}
	args := []string{"start", "kafka", version, fmt.Sprint(t.port), t.home(), mode, "log.index.size.max.bytes=4096", "log.index.interval.bytes=300",
		"log.cleaner.enable=false", "log.retention.hours=1000000", "auto.create.topics.enable=false",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms=3600000"} // the open transaction stays open
	if version != "4.2.0" {
		args = append(args, "log.segment.bytes=20000")
	}
	if _, err := t.script(args...); err != nil {
		return err
	}
	stopped := false
	defer func() {
		if !stopped {
			_, _ = t.script("stop", t.home(), "KILL") // the first error counts
		}
	}()
	addr := fmt.Sprintf("127.0.0.1:%d", t.port)
	if err := t.same(addr, version, true); err != nil {
		return err
	}
	if err := t.write(addr, version); err != nil {
		return err
	}
	stopped = true
	_, err = t.script("stop", t.home())
	return err
}

// same compares what a broker shows with what was seen last. A Kafka takes connections before it knows its topics and groups.
func (t *trip) same(addr, version string, starts bool) error {
	wrong := ""
	for end := time.Now().Add(patience); ; {
		v, err := look(addr, version, t.last)
		if err == nil {
			if wrong = difference(t.last, v, starts); wrong == "" {
				return nil
			}
		} else {
			wrong = err.Error()
		}
		if version == "" || time.Now().After(end) {
			return errors.New(wrong)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// codecs are those that a broker of a version takes; "" is Pelton, on a directory of t's version. The frames that lz4 has in format 0 are
// refused by the client's own library.
func (t *trip) codecs(version string) []string {
	if version == "" {
		version = t.version
	}
	switch {
	case strings.HasPrefix(version, "0.8."), strings.HasPrefix(version, "0.9."):
		return []string{"none", "gzip", "snappy"}
	case strings.HasPrefix(version, "0.10."):
		return []string{"none", "gzip", "snappy", "lz4"}
	}
	return []string{"none", "gzip", "snappy", "lz4", "zstd"}
}

func codec(name string) kgo.CompressionCodec {
	return map[string]kgo.CompressionCodec{"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(),
		"zstd": kgo.ZstdCompression()}[name]
}

// write appends to every topic with every codec that is known, by producers with ids where the format has them, and commits. Then it looks.
func (t *trip) write(addr, version string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	by, old := "Pelton", oldFormat(t.version)
	if version != "" {
		by, old = "Kafka "+version, oldFormat(version) || old && slices.Contains(t.kafkas[:1], version)
	}
	for _, name := range t.codecs(version) {
		opts := []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codec(name), kgo.NoCompression())}
		if old {
			opts = append(opts, kgo.DisableIdempotentWrite())
		}
		c, err := client(addr, version, opts...)
		if err != nil {
			return err
		}
		for _, topic := range topicsOf(t.plan) {
			if own, is := strings.CutPrefix(topic, "plain-"); is && own != name {
				continue
			}
			var records []*kgo.Record
			for i := range 12 {
				records = append(records, &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "key-%d", i), Value: fmt.Appendf(nil, "%s by %s, record %d of a batch that is worth compressing", name, by, i)})
			}
			if err := c.ProduceSync(ctx, records...).FirstErr(); err != nil {
				c.Close()
				return fmt.Errorf("producing to %s with %s: %w", topic, name, err)
			}
		}
		c.Close()
	}
	return t.commit(ctx, addr, version)
}

// oldFormat tells whether a version knows no ids of producers.
func oldFormat(version string) bool { return strings.HasPrefix(version, "0.") }

func (t *trip) commit(ctx context.Context, addr, version string) error {
	c, err := client(addr, version)
	if err != nil {
		return err
	}
	defer c.Close()
	var offsets kadm.Offsets = map[string]map[int32]kadm.Offset{}
	for _, topic := range topicsOf(t.plan) {
		offsets.Add(kadm.Offset{Topic: topic, At: t.last.Topics[topic].HighWatermark, LeaderEpoch: -1, Metadata: "after " + version})
	}
	if err := kadm.NewClient(c).CommitAllOffsets(ctx, groupOfOurs, offsets); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	plan := expected.View{Topics: t.plan.Topics, Groups: map[string]map[string][2]any{groupOfOurs: nil}}
	for g := range t.plan.Groups {
		plan.Groups[g] = nil
	}
	t.last, err = look(addr, version, plan)
	if err == nil && len(t.last.Groups[groupOfOurs]) != len(plan.Topics) {
		err = fmt.Errorf("%d of %d commits are there: %v", len(t.last.Groups[groupOfOurs]), len(plan.Topics), t.last.Groups[groupOfOurs])
	}
	return err
}
