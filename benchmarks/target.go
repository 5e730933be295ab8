//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/perf/lab"
	"github.com/pelton-broker/pelton/perf/load"
)

// target is a program that the load is given to.
type target struct {
	*lab.Process
	name  string
	addr  string
	peers []*lab.Process // the other servers of an ensemble
	addrs []string       // of its servers
	admin string         // address of its metrics page, if it has one
	dir   string         // where its data lies
	floor bool
}

// bench is what all contests share.
type bench struct {
	peltonBin, floorBin, apache string
	natsBin                     string
	rivalNames                  []string // other servers and versions of Kafka that take part
	dir                         string
	group                       *task.Group
	log                         io.Writer
	pairs, discard              int   // rounds that count, and rounds before them that do not
	bytes                       int64 // of record batches in a round of a throughput row
	scale                       float64
	latency                     time.Duration // length of a latency round
	running                     []*target
	zk, zk3                     []*target // coordination servers, alone and in threes, started by the first row that wants them
}

// brokerOverrides make deleted segments' pages come back quickly (bench.md rule 3).
func brokerOverrides() []string {
	return []string{"log.retention.check.interval.ms=1000", "auto.create.topics.enable=false"}
}

// pelton starts the broker under test with its data in a directory of that name.
func (b *bench) pelton(dir string, overrides ...string) (*target, error) {
	return b.brokerOf(b.peltonBin, "pelton", dir, overrides...)
}

func (b *bench) brokerOf(binary, name, under string, overrides ...string) (*target, error) {
	dir := filepath.Join(b.dir, under)
	argv := []string{binary, "server", "--data-dir", dir, "--listen", "127.0.0.1:0", "--zk-listen", "127.0.0.1:0"}
	for _, o := range append(append(brokerOverrides(), "admin.listener=127.0.0.1:0"), overrides...) {
		argv = append(argv, "--override", o)
	}
	p, err := lab.StartReady(b.group, 30*time.Second, b.log, argv...)
	if err != nil {
		return nil, err
	}
	return b.track(&target{Process: p, name: name, addr: p.Text("kafka"), admin: p.Text("admin"), dir: dir}), nil
}

// floorProgram starts one of the floors, e.g. "sink", "-sync".
func (b *bench) floorProgram(name string, args ...string) (*target, error) {
	dir := filepath.Join(b.dir, "floor")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	argv := append([]string{b.floorBin, args[0], "-dir", dir}, args[1:]...)
	p, err := lab.StartReady(b.group, 10*time.Second, b.log, argv...)
	if err != nil {
		return nil, err
	}
	return b.track(&target{Process: p, name: name, addr: "127.0.0.1:" + p.Text("port"), dir: dir, floor: true}), nil
}

// kafka starts Apache Kafka with a ZooKeeper of its own, or in KRaft mode from 4 on.
func (b *bench) kafka(version string) (*target, error) {
	dir := filepath.Join(b.dir, "kafka-"+version)
	zk := filepath.Join(dir, "zk")
	port, err := b.portPair()
	if err != nil {
		return nil, err
	}
	mode := "kraft"
	if !strings.HasPrefix(version, "4.") {
		zkPort, err := lab.FreePort()
		if err != nil {
			return nil, err
		}
		mode = fmt.Sprintf("127.0.0.1:%d", zkPort)
		if err := b.script("start", "zookeeper", "3.9.5", strconv.Itoa(zkPort), zk); err != nil {
			return nil, err
		}
	}
	args := append([]string{"start", "kafka", version, strconv.Itoa(port), dir, mode}, brokerOverrides()...)
	if err := b.script(args...); err != nil {
		return nil, err
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err != nil {
		return nil, err
	}
	p := &lab.Process{PID: n, Stop: func() error {
		err := b.script("stop", dir)
		if mode != "kraft" {
			err = b.script("stop", zk)
		}
		return err
	}}
	return b.track(&target{Process: p, name: "kafka-" + version, addr: fmt.Sprintf("127.0.0.1:%d", port), dir: filepath.Join(dir, "data")}), nil
}

// portPair is a free port whose successor is free too, as a KRaft broker wants it.
func (b *bench) portPair() (int, error) {
	for range 50 {
		p, err := lab.FreePort()
		if err != nil || p > 60000 {
			continue
		}
		return p, nil
	}
	return 0, fmt.Errorf("no free port")
}

func (b *bench) script(args ...string) error {
	cmd := exec.Command(b.apache, args...)
	cmd.Stdout, cmd.Stderr = b.log, b.log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", b.apache, strings.Join(args, " "), err)
	}
	return nil
}

func (b *bench) track(t *target) *target {
	b.running = append(b.running, t)
	return t
}

// stopAll ends everything that is still running, newest first.
func (b *bench) stopAll() {
	for i := len(b.running) - 1; i >= 0; i-- {
		if err := b.running[i].Stop(); err != nil {
			fmt.Fprintf(b.log, "stopping %s: %v\n", b.running[i].name, err)
		}
	}
	b.running = nil
}

// release stops one target.
func (b *bench) release(t *target) error {
	for i, r := range b.running {
		if r == t {
			b.running = append(b.running[:i], b.running[i+1:]...)
			return t.Stop()
		}
	}
	return nil
}

// topic makes a topic on a broker and waits until every partition has its leader.
func (t *target) topic(name string, partitions int, config map[string]string) error {
	if t.floor {
		return nil
	}
	c, err := load.DialControl(t.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var leaders []string
		// A broker that has just started may not know itself yet.
		_, err := c.CreateTopic(name, partitions, config)
		if err == nil {
			leaders, err = c.Leaders(name)
		}
		if err == nil && len(leaders) == partitions {
			// Kafka names a leader before it has become one.
			if _, err = c.Offsets(name, upTo(partitions), load.AtEnd); err == nil {
				return nil
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("topic %s has no leaders: %v", name, err)
		}
	}
}

func (t *target) dropTopic(name string) error {
	if t.floor {
		return nil
	}
	c, err := load.DialControl(t.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.DeleteTopic(name)
}

// work runs requests of a workload and measures the target's processor time around them.
func (t *target) work(b *bench, w load.Workload, requests int64) (sample, error) {
	w.Addr, w.Floor = t.addr, t.floor
	rig, err := load.NewRig(w)
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	before, err := t.CPU()
	if err != nil {
		return nil, err
	}
	out, err := rig.Closed(b.group.Context(), requests)
	if err != nil {
		return nil, err
	}
	after, err := t.CPU()
	if err != nil {
		return nil, err
	}
	return sampleOf(out, after-before), nil
}

func sampleOf(out load.Outcome, cpu float64) sample {
	s, sec := sample{}, out.Elapsed.Seconds()
	s["cpu_us_per_request"] = cpu * 1e6 / float64(out.Requests)
	s["requests_per_s"] = float64(out.Requests) / sec
	s["p50_us"] = float64(out.Quantile(0.5)) / 1e3
	s["p99_us"] = float64(out.Quantile(0.99)) / 1e3
	if out.Bytes > 0 {
		s["cpu_s_per_gb"] = cpu / (float64(out.Bytes) / 1e9)
		s["mb_per_s"] = float64(out.Bytes) / 1e6 / sec
	}
	return s
}
