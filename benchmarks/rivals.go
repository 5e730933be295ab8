//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pelton-broker/pelton/perf/lab"
	"github.com/pelton-broker/pelton/perf/load"
)

// errAbsent is returned when a rival's package is not on this machine; the message says which and how to get it.
var errAbsent = errors.New("not on this machine")

// rivals starts those of the names that do not speak Kafka's protocol; what is absent comes back as a reason.
func (b *bench) rivals(names []string, sync bool) (list []*rival, absent []string, err error) {
	for _, name := range names {
		var r *rival
		var err error
		switch name {
		case "nats":
			r, err = b.nats(sync)
		case "redis":
			r, err = b.redis(sync)
		case "rabbitmq":
			if sync {
				absent = append(absent, "rabbitmq: its streams have no fsync before the confirmation")
				continue
			}
			r, err = b.rabbit()
		default:
			continue // a version of Kafka
		}
		if errors.Is(err, errAbsent) {
			absent = append(absent, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		if err != nil {
			return list, absent, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, r)
	}
	return list, absent, nil
}

func (b *bench) nats(sync bool) (*rival, error) {
	if _, err := os.Stat(b.natsBin); err != nil {
		return nil, fmt.Errorf("%w: %s (make bench-rivals builds it)", errAbsent, b.natsBin)
	}
	dir := filepath.Join(b.dir, fmt.Sprintf("nats-%v", sync))
	p, err := lab.StartReady(b.group, 20*time.Second, b.log, b.natsBin, "-dir", dir, fmt.Sprintf("-sync=%v", sync))
	if err != nil {
		return nil, err
	}
	return &rival{b.track(&target{Process: p, name: "nats", addr: p.Text("addr"), dir: dir}), func() tongue { return &natsTongue{} }}, nil
}

// program starts a server that says nothing of itself and waits until it accepts connections.
func (b *bench) program(name string, port int, env []string, argv ...string) (*target, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Env = b.log, b.log, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	b.group.Go("server", func(context.Context) { done <- cmd.Wait() })
	p := &lab.Process{PID: cmd.Process.Pid, Stop: func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		case <-time.After(30 * time.Second):
			return errors.Join(fmt.Errorf("%s did not stop within 30 s", name), cmd.Process.Kill())
		}
	}}
	t := b.track(&target{Process: p, name: name, addr: fmt.Sprintf("127.0.0.1:%d", port)})
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", t.addr, time.Second)
		if err == nil {
			return t, c.Close()
		}
		if time.Now().After(end) {
			return nil, errors.Join(fmt.Errorf("%s does not listen on %s", name, t.addr), b.release(t))
		}
	}
}

func (b *bench) redis(sync bool) (*rival, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("%w: redis-server (apt-get install redis-server)", errAbsent)
	}
	port, err := lab.FreePort()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.dir, fmt.Sprintf("redis-%v", sync))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	// Every command is in the append-only file before it is answered; with sync it is on the disk.
	fsync := map[bool]string{true: "always", false: "no"}[sync]
	t, err := b.program("redis", port, nil, path, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "yes",
		"--appendfsync", fsync, "--auto-aof-rewrite-percentage", "0")
	return &rival{t, func() tongue { return &redisTongue{} }}, err
}

// rabbit starts a node with the stream plugin alone. The process that counts is the Erlang machine, which the script becomes the parent of.
func (b *bench) rabbit() (*rival, error) {
	path, err := exec.LookPath("rabbitmq-server")
	if err != nil {
		return nil, fmt.Errorf("%w: rabbitmq-server (apt-get install rabbitmq-server)", errAbsent)
	}
	var ports [4]int // AMQP, streams, Erlang's own, its port mapper
	for i := range ports {
		if ports[i], err = lab.FreePort(); err != nil {
			return nil, err
		}
	}
	dir := filepath.Join(b.dir, "rabbitmq")
	conf := filepath.Join(dir, "rabbitmq.conf")
	err = os.MkdirAll(dir, 0o755)
	for name, text := range map[string]string{
		conf:                                fmt.Sprintf("listeners.tcp.1 = 127.0.0.1:%d\nstream.listeners.tcp.1 = 127.0.0.1:%d\n", ports[0], ports[1]),
		filepath.Join(dir, "plugins"):       "[rabbitmq_stream].\n",
		filepath.Join(dir, "advanced.conf"): "[].\n",
	} {
		err = errors.Join(err, os.WriteFile(name, []byte(text), 0o644))
	}
	if err != nil {
		return nil, err
	}
	env := []string{"HOME=" + dir, "RABBITMQ_NODENAME=pelton" + strconv.Itoa(ports[0]) + "@localhost", "RABBITMQ_CONFIG_FILE=" + conf, "RABBITMQ_ENABLED_PLUGINS_FILE=" + filepath.Join(dir, "plugins"),
		"RABBITMQ_MNESIA_BASE=" + filepath.Join(dir, "data"), "RABBITMQ_LOG_BASE=" + filepath.Join(dir, "log"), "RABBITMQ_DIST_PORT=" + strconv.Itoa(ports[2]),
		"ERL_EPMD_PORT=" + strconv.Itoa(ports[3]), "RABBITMQ_PID_FILE=" + filepath.Join(dir, "pid")}
	// Debian's script changes the user unless it is called by the library's own path.
	if own := "/usr/lib/rabbitmq/bin/rabbitmq-server"; fileExists(own) {
		path = own
	}
	t, err := b.program("rabbitmq", ports[1], env, path)
	if err != nil {
		return nil, err
	}
	shell := t.Process
	machine, err := erlangBelow(shell.PID)
	if err != nil {
		return nil, errors.Join(err, b.release(t))
	}
	t.Process = &lab.Process{PID: machine, Stop: func() error {
		err := syscall.Kill(machine, syscall.SIGTERM)
		err = errors.Join(err, waitGone(machine, 30*time.Second))
		kill := exec.Command("epmd", "-port", strconv.Itoa(ports[3]), "-kill")
		kill.Env = append(os.Environ(), "ERL_EPMD_PORT="+strconv.Itoa(ports[3]))
		_ = kill.Run() // it may have gone with the node
		return err
	}}
	return &rival{t, func() tongue { return &rabbitTongue{} }}, nil
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// erlangBelow finds the Erlang machine among the descendants of a process, or the process itself after an exec.
func erlangBelow(pid int) (int, error) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", todo[0]))
			if strings.HasPrefix(string(name), "beam") {
				return todo[0], nil
			}
			children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", todo[0], todo[0]))
			for _, f := range strings.Fields(string(children)) {
				if n, err := strconv.Atoi(f); err == nil {
					todo = append(todo, n)
				}
			}
		}
	}
	return 0, fmt.Errorf("no Erlang machine below process %d", pid)
}

func waitGone(pid int, within time.Duration) error {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(state, []byte(") Z ")) {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("process %d did not end within %v", pid, within), syscall.Kill(pid, syscall.SIGKILL))
}

// rivalRow is the same records for Pelton, in the batches that its clients make, and for servers that take records one by one.
func (b *bench) rivalRow(name string, bytes, records int, sync, fetch bool) func(brokers []*target) (*opened, error) {
	return func(brokers []*target) (*opened, error) {
		const conns, streams, window = 8, 6, 512
		records := max(conns*100, int(float64(records)*b.scale)) / conns * conns
		durability := map[bool]string{true: "fsync before the answer", false: "page cache"}[sync]
		o := b.open(name, map[string]any{"record_bytes": bytes, "records": records, "connections": conns, "streams": streams, "durability": durability})
		rivals, absent, err := b.rivals(b.rivalNames, sync)
		for _, r := range rivals {
			o.targets = append(o.targets, r.target)
		}
		if err != nil {
			return o, err
		}
		o.skipped = absent
		j := job{name: strings.ReplaceAll(name, "-", "_"), conns: conns, streams: streams, window: window, records: records, record: make([]byte, bytes)}
		rand.New(rand.NewSource(1)).Read(j.record) //nolint:gosec // bytes of no meaning
		o.warmTwice(int64(records * bytes))
		for _, t := range brokers {
			if err := b.brokerSide(o, t, j, sync, fetch); err != nil {
				return o, err
			}
		}
		for _, r := range rivals {
			if fetch {
				if _, err := r.produce(b, j); err != nil {
					return o, err
				}
				o.side(r.name, func() (sample, error) { return r.consume(b, j) })
				continue
			}
			o.side(r.name, func() (sample, error) { return r.produce(b, j) })
		}
		for _, s := range o.sides {
			over := "pelton"
			if s.name == over {
				over = ""
			}
			o.info(name+": CPU per record", s.name, "cpu_us_per_record", "µs", over)
			o.info(name+": rate", s.name, "records_per_s", "/s", over)
		}
		return o, nil
	}
}

// brokerSide gives a broker of Kafka's protocol the job: batches of 16 KiB, five requests outstanding on each connection.
func (b *bench) brokerSide(o *opened, t *target, j job, sync, fetch bool) error {
	config := recycled(int64(j.records * len(j.record)))
	if sync {
		config["flush.messages"] = "1"
	}
	if fetch {
		config = nil
	}
	if err := t.topic(o.name, j.streams, config); err != nil {
		return err
	}
	per := max(1, 16<<10/(len(j.record)+12))
	batch, err := load.BuildBatch(load.BatchSpec{Records: per, RecordBytes: len(j.record), Random: 1, TimeMs: nowMs()})
	if err != nil {
		return err
	}
	w := load.Workload{Kind: load.Produce, Connections: j.conns, InFlight: 5, Topic: o.name, Partitions: upTo(j.streams), Acks: 1, Batch: batch}
	requests := int64(j.records / per)
	round := func() (sample, error) { return perRecord(t.work(b, w, requests))(per) }
	if !fetch {
		o.side(t.name, round)
		return nil
	}
	if _, err := round(); err != nil {
		return err
	}
	f := load.Workload{Kind: load.Fetch, Connections: j.streams, InFlight: 1, Topic: o.name, Partitions: upTo(j.streams), MaxBytes: 1 << 20, MaxWaitMs: 500, From: map[int32]int64{}, To: map[int32]int64{}}
	for p := range int32(j.streams) {
		n := requests / int64(j.streams) * int64(per) // what every partition has at least
		f.To[p] = n
	}
	o.side(t.name, func() (sample, error) { return t.readAll(b, f) })
	return nil
}

// perRecord turns a sample of requests into one of records.
func perRecord(s sample, err error) func(per int) (sample, error) {
	return func(per int) (sample, error) {
		if err != nil {
			return nil, err
		}
		s["cpu_us_per_record"], s["records_per_s"] = s["cpu_us_per_request"]/float64(per), s["requests_per_s"]*float64(per)
		return s, nil
	}
}

// readAll reads the workload's stretches once.
func (t *target) readAll(b *bench, w load.Workload) (sample, error) {
	w.Addr = t.addr
	rig, err := load.NewRig(w)
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	before, err := t.CPU()
	if err != nil {
		return nil, err
	}
	out, err := rig.ClosedFor(b.group.Context(), time.Minute)
	if err != nil {
		return nil, err
	}
	after, err := t.CPU()
	s := sampleOf(out, after-before)
	s["cpu_us_per_record"], s["records_per_s"] = (after-before)*1e6/float64(out.Records), float64(out.Records)/out.Elapsed.Seconds()
	return s, err
}
