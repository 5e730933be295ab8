//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// harm is one run.
type harm struct {
	bin, dir string
	rng      *rand.Rand
	cmd      *exec.Cmd
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
	defer func() { h.kill() }()
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
			if err := h.stop(); err != nil {
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
	if err := h.stop(); err != nil {
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
	h.kill()
	for h.rng.Intn(2) == 0 {
		if err := h.start(false); err != nil {
			return err
		}
		time.Sleep(time.Duration(h.rng.Intn(150)) * time.Millisecond)
		h.kill()
		h.starts++
	}
	return h.start(true)
}

// start runs the broker; with wait it is ready afterwards.
func (h *harm) start(wait bool) error {
	log, err := os.OpenFile(filepath.Join(h.dir, "broker.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	h.cmd = exec.Command(h.bin, "server", "--data-dir", filepath.Join(h.dir, "data"), "--listen", h.address, "--zk-listen", "127.0.0.1:0",
		"--override", "offsets.topic.num.partitions=2", "--override", "log.retention.check.interval.ms=50", "--override", "pelton.log.recovery.wait.ms=600000", "--override", "auto.create.topics.enable=false")
	h.cmd.Stderr = log
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := h.cmd.Start(); err != nil {
		return err
	}
	if !wait {
		return nil
	}
	timer := time.AfterFunc(time.Minute, func() { _ = h.cmd.Process.Kill() }) // then the pipe ends
	defer timer.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var ready struct{ Event, Kafka string }
		if json.Unmarshal(lines.Bytes(), &ready) == nil && ready.Event == "ready" {
			h.address = ready.Kafka
			return nil
		}
	}
	h.kill()
	return errors.New("the broker did not start")
}

// kill is kill -9, and waits until the process is gone.
func (h *harm) kill() {
	if h.cmd != nil {
		_ = h.cmd.Process.Signal(syscall.SIGKILL)
		_ = h.cmd.Wait() // it says that it was killed
		h.cmd = nil
	}
}

func (h *harm) stop() error {
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := h.cmd.Wait()
	h.cmd = nil
	if err != nil {
		return fmt.Errorf("a clean stop: %w", err)
	}
	return nil
}
