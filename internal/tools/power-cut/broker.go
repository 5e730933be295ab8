package main

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/pelton-broker/pelton/internal/tools/process"
)

// startBroker starts a broker in a process of its own and waits until it is ready, with all of its logs there to be looked at.
func startBroker(bin, data, address, logFile string, more ...string) (*process.Process, error) {
	return process.Launch(logFile, append([]string{bin, "server", "--data-dir", data, "--listen", address, "--zk-listen", "127.0.0.1:0",
		"--override", "offsets.topic.num.partitions=2", "--override", "pelton.log.recovery.wait.ms=600000"}, more...)...)
}

// pause stops the process where it is, and gives answers that it has already sent the time to arrive.
func pause(b *process.Process) error {
	err := b.Signal(syscall.SIGSTOP)
	time.Sleep(30 * time.Millisecond)
	return err
}

// gaveUp waits until a broker has stopped by itself, as it must when no log directory is left, and has said with its exit code that it is wrong.
func gaveUp(ctx context.Context, b *process.Process) error {
	if err := await(ctx, "end of a broker without a log directory", func() bool { return !b.Running() }); err != nil {
		return err
	}
	if b.Wait() == nil {
		return errors.New("the broker stopped without an error")
	}
	return nil
}
