package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pelton-broker/pelton/internal/tools/process"
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
	proc           *process.Process // Pelton's coordination server
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
	var err error
	e.proc, err = process.Launch(filepath.Join(e.dir, "zk.log"), e.pelton, "zk", "server", conf)
	return err
}

// killCoordination is kill -9.
func (e *estate) killCoordination() error {
	if e.real {
		_, err := e.script("", "stop", filepath.Join(e.dir, "zk"), "KILL")
		return err
	}
	e.proc.Kill()
	return nil
}

func (e *estate) stopCoordination() error {
	if e.real {
		_, err := e.script("", "stop", filepath.Join(e.dir, "zk"))
		return err
	}
	return e.proc.Stop()
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
		e.proc.Kill()
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
