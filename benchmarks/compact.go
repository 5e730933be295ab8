//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/perf/load"
)

// Compaction: records of 1 kB, each key written ten times in no order, so that one record of ten is live.
const (
	compactBatches = 1040 // a little more than ten segments, since the last one is not cleaned; times -scale
	compactRecords = 1000
	compactBytes   = 1000
	compactTimes   = 10 // each key is written
	compactSegment = 100 << 20
)

// compactRow is a cleaning of 1 GB, from the moment that cleanup.policy asks for it until the last cleaned segment has its name.
func (b *bench) compactRow(brokers []*target) (*opened, error) {
	const name = "compact-1g"
	batches := b.compactBatches()
	o := b.open(name, map[string]any{"record_bytes": compactBytes, "records": batches * compactRecords, "keys": batches * compactRecords / compactTimes,
		"segment_bytes": compactSegment, "compression": "none", "partitions": 1, "looked_at_every_ms": 100})
	own, err := o.use(b.pelton("compact", "log.retention.check.interval.ms=100"))
	if err != nil {
		return o, err
	}
	sides := []*target{own}
	for _, t := range brokers {
		if strings.HasPrefix(t.name, "kafka-") {
			if err := t.alter(4, "", "log.cleaner.backoff.ms", "100"); err != nil {
				return o, err
			}
			sides = append(sides, t)
		}
	}
	o.warmTwice(int64(batches * compactRecords * compactBytes / 2))
	n := 0
	for _, t := range sides {
		o.side(t.name, func() (sample, error) {
			n++
			return t.compact(fmt.Sprintf("%s-%d", name, n), batches)
		})
		if t == own {
			continue
		}
		o.atMost(name+": CPU per GB", own.name, "cpu_s_per_gb", "s/GB", t.name, 0.5)
		o.atMost(name+": time per GB", own.name, "s_per_gb", "s/GB", t.name, 0.5)
	}
	o.info(name+": CPU per GB", own.name, "cpu_s_per_gb", "s/GB", "")
	o.info(name+": time per GB", own.name, "s_per_gb", "s/GB", "")
	return o, nil
}

// compactBatches is how many batches of 1 MB a topic gets: with less than two segments nothing would be cleaned.
func (b *bench) compactBatches() int { return max(210, int(compactBatches*b.scale)) }

// besideCleanerRow is the latency of small produce requests while two logs of 1 GB are cleaned, one behind the other, and while none is.
func (b *bench) besideCleanerRow([]*target) (*opened, error) {
	const name, rate, conns, quiet, cleaning = "hot-beside-cleaner", 5000, 4, "no cleaning", "while logs are cleaned"
	length, batches := 2*time.Second, b.compactBatches()
	o := b.open(name, map[string]any{"acks": 1, "record_bytes": 100, "rate": rate, "connections": conns, "round_s": length.Seconds(), "loop": "open",
		"cleaned_bytes": 2 * batches * compactRecords * compactBytes, "log.cleaner.threads": 1})
	o.pools = newPools(b.discard)
	t, err := o.use(b.pelton("beside-cleaner", "log.retention.check.interval.ms=100"))
	if err != nil {
		return o, err
	}
	batch, err := load.BuildBatch(load.BatchSpec{Records: 1, RecordBytes: 100, Random: 1, TimeMs: nowMs()})
	if err != nil {
		return o, err
	}
	if err := t.topic(name, 16, recycled(32<<20)); err != nil {
		return o, err
	}
	w := load.Workload{Addr: t.addr, Kind: load.Produce, Connections: conns, Topic: name, Partitions: upTo(16), Acks: 1, Batch: batch}
	o.side(quiet, func() (sample, error) { return o.openLoop(quiet, t, w, rate, length, nil) })
	n := 0
	o.side(cleaning, func() (s sample, err error) {
		n++
		topics := []string{fmt.Sprintf("%s-%d-a", name, n), fmt.Sprintf("%s-%d-b", name, n)}
		for _, topic := range topics {
			if err := t.fillKeyed(topic, batches); err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, t.dropTopic(topic)) }()
		}
		dirty, _, err := t.closedSegments(topics[1])
		if err != nil {
			return nil, err
		}
		s, err = o.openLoop(cleaning, t, w, rate, length, func(*load.Rig) error {
			return errors.Join(t.alter(2, topics[0], "cleanup.policy", "compact"), t.alter(2, topics[1], "cleanup.policy", "compact"))
		})
		if err != nil {
			return nil, err
		}
		left, err := t.uncleaned(topics[1], dirty)
		s["share_left"] = float64(left) / float64(len(dirty))
		return s, err
	})
	o.far = append(o.far, claim{row: name + ": p99.9", side: cleaning, over: quiet, bound: 1.5, atMost: true})
	o.info(name+": p99", cleaning, "p99_us", "µs", quiet)
	o.info(name+": p50", cleaning, "p50_us", "µs", quiet)
	o.info(name+": of the second log not cleaned at the end", cleaning, "share_left", "", "")
	return o, nil
}

// compact fills a topic, has it cleaned, and measures the cleaning alone.
func (t *target) compact(topic string, batches int) (s sample, err error) {
	if err := t.fillKeyed(topic, batches); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.dropTopic(topic)) }()
	dirty, bytes, err := t.closedSegments(topic)
	if err != nil {
		return nil, err
	}
	before, err := t.CPU()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := t.alter(2, topic, "cleanup.policy", "compact"); err != nil {
		return nil, err
	}
	for {
		left, err := t.uncleaned(topic, dirty)
		if err != nil {
			return nil, err
		}
		if left == 0 {
			break
		}
		if time.Since(began) > 3*time.Minute {
			return nil, fmt.Errorf("%d of %d segments are not cleaned after %v", left, len(dirty), time.Since(began))
		}
		time.Sleep(5 * time.Millisecond)
	}
	sec := time.Since(began).Seconds()
	after, err := t.CPU()
	gb := float64(bytes) / 1e9
	return sample{"cpu_s_per_gb": (after - before) / gb, "s_per_gb": sec / gb}, err
}

// fillKeyed writes the records, the same for everybody.
func (t *target) fillKeyed(topic string, batches int) error {
	err := t.topic(topic, 1, map[string]string{"segment.bytes": fmt.Sprint(compactSegment), "min.cleanable.dirty.ratio": "0.01", "file.delete.delay.ms": "500"})
	if err != nil {
		return err
	}
	c, err := load.DialControl(t.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	rng := rand.New(rand.NewSource(1))
	keys := make([][]byte, compactRecords)
	for range batches {
		for i := range keys {
			keys[i] = fmt.Appendf(nil, "key-%012d", rng.Intn(batches*compactRecords/compactTimes))
		}
		batch, err := load.BuildBatch(load.BatchSpec{Records: compactRecords, RecordBytes: compactBytes, Keys: keys, TimeMs: nowMs()})
		if err != nil {
			return err
		}
		req := kmsg.NewPtrProduceRequest()
		req.Version, req.Acks, req.TimeoutMillis = 7, 1, 10_000
		p := kmsg.NewProduceRequestTopicPartition()
		p.Records = batch
		req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{p}}}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		if code := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode; code != 0 {
			return fmt.Errorf("producing to %s: %w", topic, kerr.ErrorForCode(code))
		}
	}
	return nil
}

// alter sets one dynamic configuration, of a topic (2) or of all brokers (4).
func (t *target) alter(kind int8, name, key, value string) error {
	c, err := load.DialControl(t.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceType(kind), name
	e := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	e.Name, e.Value = key, &value
	r.Configs = append(r.Configs, e)
	req.Resources = append(req.Resources, r)
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode)
}

// partitionDir is where a broker keeps partition 0 of a topic.
func (t *target) partitionDir(topic string) (string, error) {
	for _, below := range []string{"", "logs"} {
		dir := filepath.Join(t.dir, below, topic+"-0")
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%s has no directory below %s", topic, t.dir)
}

// atRest waits until a closed segment's index is cut to its entries: before that the broker is not done with the segment, and does not clean it.
func atRest(index string) error {
	const preallocated = 1 << 20
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		info, err := os.Stat(index)
		if err == nil && info.Size() > 0 && info.Size() < preallocated {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s is not cut to its entries after a minute: %w", index, err)
		}
	}
}

// segmentFile tells a segment's file from one that is made of it. The inode alone does not: the file system gives those of deleted files to new ones.
type segmentFile struct {
	inode uint64
	size  int64
}

func segmentFileOf(info fs.FileInfo) segmentFile {
	return segmentFile{inode: info.Sys().(*syscall.Stat_t).Ino, size: info.Size()}
}

// closedSegments are the files of all segments but the last, and their size.
func (t *target) closedSegments(topic string) (files []segmentFile, bytes int64, err error) {
	dir, err := t.partitionDir(topic)
	if err != nil {
		return nil, 0, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(names) < 2 {
		return nil, 0, fmt.Errorf("%s: %d segments, %w", dir, len(names), err)
	}
	slices.Sort(names)
	for _, name := range names[:len(names)-1] {
		if err := atRest(strings.TrimSuffix(name, ".log") + ".index"); err != nil {
			return nil, 0, err
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, 0, err
		}
		files, bytes = append(files, segmentFileOf(info)), bytes+info.Size()
	}
	return files, bytes, nil
}

// uncleaned counts the files that are still a segment, and those that are on their way to be one.
func (t *target) uncleaned(topic string, dirty []segmentFile) (n int, err error) {
	dir, err := t.partitionDir(topic)
	if err != nil {
		return 0, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".cleaned", ".swap":
			n++
		case ".log":
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				n++ // it is being renamed just now
				continue
			}
			if err != nil {
				return 0, err
			}
			if slices.Contains(dirty, segmentFileOf(info)) {
				n++
			}
		}
	}
	return n, nil
}
