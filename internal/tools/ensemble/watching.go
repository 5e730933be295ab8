//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/internal/task"
)

// watcher reads znodes with a watch while others change them: what a session sees never goes back, and nobody sees a change before the event
// that tells of it.
type watcher struct {
	w    *work
	conn *zk.Conn
	// cuts counts lost connections. Around one the client sets its watches again, and what is told then is not judged.
	cuts atomic.Int64
	seen map[string]int64 // highest mzxid of each znode in this session
	told int              // changes that were seen behind their event
}

// watching is how many read with watches beside the clients.
const watching = 4

// watchers starts them; what is returned waits for them and says what they saw.
func (w *work) watchers(group *task.Group, seed int64) func() error {
	ended, told := make(chan error, watching), make(chan int, watching)
	for i := range watching {
		group.Go("watcher", func(context.Context) {
			n, err := w.watch(rand.New(rand.NewSource(seed + int64(i))))
			told <- n
			ended <- err
		})
	}
	return func() error {
		events, errs := 0, []error(nil)
		for range watching {
			events += <-told
			errs = append(errs, <-ended)
		}
		err := errors.Join(errs...)
		if err == nil {
			fmt.Printf("%d changes were told before they were seen, no session went back\n", events)
		}
		return err
	}
}

// readsPerWatch bounds how long a watch is waited for.
const readsPerWatch = 400

func (w *work) watch(rng *rand.Rand) (told int, err error) {
	v := &watcher{w: w}
	defer func() {
		if v.conn != nil {
			v.conn.Close()
		}
	}()
	for w.done.Load() < int64(w.want) {
		if v.conn == nil {
			hosts := []string{w.c.client(0), w.c.client(1), w.c.client(2)}
			v.conn, _, err = zk.Connect(hosts, sessionTime, zk.WithLogger(silent{}), zk.WithEventCallback(func(ev zk.Event) {
				if ev.State == zk.StateDisconnected {
					v.cuts.Add(1)
				}
			}))
			if err != nil {
				return v.told, err
			}
			v.seen = map[string]int64{}
		}
		window := w.done.Load() / (opsPerKey * keysAtOnce)
		err := v.once(fmt.Sprintf("/k/%d.%d", window, rng.Intn(keysAtOnce)))
		var wrong *violation
		switch {
		case errors.As(err, &wrong):
			return v.told, err
		case errors.Is(err, zk.ErrSessionExpired), errors.Is(err, zk.ErrClosing), errors.Is(err, zk.ErrSessionMoved):
			v.conn.Close()
			v.conn = nil
		}
	}
	return v.told, nil
}

// violation is something that ZooKeeper promises never to show.
type violation struct{ text string }

func (v *violation) Error() string { return v.text }

// once sets a watch and reads until the znode has changed.
func (v *watcher) once(key string) error {
	cuts := v.cuts.Load()
	_, stat, events, err := v.conn.GetW(key)
	if err != nil {
		return err
	}
	if err := v.see(key, stat); err != nil {
		return err
	}
	for range readsPerWatch {
		_, now, err := v.conn.Get(key)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		gone := err != nil
		if !gone {
			if err := v.see(key, now); err != nil {
				return err
			}
		}
		if !gone && now.Mzxid == stat.Mzxid && now.Czxid == stat.Czxid {
			continue
		}
		select {
		case <-events:
			v.told++
		default:
			if v.cuts.Load() == cuts {
				return &violation{fmt.Sprintf("a session saw %s change (mzxid %#x, then %#x, gone %v) before it was told", key, stat.Mzxid, mzxid(now, gone), gone)}
			}
		}
		return nil
	}
	return nil
}

func mzxid(s *zk.Stat, gone bool) int64 {
	if gone {
		return 0
	}
	return s.Mzxid
}

// see checks that a session is never shown an older state of a znode than before, whichever server it is on.
func (v *watcher) see(key string, s *zk.Stat) error {
	if s.Mzxid < v.seen[key] {
		return &violation{fmt.Sprintf("a session was shown %s of mzxid %#x after %#x", key, s.Mzxid, v.seen[key])}
	}
	v.seen[key] = s.Mzxid
	return nil
}
