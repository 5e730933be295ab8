//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/pelton-broker/pelton/internal/tools/process"
)

// harm is one run.
type harm struct {
	bin, dir string
	rng      *rand.Rand
	broker   *process.Process
	address  string
	starts   int // that were cut short by a kill
}

func main() {
	runtime.LockOSThread() // the broker dies with the thread that started it: it must be one that stays
	rounds := flag.Int("rounds", 10, "rounds; each kills the broker one to three times under load and then looks at everything")
	seed := flag.Int64("seed", 1, "of the moments and the records")
	bin := flag.String("bin", "bin/pelton", "the broker")
	flag.Parse()
	dir, err := os.MkdirTemp("", "killrounds-")
	if err == nil {
		h := &harm{bin: *bin, dir: dir, rng: rand.New(rand.NewSource(*seed)), address: "127.0.0.1:0"}
		err = h.run(*rounds)
		if err == nil {
			err = os.RemoveAll(dir)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "killrounds: seed %d, files in %s: %v\n", *seed, dir, err)
		os.Exit(1)
	}
}

func (h *harm) run(rounds int) error {
	ctx := context.Background()
	if err := h.start(true); err != nil {
		return err
	}
	defer func() { h.broker.Kill() }()
	if err := create(ctx, h.address); err != nil {
		return err
	}
	told, kills := newTold(), 0
	for round := range rounds {
		c := &crowd{told: told}
		c.start(h.address, int64(round)*1000)
		n := 1 + h.rng.Intn(3)
		for range n {
			if err := h.strike(told); err != nil {
				return errors.Join(err, c.stop())
			}
		}
		kills += n
		if err := c.stop(); err != nil {
			return err
		}
		if round%4 == 3 { // what a clean stop writes is looked at as well
			if err := h.broker.Stop(); err != nil {
				return err
			}
			if err := h.start(true); err != nil {
				return err
			}
		}
		if err := check(ctx, h.address, told); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	if err := h.broker.Stop(); err != nil {
		return err
	}
	out, err := exec.Command(h.bin, "log", "verify", filepath.Join(h.dir, "data", "logs")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("pelton log verify: %w: %s", err, out)
	}
	if kills >= 10 && h.starts == 0 {
		return errors.New("no kill hit a recovery: the run proves less than it says")
	}
	fmt.Printf("killrounds: %d rounds, %d kills, %d more while it recovered: %d acknowledged records, each where it was said to be\n", rounds, kills, h.starts, told.count.Load())
	return nil
}

// strike kills the broker when some more records are acknowledged, and starts it again, now and then after more kills before it was ready.
func (h *harm) strike(t *told) error {
	enough, end := t.count.Load()+200+int64(h.rng.Intn(4000)), time.Now().Add(time.Minute)
	for t.count.Load() < enough {
		if time.Now().After(end) {
			return fmt.Errorf("%d records were acknowledged within a minute, not %d more", t.count.Load(), enough)
		}
		time.Sleep(2 * time.Millisecond)
	}
	h.broker.Kill()
	for h.rng.Intn(2) == 0 {
		if err := h.start(false); err != nil {
			return err
		}
		time.Sleep(time.Duration(h.rng.Intn(150)) * time.Millisecond)
		h.broker.Kill()
		h.starts++
	}
	return h.start(true)
}

// start runs the broker; with wait it is ready afterwards.
func (h *harm) start(wait bool) (err error) {
	h.broker, err = process.Start(filepath.Join(h.dir, "broker.log"), h.bin, "server", "--data-dir", filepath.Join(h.dir, "data"), "--listen", h.address,
		"--zk-listen", "127.0.0.1:0", "--override", "offsets.topic.num.partitions=2", "--override", "log.retention.check.interval.ms=50",
		"--override", "pelton.log.recovery.wait.ms=600000", "--override", "auto.create.topics.enable=false")
	if err != nil || !wait {
		return err
	}
	if err := h.broker.Ready(time.Minute); err != nil {
		return err
	}
	h.address = h.broker.Kafka
	return nil
}
