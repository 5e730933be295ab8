package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/internal/tools/loopdisk"
	"github.com/pelton-broker/pelton/internal/tools/process"
)

// faulty is a broker with two log directories on a file system whose calls fail when told to.
type faulty struct {
	s    *setup
	fs   *faultFS
	b    *process.Process
	more []string
	dirs [2]string
	logs [2]*promised // one topic in each directory
}

// diskFaults plays every kind of fault, each on a broker of its own.
func (s *setup) diskFaults(rounds int) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: not root", loopdisk.ErrMissing)
	}
	for range rounds {
		for _, k := range []struct {
			name string
			play func(context.Context, *faulty) error
		}{
			{"EIO on write", func(ctx context.Context, f *faulty) error { return f.loses(ctx, "write") }},
			{"EIO on fsync", func(ctx context.Context, f *faulty) error { return f.loses(ctx, "fsync") }},
			{"EIO on read", func(ctx context.Context, f *faulty) error { return f.loses(ctx, "read") }},
			{"ENOSPC", func(ctx context.Context, f *faulty) error { return f.fills(ctx) }},
			{"EIO while a partition moves", func(ctx context.Context, f *faulty) error { return f.loses(ctx, "move") }},
			{"EIO everywhere", func(ctx context.Context, f *faulty) error { return f.ends(ctx) }},
		} {
			if err := s.playFault(k.name, k.play); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	return nil
}

func (s *setup) playFault(name string, play func(context.Context, *faulty) error) error {
	dir, err := os.MkdirTemp(s.dir, "fault-")
	if err != nil {
		return err
	}
	shown, mount := filepath.Join(dir, "shown"), filepath.Join(dir, "mount")
	for _, path := range []string{filepath.Join(shown, "one"), filepath.Join(shown, "two"), mount} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	}
	f := &faulty{s: s, dirs: [2]string{filepath.Join(mount, "one"), filepath.Join(mount, "two")}}
	f.more = []string{"--override", "log.dirs=" + f.dirs[0] + "," + f.dirs[1], "--override", "pelton.zookeeper.data.dir=" + filepath.Join(dir, "zookeeper")}
	if f.fs, err = newFaultFS(shown, mount); err != nil {
		return err
	}
	defer f.fs.free()
	ctx, cancel := context.WithTimeout(s.ctx, 120*time.Second)
	defer cancel()
	if err := f.start(dir); err != nil {
		return err
	}
	defer func() { f.b.Kill() }()
	for i, name := range []string{"first", "second"} {
		f.logs[i] = newPromised(name)
		if err := makeTopic(ctx, f.b.Kafka, name, 1); err != nil {
			return err
		}
	}
	if err := play(ctx, f); err != nil {
		return err
	}
	f.fs.set()
	f.b.Kill()
	if err := f.start(dir); err != nil {
		return fmt.Errorf("after the fault: %w", err)
	}
	total := 0
	for _, p := range f.logs {
		total += p.count()
		if err := verify(ctx, f.b.Kafka, p); err != nil {
			return fmt.Errorf("after a start: %w", err)
		}
	}
	fmt.Printf("power-cut: %s: %d acknowledged records, all there\n", name, total)
	return nil
}

func (f *faulty) start(dir string) (err error) {
	f.b, err = startBroker(f.s.bin, filepath.Join(dir, "data"), f.s.address, f.s.logFile, f.more...)
	return err
}

// writing has producers write to both topics until stop is called.
func (f *faulty) writing(ctx context.Context) (stop func(), err error) {
	first, second := produce(f.b.Kafka, f.logs[0], 3), produce(f.b.Kafka, f.logs[1], 3)
	stop = func() { first(); second() }
	return stop, await(ctx, "first records", func() bool { return f.logs[0].count() > 50 && f.logs[1].count() > 50 })
}

// loses has the directory of the first topic fail: it acknowledges nothing more, the other goes on.
func (f *faulty) loses(ctx context.Context, op string) error {
	stop, err := f.writing(ctx)
	defer stop()
	if err != nil {
		return err
	}
	lost := 0 // the directory that goes
	if op == "move" {
		lost = 1
	}
	at, err := f.dirOf(ctx, f.logs[lost].topic)
	if err != nil {
		return err
	}
	name := filepath.Base(at)
	if op == "move" { // the first topic is on its way there, and stays where it is
		f.fs.set(fault{"write", name + "/first-0.", syscall.EIO})
		err = f.move(ctx, f.logs[0].topic, at)
	} else {
		f.fs.set(fault{op, name + "/" + f.logs[lost].topic + "-0/", syscall.EIO})
	}
	if err == nil && op == "read" {
		err = readOnce(ctx, f.b.Kafka, f.logs[lost].topic)
	}
	if err != nil {
		return err
	}
	if err := await(ctx, "failed directory", func() bool { return f.offline(ctx)[at] }); err != nil {
		return err
	}
	stopped, other := f.logs[lost].count(), f.logs[1-lost].count()
	if err := await(ctx, "record of the other directory", func() bool { return f.logs[1-lost].count() > other+50 }); err != nil {
		return err
	}
	if n := f.logs[lost].count() - stopped; n > 3 { // answers that were on their way
		return fmt.Errorf("%d records were acknowledged in a directory that has failed", n)
	}
	if f.fs.hit() == 0 || !f.b.Running() || len(f.offline(ctx)) != 1 {
		return fmt.Errorf("%d faults, running %v, offline %v", f.fs.hit(), f.b.Running(), f.offline(ctx))
	}
	return nil
}

// fills takes the room away: appends are refused, and taken again without a restart.
func (f *faulty) fills(ctx context.Context) error {
	stop, err := f.writing(ctx)
	defer stop()
	if err != nil {
		return err
	}
	f.fs.set(fault{"write", "", syscall.ENOSPC})
	if err := await(ctx, "refused records", func() bool { return f.logs[0].failed() > 0 && f.logs[1].failed() > 0 }); err != nil {
		return err
	}
	f.fs.set()
	first, second := f.logs[0].count(), f.logs[1].count()
	if err := await(ctx, "records after there was room again", func() bool { return f.logs[0].count() > first+20 && f.logs[1].count() > second+20 }); err != nil {
		return err
	}
	if off := f.offline(ctx); len(off) > 0 {
		return fmt.Errorf("a full disk took directories offline: %v", off)
	}
	stop()
	return errors.Join(verify(ctx, f.b.Kafka, f.logs[0]), verify(ctx, f.b.Kafka, f.logs[1]))
}

// ends has both directories fail: the broker stops by itself.
func (f *faulty) ends(ctx context.Context) error {
	stop, err := f.writing(ctx)
	defer stop()
	if err != nil {
		return err
	}
	f.fs.set(fault{"write", "", syscall.EIO})
	return gaveUp(ctx, f.b)
}

// offline are the directories that DescribeLogDirs tells with an error.
func (f *faulty) offline(ctx context.Context) map[string]bool {
	out := map[string]bool{}
	resp, err := f.describe(ctx)
	if err != nil {
		return out
	}
	for _, d := range resp.Dirs {
		if d.ErrorCode != 0 {
			out[d.Dir] = true
		}
	}
	return out
}

func (f *faulty) describe(ctx context.Context) (*kmsg.DescribeLogDirsResponse, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(f.b.Kafka))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return kmsg.NewPtrDescribeLogDirsRequest().RequestWith(ctx, cl.Broker(0))
}

// dirOf is where a topic lies.
func (f *faulty) dirOf(ctx context.Context, topic string) (string, error) {
	resp, err := f.describe(ctx)
	if err != nil {
		return "", err
	}
	for _, d := range resp.Dirs {
		for _, t := range d.Topics {
			if t.Topic == topic {
				return d.Dir, nil
			}
		}
	}
	return "", fmt.Errorf("topic %s is in no directory", topic)
}

func (f *faulty) move(ctx context.Context, topic, dir string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(f.b.Kafka))
	if err != nil {
		return err
	}
	defer cl.Close()
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	d := kmsg.NewAlterReplicaLogDirsRequestDir()
	d.Dir = dir
	d.Topics = append(d.Topics, kmsg.AlterReplicaLogDirsRequestDirTopic{Topic: topic, Partitions: []int32{0}})
	req.Dirs = append(req.Dirs, d)
	resp, err := req.RequestWith(ctx, cl.Broker(0))
	if err == nil && resp.Topics[0].Partitions[0].ErrorCode != 0 {
		err = fmt.Errorf("the move was refused: %d", resp.Topics[0].Partitions[0].ErrorCode)
	}
	return err
}

// readOnce reads the beginning of a topic, whatever comes of it.
func readOnce(ctx context.Context, address, topic string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	cl.PollFetches(ctx) // the answer is an error, or comes late
	return nil
}
