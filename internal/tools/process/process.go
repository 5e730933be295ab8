package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// readyWithin is how long Launch waits.
const readyWithin = time.Minute

// logTail is how much of its log the error of a process that was not ready shows, in bytes.
const logTail = 2000

// Process is one program that was started. A nil one has ended.
type Process struct {
	Kafka, ZooKeeper string // addresses in the ready line

	cmd *exec.Cmd // nil once it was waited for
	out io.Reader
	log string
}

// Launch starts a program and returns when it is ready.
func Launch(log string, argv ...string) (*Process, error) {
	p, err := Start(log, argv...)
	if err == nil {
		err = p.Ready(readyWithin)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Start runs a program that appends its standard error to a file, and does not wait until it is ready.
func Start(log string, argv ...string) (*Process, error) {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the process has its own descriptor
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr, cmd.SysProcAttr = f, diesWithUs()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Process{cmd: cmd, out: out, log: log}, nil
}

// Ready waits for the ready line. A process without one is ended.
func (p *Process) Ready(within time.Duration) error {
	cmd := p.cmd
	timer := time.AfterFunc(within, func() { _ = cmd.Process.Kill() }) // then the pipe ends
	defer timer.Stop()
	for lines := bufio.NewScanner(p.out); lines.Scan(); {
		var ready struct{ Event, Kafka, ZooKeeper string }
		if json.Unmarshal(lines.Bytes(), &ready) == nil && ready.Event == "ready" {
			p.Kafka, p.ZooKeeper = ready.Kafka, ready.ZooKeeper
			return nil
		}
	}
	_ = cmd.Process.Kill()
	err := p.Wait()
	text, readErr := os.ReadFile(p.log)
	return errors.Join(fmt.Errorf("%.200s was not ready; its log ends with\n%s", strings.Join(cmd.Args, " "), text[max(0, len(text)-logTail):]), err, readErr)
}

// Running tells whether the process has not ended.
func (p *Process) Running() bool { return p != nil && p.cmd != nil && !ended(p.cmd.Process.Pid) }

// Signal sends a signal and does not wait for what comes of it.
func (p *Process) Signal(sig syscall.Signal) error { return p.cmd.Process.Signal(sig) }

// Kill is kill -9, and waits until the process is gone.
func (p *Process) Kill() {
	if p != nil && p.cmd != nil {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.Wait()             // it says that it was killed
	}
}

// Stop ends it as its operator would; an error is one of the process too.
func (p *Process) Stop() error {
	if p == nil || p.cmd == nil {
		return nil
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := p.Wait(); err != nil {
		return fmt.Errorf("a clean stop: %w", err)
	}
	return nil
}

// Wait returns when the process has ended, with an error unless it ended well.
func (p *Process) Wait() error {
	err := p.cmd.Wait()
	p.cmd = nil
	return err
}
