package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// broker is a real one in a process of its own.
type broker struct {
	cmd     *exec.Cmd
	address string
}

// startBroker starts it and waits for its ready line.
func startBroker(bin, data, address, logFile string, more ...string) (*broker, error) {
	errs, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = errs.Close() }() // the process has its own descriptor
	cmd := exec.Command(bin, "server", "--data-dir", data, "--listen", address, "--zk-listen", "127.0.0.1:0", "--override", "offsets.topic.num.partitions=2",
		"--override", "pelton.log.recovery.wait.ms=600000") // ready when all of it is there to be looked at
	cmd.Args = append(cmd.Args, more...)
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b := &broker{cmd: cmd}
	timer := time.AfterFunc(60*time.Second, func() { _ = cmd.Process.Kill() }) // then the pipe ends
	defer timer.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var ready struct{ Event, Kafka string }
		if json.Unmarshal(lines.Bytes(), &ready) == nil && ready.Event == "ready" {
			b.address = ready.Kafka
			return b, nil
		}
	}
	b.kill()
	return nil, fmt.Errorf("the broker did not start; see %s", filepath.Base(logFile))
}

// kill is kill -9, and waits until the process is gone.
func (b *broker) kill() {
	_ = b.cmd.Process.Signal(syscall.SIGKILL)
	_ = b.cmd.Wait() // it says that it was killed
}

// pause stops the process where it is, and gives answers that it has already sent the time to arrive.
func (b *broker) pause() error {
	err := b.cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(30 * time.Millisecond)
	return err
}

// running tells whether the process is still there.
func (b *broker) running() bool { return b.cmd.Process.Signal(syscall.Signal(0)) == nil }
