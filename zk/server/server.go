package server

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"

	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/zk/ensemble"
	"github.com/pelton-broker/pelton/zk/txnlog"
)

// Server is one running coordination server.
type Server struct {
	o        Options
	group    *task.Group
	listener *netpoll.Listener
	limiter  *netpoll.Limiter
	fronts   fronts
	// recoverMs is how long the files took to read.
	recoverMs int64
	mail      mailbox
	done      chan struct{}
	mu        struct {
		sync.Mutex
		err error
	}
	unlock func() error
	member *ensemble.Member // nil when the server is alone
}

// mailbox carries closures from other goroutines to the loop: new sockets, finished snapshots, the stop.
type mailbox struct {
	mu struct {
		sync.Mutex
		queue  []func(*loop)
		closed bool
	}
	wake func()
}

// put queues fn; false when the loop has ended.
func (m *mailbox) put(fn func(*loop)) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.closed {
		return false
	}
	m.mu.queue = append(m.mu.queue, fn)
	if len(m.mu.queue) == 1 { // else the loop was woken and has not looked yet
		m.wake()
	}
	return true
}

func (m *mailbox) take() []func(*loop) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.mu.queue
	m.mu.queue = nil
	return out
}

func (m *mailbox) close() []func(*loop) {
	m.mu.Lock()
	m.mu.closed = true
	m.mu.Unlock()
	return m.take()
}

// Start recovers the state on disk and listens.
func Start(o Options) (*Server, error) {
	o.setDefaults()
	snapDir, logDir := o.DataDir+"/"+txnlog.Sub, o.DataLogDir+"/"+txnlog.Sub
	for _, dir := range []string{snapDir, logDir} {
		if err := o.FS.MkdirAll(dir); err != nil {
			return nil, fmt.Errorf("zk/server: %w", err)
		}
	}
	lock, err := o.FS.Lock(o.DataDir + "/.lock")
	if err != nil {
		return nil, fmt.Errorf("zk/server: %s is in use: %w", o.DataDir, err)
	}
	begunNs := o.Clock.Mono()
	rec, err := txnlog.Recover(o.FS, snapDir, logDir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("zk/server: recovery: %w", err), lock.Close())
	}
	secret, err := loadSecret(o)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s := &Server{o: o, group: task.NewGroup(), done: make(chan struct{}), unlock: lock.Close}
	s.recoverMs = (o.Clock.Mono() - begunNs) / 1e6
	s.limiter = netpoll.NewLimiter(o.MaxCnxns, o.MaxClientCnxns, nil)
	if o.Ensemble != nil {
		cfg := *o.Ensemble
		if cfg.TLS, err = o.peerTLS(); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
		if s.member, err = ensemble.Open(cfg, o.FS, snapDir, o.DataLogDir, rec, o.Random, o.Log); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
	}
	if s.listener, err = netpoll.Listen(o.ClientAddr, netpoll.ListenOptions{Limiter: s.limiter}); err != nil {
		s.abandon()
		return nil, errors.Join(err, lock.Close())
	}
	if err := s.openFronts(); err != nil {
		s.listener.Close()
		s.closeFronts()
		s.abandon()
		return nil, errors.Join(err, lock.Close())
	}
	started := make(chan error, 1)
	s.group.Go("zk-loop", func(context.Context) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(s.done)
		l, err := newLoop(s, rec, secret, snapDir, logDir)
		started <- err
		if err == nil {
			s.fail(l.run())
		}
	})
	if err := <-started; err != nil {
		s.listener.Close()
		s.closeFronts()
		s.abandon()
		s.group.Stop()
		return nil, errors.Join(err, lock.Close())
	}
	s.startFronts()
	for _, torn := range rec.Torn {
		o.Log.Info("zk log ends in a torn write that nobody was answered for", "dir", torn)
	}
	return s, nil
}

// abandon ends the member of a server that does not come up.
func (s *Server) abandon() {
	if s.member != nil {
		s.member.Abandon()
	}
}

// fail keeps the first error and tells the owner.
func (s *Server) fail(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	s.mu.err = err
	s.mu.Unlock()
	s.o.Log.Error("zk server ends", "err", err)
	s.listener.Close()
	s.closeFronts()
	if s.o.Fatal != nil {
		s.o.Fatal(err)
	}
}

// Addr is where clients connect.
func (s *Server) Addr() netip.AddrPort { return s.listener.Addr() }

// Stop ends the server; sessions live on in the log.
func (s *Server) Stop() error {
	s.listener.Close()
	s.closeFronts()
	s.mail.put(func(l *loop) { l.stopping = true })
	<-s.done
	s.group.Stop()
	s.listener.Release()
	s.mu.Lock()
	err := s.mu.err
	s.mu.Unlock()
	return errors.Join(err, s.unlock())
}
