//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pelton-broker/pelton/perf/lab"
)

// zkSize is the number of servers of an ensemble.
const zkSize = 3

// zkField is the coordination that a set of rows runs against: one server of each kind, or three.
type zkField struct {
	*bench
	prefix  string
	size    int
	servers func() ([]*target, error)
}

// zkRows are the rows of one field.
func (b *bench) zkRows(prefix string, size int, servers func() ([]*target, error)) []row {
	f := zkField{bench: b, prefix: prefix, size: size, servers: servers}
	return []row{{prefix + "-create", f.createRow}, {prefix + "-set", f.setRow}, {prefix + "-get", f.getRow}, {prefix + "-watch", f.watchRow},
		{prefix + "-connect", f.connectRow}, {prefix + "-idle", f.idleRow}, {prefix + "-start", f.startRow}}
}

// CPU is what all processes of a target have used.
func (t *target) CPU() (float64, error) {
	sum, err := t.Process.CPU()
	for _, p := range t.peers {
		one, peerErr := p.CPU()
		sum, err = sum+one, errors.Join(err, peerErr)
	}
	return sum, err
}

// RSS is what all processes of a target hold.
func (t *target) RSS() (total, anon int64, err error) {
	total, anon, err = t.Process.RSS()
	for _, p := range t.peers {
		moreTotal, moreAnon, peerErr := p.RSS()
		total, anon, err = total+moreTotal, anon+moreAnon, errors.Join(err, peerErr)
	}
	return total, anon, err
}

// at is the server that session i goes to.
func (t *target) at(i int) string {
	if len(t.addrs) == 0 {
		return t.addr
	}
	return t.addrs[i%len(t.addrs)]
}

// ensembles starts three servers of each kind once.
func (b *bench) ensembles() ([]*target, error) {
	if b.zk3 != nil {
		return b.zk3, nil
	}
	ours, err := b.peltonEnsemble("zk3-pelton")
	if err != nil {
		return nil, err
	}
	theirs, err := b.apacheEnsemble("zk3-apache")
	if err != nil {
		return nil, err
	}
	b.zk3 = []*target{ours, theirs}
	return b.zk3, nil
}

// serverLines are the lines of zoo.cfg that name the servers, and their clients' ports.
func serverLines() (lines []string, ports []int, err error) {
	var all [3 * zkSize]int
	for i := range all {
		if all[i], err = lab.FreePort(); err != nil {
			return nil, nil, err
		}
	}
	for i := range zkSize {
		lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d;127.0.0.1:%d", i+1, all[zkSize+i], all[2*zkSize+i], all[i]))
	}
	return append([]string{"initLimit=10", "syncLimit=5"}, lines...), all[:zkSize], nil
}

// member makes the directory of server i, which says its number.
func member(dir string, i int) (string, error) {
	under := filepath.Join(dir, strconv.Itoa(i+1))
	err := os.MkdirAll(filepath.Join(under, "data"), 0o755)
	return under, errors.Join(err, os.WriteFile(filepath.Join(under, "data", "myid"), []byte(strconv.Itoa(i+1)), 0o644))
}

// ensembleOf is the target of several servers, once a session can be opened on each.
func (b *bench) ensembleOf(name, dir string, ports []int, processes []*lab.Process) (*target, error) {
	first := *processes[0]
	first.Stop = func() error {
		var err error
		for _, p := range processes {
			err = errors.Join(err, p.Stop())
		}
		return err
	}
	t := b.track(&target{Process: &first, peers: processes[1:], name: name, addr: fmt.Sprintf("127.0.0.1:%d", ports[0]), dir: dir})
	for _, port := range ports {
		t.addrs = append(t.addrs, fmt.Sprintf("127.0.0.1:%d", port))
	}
	for _, addr := range t.addrs {
		if err := firstSession(addr); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), b.release(t))
		}
	}
	return t, nil
}

// firstSession opens a session as soon as the server lets it.
func firstSession(addr string) error {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		c, err := dialZK(addr)
		if err == nil {
			c.close()
			return nil
		}
		if time.Now().After(end) {
			return err
		}
	}
}

func (b *bench) peltonEnsemble(name string) (*target, error) {
	dir := filepath.Join(b.dir, name)
	lines, ports, err := serverLines()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("the same key on all three servers\n"), 0o600); err != nil {
		return nil, err
	}
	var processes []*lab.Process
	stop := func(err error) (*target, error) {
		for _, p := range processes {
			err = errors.Join(err, p.Stop())
		}
		return nil, err
	}
	for i := range zkSize {
		under, err := member(dir, i)
		if err != nil {
			return stop(err)
		}
		conf := filepath.Join(under, "zoo.cfg")
		text := append([]string{"tickTime=2000", "maxClientCnxns=0", "dataDir=" + filepath.Join(under, "data"), "pelton.ensemble.keyFile=" + filepath.Join(dir, "key")}, lines...)
		if err := os.WriteFile(conf, []byte(strings.Join(text, "\n")+"\n"), 0o644); err != nil {
			return stop(err)
		}
		p, err := lab.StartReady(b.group, 10*time.Second, b.log, b.peltonBin, "zk", "server", conf)
		if err != nil {
			return stop(err)
		}
		processes = append(processes, p)
	}
	return b.ensembleOf("pelton", dir, ports, processes)
}

// apacheEnsemble starts the three at once: none serves before there is a majority.
func (b *bench) apacheEnsemble(name string) (*target, error) {
	dir := filepath.Join(b.dir, name)
	lines, ports, err := serverLines()
	if err != nil {
		return nil, err
	}
	processes := make([]*lab.Process, zkSize)
	err = b.parallel(zkSize, func(i int) error {
		under, err := member(dir, i)
		if err != nil {
			return err
		}
		args := append([]string{"start", "zookeeper", "3.9.5", strconv.Itoa(ports[i]), under}, lines...)
		if err := b.script(args...); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(under, "pid"))
		if err != nil {
			return err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		processes[i] = &lab.Process{PID: pid, Stop: func() error { return b.script("stop", under) }}
		return err
	})
	if err != nil {
		for _, p := range processes {
			if p != nil {
				err = errors.Join(err, p.Stop())
			}
		}
		return nil, err
	}
	return b.ensembleOf("zookeeper", dir, ports, processes)
}

// parallel runs fn n times at once and waits for all.
func (b *bench) parallel(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Add(1)
		if !b.group.Go("zk-load", func(context.Context) { defer wg.Done(); errs[i] = fn(i) }) {
			wg.Done()
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}
