package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/pelton-broker/pelton/internal/tools/loopdisk"
	"github.com/pelton-broker/pelton/internal/tools/process"
)

// setup is what the rounds share.
type setup struct {
	ctx               context.Context // ends by a signal, so that mounts are given back
	bin, dir, address string
	logFile           string
}

func main() {
	runtime.LockOSThread() // the brokers die with the thread that started them: it must be one that stays
	rounds := flag.Int("rounds", 10, "power cuts on each file system")
	kinds := flag.String("fs", "ext4,xfs", "file systems")
	faults := flag.Int("faults", 1, "rounds on a device without room, where fsync fails, and on a full file system")
	fuse := flag.Int("fuse", 0, "rounds of each fault of a disk, on a FUSE file system")
	bin := flag.String("bin", "bin/pelton", "the broker")
	address := flag.String("listen", "127.0.0.1:0", "where the broker listens")
	flag.Parse()
	dir, err := os.MkdirTemp("", "power-cut-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "power-cut:", err)
		os.Exit(1)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	s := &setup{ctx: ctx, bin: *bin, dir: dir, address: *address, logFile: filepath.Join(dir, "broker.log")}
	err = s.all(strings.Split(*kinds, ","), *rounds, *faults)
	if err == nil && *fuse > 0 {
		err = s.diskFaults(*fuse)
	}
	switch {
	case errors.Is(err, loopdisk.ErrMissing):
		fmt.Println("power-cut:", err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "power-cut:", err)
		tail(s.logFile)
		_ = os.RemoveAll(dir)
		os.Exit(1)
	}
	_ = os.RemoveAll(dir) // in the directory for such
}

func tail(path string) {
	text, err := os.ReadFile(path)
	if err == nil {
		os.Stderr.Write(text[max(0, len(text)-3000):])
	}
}

func (s *setup) all(kinds []string, rounds, faults int) error {
	for _, kind := range kinds {
		if rounds == 0 {
			continue
		}
		if err := able(kind); err != nil {
			return err
		}
		if err := s.on(kind, func(v *volume) error { return s.cuts(v, rounds) }); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	for range faults {
		if err := able("ext4"); err != nil {
			return err
		}
		if err := s.on("ext4", s.fullDisk); err != nil {
			return fmt.Errorf("full disk: %w", err)
		}
		if err := s.on("failing", s.failingSync); err != nil {
			return fmt.Errorf("failing fsync: %w", err)
		}
	}
	return nil
}

func (s *setup) on(kind string, do func(*volume) error) error {
	v, err := newVolume(s.dir, kind)
	if v != nil {
		defer v.free()
	}
	if err != nil {
		return err
	}
	return do(v)
}

// cuts is the loop: write, cut, mount, start, look.
func (s *setup) cuts(v *volume, rounds int) error {
	var p *promised
	total := 0
	for round := range rounds {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		b, err := startBroker(s.bin, filepath.Join(v.Mount, "data"), s.address, s.logFile)
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		n, err := s.cut(b, v, &p, round)
		b.Kill()
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		total += n
		if err := errors.Join(v.Down(), v.Up()); err != nil {
			return err
		}
	}
	fmt.Printf("power-cut: %s: %d cuts and kills, %d acknowledged records, all there\n", v.kind, rounds, total)
	return nil
}

// cut is one round on a running broker.
func (s *setup) cut(b *process.Process, v *volume, at **promised, round int) (acked int, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, 60*time.Second)
	defer cancel()
	if *at != nil {
		if err := verify(ctx, b.Kafka, *at); err != nil {
			return 0, err
		}
	}
	if round%8 == 0 {
		*at = newPromised(fmt.Sprintf("cut-%s-%d", v.kind, round))
		if err := makeTopic(ctx, b.Kafka, (*at).topic, 1); err != nil {
			return 0, err
		}
	}
	p := *at
	before := p.count()
	stop := produce(b.Kafka, p, 6)
	// At some time; a cut before the first acknowledged record would prove nothing.
	for p.count() < before+1+rand.Intn(300) && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	if round%4 == 2 { // a kill alone: everything that was acknowledged up to it is there
		b.Kill()
		stop()
		return p.count() - before, nil
	}
	if round%2 == 0 { // nothing runs behind a real cut, so nothing is acknowledged there
		err = pause(b)
	}
	// An fsync that is on its way while ext4 is shut down may answer that all is well. So in the rounds where the broker goes on, what is
	// acknowledged during the call is not held against it; what comes later is.
	told := p.snapshot()
	err = errors.Join(err, v.ShutDown())
	if round%2 == 1 {
		p.gone.Store(true)
		err = errors.Join(err, gaveUp(ctx, b))
		p.gone.Store(false)
		if n := p.late.Swap(0); n > 0 {
			err = errors.Join(err, fmt.Errorf("%d records were acknowledged on a disk that was gone", n))
		}
	}
	b.Kill()
	stop()
	if round%2 == 1 {
		p.restore(told)
	}
	return p.count() - before, err
}

// fullDisk takes the room away under a producer: appends are refused until there is room again, and nothing is lost.
func (s *setup) fullDisk(v *volume) error {
	b, err := startBroker(s.bin, filepath.Join(v.Mount, "data"), s.address, s.logFile)
	if err != nil {
		return err
	}
	defer func() { b.Kill() }()
	ctx, cancel := context.WithTimeout(s.ctx, 90*time.Second)
	defer cancel()
	p := newPromised("full")
	if err := makeTopic(ctx, b.Kafka, p.topic, 1); err != nil {
		return err
	}
	stop := produce(b.Kafka, p, 4)
	defer stop()
	if err := await(ctx, "first record", func() bool { return p.count() > 100 }); err != nil {
		return err
	}
	filler := filepath.Join(v.Mount, "filler")
	if err := fill(filler); err != nil {
		return err
	}
	if err := await(ctx, "refused record", func() bool { return p.failed() > 0 }); err != nil {
		return err
	}
	if err := os.Remove(filler); err != nil {
		return err
	}
	full := p.count()
	if err := await(ctx, "record after there was room again", func() bool { return p.count() > full+100 }); err != nil {
		return err
	}
	stop()
	if err := verify(ctx, b.Kafka, p); err != nil {
		return err
	}
	b.Kill()
	if b, err = startBroker(s.bin, filepath.Join(v.Mount, "data"), s.address, s.logFile); err != nil {
		return err
	}
	if err := verify(ctx, b.Kafka, p); err != nil {
		return err
	}
	fmt.Printf("power-cut: full disk: refused, taken again without a restart, %d acknowledged records all there\n", p.count())
	return nil
}

// fill writes until there is no room.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for _, size := range []int{1 << 20, 4096} {
		block := make([]byte, size)
		for err = nil; err == nil; {
			_, err = f.Write(block)
		}
	}
	return f.Close()
}

// failingSync is a device whose blocks run out under the file system: writes go well and fsync fails. Nothing is acknowledged from then on,
// and what was acknowledged before is there after a restart.
func (s *setup) failingSync(v *volume) error {
	b, err := startBroker(s.bin, filepath.Join(v.Mount, "data"), s.address, s.logFile)
	if err != nil {
		return err
	}
	defer func() { b.Kill() }()
	ctx, cancel := context.WithTimeout(s.ctx, 90*time.Second)
	defer cancel()
	p := newPromised("failing")
	if err := makeTopic(ctx, b.Kafka, p.topic, 1); err != nil {
		return err
	}
	stop := produce(b.Kafka, p, 4)
	defer stop()
	if err := await(ctx, "first records", func() bool { return p.count() >= 200 }); err != nil {
		return err
	}
	if err := fill(filepath.Join(v.below, "filler")); err != nil { // the tmpfs under the image
		return err
	}
	if err := await(ctx, "refused record", func() bool { return p.failed() > 0 }); err != nil {
		return err
	}
	after := p.count()
	if err := gaveUp(ctx, b); err != nil {
		return err
	}
	stop()
	if n := p.count(); n > after {
		return fmt.Errorf("%d records were acknowledged after an fsync had failed", n-after)
	}
	if err := os.Remove(filepath.Join(v.below, "filler")); err != nil {
		return err
	}
	if err := errors.Join(v.Down(), v.Up()); err != nil {
		return err
	}
	if b, err = startBroker(s.bin, filepath.Join(v.Mount, "data"), s.address, s.logFile); err != nil {
		return err
	}
	if err := verify(ctx, b.Kafka, p); err != nil {
		return err
	}
	fmt.Printf("power-cut: failing fsync: nothing acknowledged behind it, %d acknowledged records all there\n", p.count())
	return nil
}
