package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pelton-broker/pelton/internal/task"
)

// Process is a program under test.
type Process struct {
	PID   int
	Ready map[string]any // its ready line
	Stop  func() error
}

// StartReady starts a program that prints one JSON line with event=ready, and drains what follows. The program is killed when
// the calling thread ends: call it on one that stays.
func StartReady(group *task.Group, within time.Duration, logTo io.Writer, argv ...string) (*Process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = logTo
	cmd.SysProcAttr = diesWithUs()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	p := &Process{PID: cmd.Process.Pid}
	line := make(chan []byte, 1)
	done := make(chan error, 1)
	group.Go("output", func(context.Context) {
		in := bufio.NewScanner(out)
		in.Buffer(nil, 1<<20)
		first := true
		for in.Scan() {
			if first && strings.Contains(in.Text(), `"ready"`) {
				line <- append([]byte(nil), in.Bytes()...)
				first = false
			}
		}
		done <- cmd.Wait()
	})
	p.Stop = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		select {
		case err := <-done:
			return err
		case <-time.After(30 * time.Second):
			return errors.Join(fmt.Errorf("%s did not stop within 30 s", argv[0]), cmd.Process.Kill())
		}
	}
	select {
	case b := <-line:
		return p, json.Unmarshal(b, &p.Ready)
	case err := <-done:
		return nil, fmt.Errorf("%s ended before it was ready: %v", strings.Join(argv, " "), err)
	case <-time.After(within):
		return nil, errors.Join(fmt.Errorf("%s was not ready within %v", argv[0], within), p.Stop())
	}
}

// Text is a field of the ready line.
func (p *Process) Text(field string) string {
	switch v := p.Ready[field].(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// RSS is the resident memory in bytes: all of it, and the part that no file backs.
func (p *Process) RSS() (total, anon int64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
	if err != nil {
		return 0, 0, err
	}
	for _, l := range strings.Split(string(b), "\n") {
		f := strings.Fields(l)
		if len(f) < 2 {
			continue
		}
		kb, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			total = kb << 10
		case "RssAnon:":
			anon = kb << 10
		}
	}
	return total, anon, nil
}

// FreePort asks the kernel for a port that is free now.
func FreePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
