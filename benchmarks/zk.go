//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/perf/lab"
	"github.com/pelton-broker/pelton/zk/jute"
)

const (
	zkConns, zkWindow = 8, 16
	zkWatchers        = 1000
	zkIdlers          = 5000
	// zkDiscard: the first rounds of a Java server cost two to four times what the later ones do.
	zkDiscard = 3
)

// coordination starts both servers once; every row uses the same two, so that the Java one stays warm.
func (b *bench) coordination() ([]*target, error) {
	if b.zk != nil {
		return b.zk, nil
	}
	ours, err := b.peltonZK("zk-pelton")
	if err != nil {
		return nil, err
	}
	port, err := lab.FreePort()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.dir, "zk-apache")
	if err := b.script("start", "zookeeper", "3.9.5", strconv.Itoa(port), dir); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, err
	}
	p := &lab.Process{PID: pid, Stop: func() error { return b.script("stop", dir) }}
	theirs := b.track(&target{Process: p, name: "zookeeper", addr: fmt.Sprintf("127.0.0.1:%d", port), dir: dir})
	b.zk = []*target{ours, theirs}
	return b.zk, nil
}

func (b *bench) peltonZK(name string) (*target, error) {
	dir := filepath.Join(b.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "zoo.cfg")
	text := fmt.Sprintf("tickTime=2000\ndataDir=%s\nclientPort=0\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n", filepath.Join(dir, "data"))
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return nil, err
	}
	p, err := lab.StartReady(b.group, 10*time.Second, b.log, b.peltonBin, "zk", "server", conf)
	if err != nil {
		return nil, err
	}
	return b.track(&target{Process: p, name: "pelton", addr: p.Text("zookeeper"), dir: dir}), nil
}

// openZK opens a row whose sides are both servers, each doing round.
func (b zkField) openZK(name string, detail map[string]any, round func(t *target) (sample, error)) (*opened, error) {
	detail["servers"] = b.size
	o := b.open(name, detail)
	o.discard = max(o.discard, zkDiscard)
	o.warmTwice(32 << 20)
	servers, err := b.servers()
	if err != nil {
		return o, err
	}
	for _, t := range servers {
		o.side(t.name, func() (sample, error) { return round(t) })
	}
	return o, nil
}

// zkLoad is a row of operations at 8 sessions with 16 in flight.
func (b zkField) load(name string, ops int, setUp func(n int, c *zkConn) error, one func(n, i int, b []byte) (int32, []byte)) (*opened, error) {
	ops = int(float64(ops) * b.scale)
	o, err := b.openZK(name, map[string]any{"connections": zkConns, "in_flight": zkWindow, "operations": ops, "data_bytes": 100}, func(t *target) (sample, error) {
		w := &zkWork{t: t, conns: zkConns, window: zkWindow, ops: ops, setUp: setUp, one: one}
		before, err := t.CPU()
		if err != nil {
			return nil, err
		}
		took, lat, err := w.run(b.bench)
		if err != nil {
			return nil, err
		}
		after, err := t.CPU()
		at := func(q float64) float64 { return float64(lat[int(q*float64(len(lat)-1))]) / 1e3 }
		return sample{"cpu_us_per_request": (after - before) * 1e6 / float64(len(lat)), "requests_per_s": float64(len(lat)) / took.Seconds(),
			"p50_us": at(0.5), "p99_us": at(0.99)}, err
	})
	if err != nil {
		return o, err
	}
	o.atMost(name+": server CPU per operation", "pelton", "cpu_us_per_request", "µs", "zookeeper", 1.0/3)
	o.atMost(name+": p99", "pelton", "p99_us", "µs", "zookeeper", 0.5)
	o.info(name+": operations", "pelton", "requests_per_s", "/s", "zookeeper")
	return o, nil
}

func zkBody(b []byte, path string, data []byte) []byte {
	return jute.AppendBuffer(jute.AppendText(b, path), data)
}

func zkOpen() []jute.ACL {
	return []jute.ACL{{Perms: jute.PermAll, ID: jute.ID{Scheme: "world", ID: "anyone"}}}
}

func zkCreate(path string, data []byte, flags int32) func([]byte) []byte {
	return func(b []byte) []byte { return jute.AppendInt(jute.AppendACL(zkBody(b, path, data), zkOpen()), flags) }
}

// zkNode makes a session's own node, or takes the one of the round before.
func zkNode(n int, c *zkConn) error {
	err := c.call(jute.OpCreate, zkCreate(fmt.Sprintf("/bench-%d", n), make([]byte, 100), jute.FlagPersistent))
	if errors.Is(err, jute.NodeExists) {
		return nil
	}
	return err
}

func (b zkField) createRow([]*target) (*opened, error) {
	data := make([]byte, 100)
	return b.load(b.prefix+"-create", 40_000, zkNode, func(n, i int, b []byte) (int32, []byte) {
		path := fmt.Sprintf("/bench-%d/n%d", n, i/2)
		if i%2 == 0 {
			return jute.OpCreate, zkCreate(path, data, jute.FlagPersistent)(b)
		}
		return jute.OpDelete, jute.AppendInt(jute.AppendText(b, path), -1)
	})
}

func (b zkField) setRow([]*target) (*opened, error) {
	data := make([]byte, 100)
	return b.load(b.prefix+"-set", 40_000, zkNode, func(n, _ int, b []byte) (int32, []byte) {
		return jute.OpSetData, jute.AppendInt(zkBody(b, fmt.Sprintf("/bench-%d", n), data), -1)
	})
}

func (b zkField) getRow([]*target) (*opened, error) {
	return b.load(b.prefix+"-get", 80_000, zkNode, func(n, _ int, b []byte) (int32, []byte) {
		return jute.OpGetData, jute.AppendBool(jute.AppendText(b, fmt.Sprintf("/bench-%d", n)), false)
	})
}
