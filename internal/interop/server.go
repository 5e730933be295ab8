package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Server is a broker process that tests may kill and start again on the same data and port.
type Server struct {
	bin, dir string
	listen   string
	zk       string
	settings []string
	mu       sync.Mutex
	cmd      *exec.Cmd
	ended    chan struct{}
}

// readyLine is what the broker prints once it serves.
type readyLine struct {
	Event     string `json:"event"`
	Kafka     string `json:"kafka"`
	ZooKeeper string `json:"zookeeper"`
}

// StartServer runs bin on dir with a free port, and settings key=value.
func StartServer(bin, dir string, settings ...string) (*Server, error) {
	s := &Server{bin: bin, dir: dir, listen: "127.0.0.1:0", settings: settings}
	return s, s.Start()
}

// Addr is where clients connect.
func (s *Server) Addr() string { s.mu.Lock(); defer s.mu.Unlock(); return s.listen }

// ZooKeeper is where the broker's coordination listens.
func (s *Server) ZooKeeper() string { s.mu.Lock(); defer s.mu.Unlock(); return s.zk }

// Stop ends the broker cleanly.
func (s *Server) Stop() error { return s.Signal(syscall.SIGTERM) }

// Start runs the broker and returns when it is ready.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	log, err := os.OpenFile(s.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(s.bin, "server", "--data-dir", s.dir, "--listen", s.listen, "--zk-listen", "127.0.0.1:0",
		"--override", "group.initial.rebalance.delay.ms=0")
	for _, setting := range s.settings {
		s.cmd.Args = append(s.cmd.Args, "--override", setting)
	}
	s.cmd.Stderr = log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready readyLine
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil || ready.Event != "ready" {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		return fmt.Errorf("the broker did not start (%w): %q, see %s.log", err, line, s.dir)
	}
	s.listen, s.zk = ready.Kafka, ready.ZooKeeper
	ended := make(chan struct{})
	s.ended = ended
	cmd := s.cmd
	go func() { _ = cmd.Wait(); close(ended) }()
	return nil
}

// Signal sends a signal and waits for the end of the process.
func (s *Server) Signal(sig syscall.Signal) error {
	s.mu.Lock()
	cmd, ended := s.cmd, s.ended
	s.mu.Unlock()
	if err := cmd.Process.Signal(sig); err != nil {
		return err
	}
	<-ended
	return nil
}

// ExitCode is the code of the process that has ended.
func (s *Server) ExitCode() int { return s.cmd.ProcessState.ExitCode() }
