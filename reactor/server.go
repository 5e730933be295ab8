package reactor

import (
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelton-broker/pelton/internal/arena"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/netpoll"
)

// Server starts, feeds and stops the shards. Its go statements are the only ones of the data plane.
type Server struct {
	o      Options
	h      Hooks
	shards []*Shard
	seen   []uint64

	stopping atomic.Bool // connections close, what is in flight completes
	final    atomic.Bool // loops end
	pokes    chan struct{}
	joined   sync.WaitGroup // shards
	left     sync.WaitGroup // loops that may still wake each other
	helpers  sync.WaitGroup // accept goroutines and the watch
	quit     chan struct{}
	maxProcs int // GOMAXPROCS before Start
	accepts  struct {
		sync.Mutex
		listeners []*netpoll.Listener
		last      int
		closed    bool
	}
}

// New prepares a server; nothing runs before Start.
func New(o Options, h Hooks) *Server {
	o.setDefaults()
	v := &Server{o: o, h: h, pokes: make(chan struct{}, 1), quit: make(chan struct{}), seen: make([]uint64, o.Shards)}
	for i := range o.Shards {
		s := &Shard{ID: i, server: v, h: h, clock: o.Clock, Budget: NewBudget(o.BudgetBytes)}
		s.in = make([]*ring, o.Shards)
		v.shards = append(v.shards, s)
	}
	for _, from := range v.shards {
		from.out = make([]outbox, o.Shards)
		for _, to := range v.shards {
			from.out[to.ID].to = to
			if from != to {
				r := newRing(o.MailSlots)
				from.out[to.ID].ring, to.in[from.ID] = r, r
			}
		}
	}
	return v
}

// Shards are all shards, by ID.
func (v *Server) Shards() []*Shard { return v.shards }

// Start runs the shards and returns when every one's OnStart has returned; with the first error when one failed, and then nothing runs.
func (v *Server) Start() error {
	if !v.o.KeepMaxProcs {
		v.maxProcs = runtime.GOMAXPROCS(v.o.Shards + 2)
	}
	cpus := netpoll.UsableCPUs()
	started := make(chan error, len(v.shards))
	v.joined.Add(len(v.shards))
	v.left.Add(len(v.shards))
	for i, s := range v.shards {
		cpu := -1
		if v.o.Pin && len(cpus) > 0 {
			cpu = cpus[i%len(cpus)]
		}
		go v.run(s, cpu, started)
	}
	var first error
	for range v.shards {
		if err := <-started; err != nil && first == nil {
			first = err
		}
	}
	if first != nil {
		v.Stop()
		return first
	}
	if v.o.SlowTurnNs > 0 && v.o.OnSlowTurn != nil {
		v.helpers.Add(1)
		go v.watch()
	}
	return nil
}

// run is a shard's goroutine. It never unlocks its thread, so that the thread, which may be pinned and owns a ring, ends with it.
func (v *Server) run(s *Shard, cpu int, started chan<- error) {
	runtime.LockOSThread()
	defer v.joined.Done()
	err := s.setUp(cpu)
	if err == nil {
		if err = s.h.OnStart(s); err != nil {
			err = fmt.Errorf("shard %d: %w", s.ID, err)
		}
	}
	s.halt.dead.Store(err != nil)
	started <- err
	if err == nil {
		for !s.halt.finished(s) {
			if err = s.turn(); err != nil {
				v.fatal(s, err)
				break
			}
		}
	}
	s.halt.dead.Store(true)
	v.poke()
	// Nobody's poller is closed while another loop could still wake it.
	v.left.Done()
	v.left.Wait()
	s.shut()
}

func (v *Server) fatal(s *Shard, err error) {
	if v.o.OnFatal == nil {
		invariant.Broken("reactor: poller failed", s.ID, err)
	}
	v.o.OnFatal(s.ID, err)
}

// setUp makes what has to be made on the shard's own thread.
func (s *Shard) setUp(cpu int) (err error) {
	o := &s.server.o
	s.slow.init()
	if cpu >= 0 {
		if err := netpoll.PinThread(cpu); err != nil {
			return fmt.Errorf("shard %d: pin to CPU %d: %w", s.ID, cpu, err)
		}
	}
	s.now, s.wallMs = s.clock.Mono(), s.clock.WallMs()
	s.wheel.init(s.now)
	s.Arena = arena.New(arena.Options{MaxBytes: o.ArenaBytes})
	no := o.Net
	no.IDBase = uint64(s.ID+1) << 48
	no.Reserve, no.Unreserve = s.Budget.Take, s.Budget.Give
	if s.Net, err = netpoll.NewNet(no, s.Arena, netHandler{s}); err != nil {
		return fmt.Errorf("shard %d: %w", s.ID, err)
	}
	s.Net.SetNow(s.now)
	if s.Disk, err = s.openDisk(); err != nil {
		return fmt.Errorf("shard %d: disk: %w", s.ID, err)
	}
	if fd := s.Disk.WakeFD(); fd >= 0 {
		if err := s.Net.Watch(fd, s.Disk.ResetWake); err != nil {
			return fmt.Errorf("shard %d: %w", s.ID, err)
		}
	}
	s.load.atNs = s.now
	s.load.seats.Store(seatsOf(0))
	s.sweep.Fire = (*Shard).sweepNet
	s.Arm(&s.sweep, sweepIdleNs)
	return nil
}

// openDisk opens the shard's disk, on its thread.
func (s *Shard) openDisk() (disk.Disk, error) {
	o := &s.server.o
	if o.OpenDisk != nil {
		return o.OpenDisk(s.ID)
	}
	do := o.Disk
	if cpus := netpoll.UsableCPUs(); o.WorkersOnShard && len(cpus) > 0 {
		do.IOWorkerCPUs = []int{cpus[s.ID%len(cpus)]}
	}
	if o.FixedBuffers {
		do.FixedBuffers = func(seen int) [][]byte {
			if s.Arena.SlabCount() == seen {
				return nil
			}
			return s.Arena.Slabs()[seen:]
		}
	}
	d, probe, err := disk.Open(do)
	if err == nil && o.OnProbe != nil {
		o.OnProbe(s.ID, probe)
	}
	return d, err
}

const (
	sweepIdleNs = 1_000_000_000
	sweepBusyNs = 100_000_000
	sweepFew    = 1024 // connections that one Sweep covers
)

// sweepNet is the shard's housekeeping: limits of connections, published counters.
func (s *Shard) sweepNet() {
	s.Net.Sweep(s.now)
	s.publish()
	every := int64(sweepIdleNs)
	if s.Net.Conns() > sweepFew {
		every = sweepBusyNs
	}
	s.Arm(&s.sweep, every)
}

// shut gives back what setUp made.
func (s *Shard) shut() {
	p := &s.posts
	p.closed.Store(true)
	for p.posting.Load() > 0 {
		runtime.Gosched()
	}
	if s.Disk != nil {
		if s.Net != nil {
			s.publish()
			if fd := s.Disk.WakeFD(); fd >= 0 {
				_ = s.Net.Unwatch(fd)
			}
		}
		s.Disk.Close()
	}
	if s.Net != nil {
		s.Net.Close()
	}
	s.dropMoves()
	if s.Arena != nil && s.Arena.InUse() == 0 {
		// Otherwise the host still holds buffers: their memory stays, which is harmless at the end of a process.
		s.Arena.Close()
	}
}

// watch looks for turns that do not end. It runs only when somebody wants to be told.
func (v *Server) watch() {
	defer v.helpers.Done()
	tick := time.NewTicker(max(time.Duration(v.o.SlowTurnNs)/2, 5*time.Millisecond))
	defer tick.Stop()
	seen := make([]uint64, len(v.shards))
	for {
		select {
		case <-v.quit:
			return
		case <-tick.C:
			for i, s := range v.shards {
				s.slow.look(&seen[i])
			}
		}
	}
}

// Serve accepts connections of l until Stop, which closes l.
func (v *Server) Serve(l *netpoll.Listener) { v.ServeAs(l, 0) }

// ServeAs is Serve with a number that Conn.Listener shows.
func (v *Server) ServeAs(l *netpoll.Listener, listener int) {
	v.accepts.Lock()
	defer v.accepts.Unlock()
	if v.accepts.closed {
		l.Release()
		return
	}
	v.accepts.listeners = append(v.accepts.listeners, l)
	v.helpers.Add(1)
	go v.accept(l, listener)
}

// accept hands each connection to the shard with the fewest.
func (v *Server) accept(l *netpoll.Listener, listener int) {
	defer v.helpers.Done()
	defer l.Release()
	for {
		fd, remote, err := l.Accept()
		if err != nil {
			return
		}
		s := v.fewest()
		s.coming.Add(1)
		s.Post(&adopt{fd: fd, remote: remote, listener: listener})
	}
}

// fewest is the shard with the fewest connections; among equals the next in turn.
func (v *Server) fewest() *Shard {
	v.accepts.Lock()
	defer v.accepts.Unlock()
	n := len(v.shards)
	best := v.shards[(v.accepts.last+1)%n]
	for i := 2; i <= n; i++ {
		if s := v.shards[(v.accepts.last+i)%n]; s.Conns() < best.Conns() {
			best = s
		}
	}
	v.accepts.last = best.ID
	return best
}

// adopt carries an accepted socket to its shard.
type adopt struct {
	fd       int
	remote   netip.AddrPort
	listener int
}

// Deliver implements Message.
func (a *adopt) Deliver(s *Shard) {
	s.adopted++
	s.Net.AdoptFrom(a.fd, a.remote, a.listener)
	if s.halt.begun {
		closeAll(s)
	}
}

func closeAll(s *Shard) {
	s.Net.Each(func(c *netpoll.Conn) { c.Close(netpoll.ErrClosed) })
}

func (v *Server) poke() {
	select {
	case v.pokes <- struct{}{}:
	default:
	}
}

// Stop closes the listeners and the connections, lets everything in flight complete on all shards, and joins them. It may be called more
// than once, by one goroutine at a time.
func (v *Server) Stop() {
	v.accepts.Lock()
	already := v.accepts.closed
	v.accepts.closed = true
	listeners := v.accepts.listeners
	v.accepts.Unlock()
	if already {
		return
	}
	for _, l := range listeners {
		l.Close()
	}
	close(v.quit)
	v.helpers.Wait()
	v.stopping.Store(true)
	v.wakeAll()
	for !v.allQuiet() {
		<-v.pokes
	}
	v.final.Store(true)
	v.wakeAll()
	v.joined.Wait()
	if v.maxProcs > 0 {
		runtime.GOMAXPROCS(v.maxProcs)
	}
}

// wakeAll makes sleeping shards look at the server's flags; one that is about to sleep has looked at them after saying so.
func (v *Server) wakeAll() {
	for _, s := range v.shards {
		s.notify()
	}
}
