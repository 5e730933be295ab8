package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// estate is one coordination server with the brokers on it.
type estate struct {
	apache, pelton string // the script and the binary
	real           bool   // coordination is Apache ZooKeeper
	version        string // of Kafka
	brokers        int
	dir            string
	zk             string
	zkPort         int
	ports          []int
	proc           *exec.Cmd // Pelton's coordination server
}

// free picks a port that nobody listens on.
func free() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// script runs internal/tools/apache and returns what it printed.
func (e *estate) script(in string, args ...string) (string, error) {
	cmd := exec.Command(e.apache, args...)
	cmd.Stdin = strings.NewReader(in)
	cmd.Env = append(os.Environ(), "HEAP=384m")
	// Servers that it leaves behind hold its standard error open: a file does not wait for them.
	errs, err := os.CreateTemp(e.dir, "stderr")
	if err != nil {
		return "", err
	}
	defer errs.Close()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, errs
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(errs.Name())
		return out.String(), fmt.Errorf("%s: %w: %.3000s%.1000s", strings.Join(args, " "), err, text, out.String())
	}
	return out.String(), nil
}

func (e *estate) startCoordination() error {
	if e.real {
		_, err := e.script("", "start", "zookeeper", "3.9.5", fmt.Sprint(e.zkPort), filepath.Join(e.dir, "zk"))
		return err
	}
	conf := filepath.Join(e.dir, "zoo.cfg")
	text := fmt.Sprintf("tickTime=2000\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n", filepath.Join(e.dir, "zk"), e.zkPort)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(e.dir, "zk.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	e.proc = exec.Command(e.pelton, "zk", "server", conf)
	e.proc.Stderr = log
	out, err := e.proc.StdoutPipe()
	if err != nil {
		return err
	}
	if err := e.proc.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct{ Event string }
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil || ready.Event != "ready" {
		return fmt.Errorf("the coordination server did not start: %q %w, see %s", line, err, log.Name())
	}
	return nil
}

// killCoordination is kill -9.
func (e *estate) killCoordination() error {
	if e.real {
		_, err := e.script("", "stop", filepath.Join(e.dir, "zk"), "KILL")
		return err
	}
	return e.endCoordination(syscall.SIGKILL)
}

func (e *estate) endCoordination(sig syscall.Signal) error {
	if e.proc == nil {
		return nil
	}
	if err := e.proc.Process.Signal(sig); err != nil {
		return err
	}
	err := e.proc.Wait()
	e.proc = nil
	if sig == syscall.SIGTERM && err != nil {
		return fmt.Errorf("a clean stop of the coordination server: %w", err)
	}
	return nil
}

func (e *estate) stopCoordination() error {
	if e.real {
		_, err := e.script("", "stop", filepath.Join(e.dir, "zk"))
		return err
	}
	return e.endCoordination(syscall.SIGTERM)
}

func (e *estate) brokerDir(id int) string { return filepath.Join(e.dir, fmt.Sprintf("broker-%d", id)) }

func (e *estate) startBroker(id int) error {
	args := []string{"start", "kafka", e.version, fmt.Sprint(e.ports[id]), e.brokerDir(id), e.zk, fmt.Sprintf("broker.id=%d", id),
		"zookeeper.session.timeout.ms=6000", "controlled.shutdown.enable=true", "auto.leader.rebalance.enable=false", "auto.create.topics.enable=false"}
	if e.brokers > 1 {
		args = append(args, "offsets.topic.replication.factor=3", "min.insync.replicas=2", "replica.lag.time.max.ms=10000")
	}
	_, err := e.script("", args...)
	return err
}

func (e *estate) endBroker(id int, sig string) error {
	_, err := e.script("", "stop", e.brokerDir(id), sig)
	return err
}

// cleanUp ends whatever still runs.
func (e *estate) cleanUp() {
	for id := range e.ports {
		_, _ = e.script("", "stop", e.brokerDir(id), "KILL")
	}
	if e.real {
		_, _ = e.script("", "stop", filepath.Join(e.dir, "zk"), "KILL")
	} else {
		_ = e.endCoordination(syscall.SIGKILL)
	}
}

// seeds are the brokers that clients begin with.
func (e *estate) seeds() string {
	var out []string
	for _, p := range e.ports {
		out = append(out, fmt.Sprintf("127.0.0.1:%d", p))
	}
	return strings.Join(out, ",")
}
