package api

import (
	"bytes"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/reactor/quota"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// Parts are what a Broker is built from.
type Parts struct {
	// Config is the configuration at start; Derive works the broker's options out of it, again after each dynamic change.
	Config *config.Broker
	Derive func(*config.Broker) Options
	Logs   *logstore.Manager
	Perf   *perf.Registry
	Group  *task.Group
	Clock  clock.Clock
	Log    *slog.Logger
	// After yields once the nanoseconds have gone by.
	After func(ns int64) <-chan time.Time
}

// Broker joins connections, logs and the cluster. It implements reactor.Hooks.
type Broker struct {
	table   *lookup
	base    *config.Broker
	config  atomic.Pointer[config.Broker]
	derive  func(*config.Broker) Options
	opts    atomic.Pointer[Options]
	server  *reactor.Server
	cluster *run.Controller
	logs    *logstore.Manager
	perf    *perf.Registry
	clock   clock.Clock
	log     *slog.Logger

	// pool runs handlers that may block, checks validates large compressed batches, work carries out the logs' blocking jobs.
	pool, checks, work *task.Pool

	// route is what requests are answered from; pending is the image whose partitions are being opened.
	route    atomic.Pointer[Route]
	pending  atomic.Pointer[meta.Image]
	cleaning *cleaning
	// publishing is held while a route is made.
	publishing sync.Mutex
	recoveries *recoveries
	// planning is held from the decision about a move until its shard knows: two requests for a partition must come there as they were decided.
	planning sync.Mutex
	// hosts belongs to the goroutine that publishes.
	hosts map[hostKey]*Hosted
	// makingOffsets: the topic of committed offsets is being created.
	makingOffsets atomic.Bool

	// converters hold the memory in which records are converted for old consumers, codecs their decoders.
	converters sync.Pool
	codecs     *batch.Codecs

	// limits are the client quotas, nil when none is set; quotas are what they were read from and belong to the goroutine that publishes.
	limits atomic.Pointer[quota.Limits]
	quotas map[meta.QuotaEntity]map[string]string
	book   *quota.Book
	// derived are the options that the route was made with; they belong to the goroutine that publishes.
	derived *Options
	// complaints bounds the lines of the log about what remotes sent.
	complaints complaints

	producerIDs producerIDs
	// stopped is closed when no shard runs any more.
	stopped  chan struct{}
	stopOnce sync.Once
}

// hostKey names a hosted partition for ever: a topic made anew under an old name is another one. Before 2.8 topics have no ids, and only names.
type hostKey struct {
	topic     meta.ID
	name      string
	partition int32
}

// NewBroker builds a broker that knows no topic yet.
func NewBroker(p Parts) *Broker {
	b := &Broker{table: newLookup(Rows()), base: p.Config, derive: p.Derive, logs: p.Logs, perf: p.Perf, clock: p.Clock, log: p.Log, hosts: map[hostKey]*Hosted{}, codecs: batch.NewCodecs(), stopped: make(chan struct{})}
	b.configure(p.Config)
	b.book = quota.NewBook(b.Options().QuotaWindows, b.Options().MutationWindows)
	b.route.Store(&Route{Image: &meta.Image{}, topics: map[string]*topicRoute{}, byID: map[meta.ID]*topicRoute{}})
	b.pool = task.NewPool(p.Group, "handler", b.Options().HandlerThreads)
	b.checks = task.NewPool(p.Group, "check", b.Options().CheckThreads)
	b.work = task.NewPool(p.Group, "log-work", b.Options().WorkThreads)
	b.recoveries = newRecoveries(p.Group, p.Logs.Dirs(), b.Options().RecoveryThreads, p.After)
	b.cleaning = newCleaning(p.Group, b.Options().CleanerThreads, b.Options().MoveThreads)
	return b
}

// Bind gives the broker its shards and its membership in the cluster; before the first request.
func (b *Broker) Bind(s *reactor.Server) { b.server = s }

// Join gives the broker its controller.
func (b *Broker) Join(c *run.Controller) { b.cluster = c }

// Options is the current view of the broker's options.
func (b *Broker) Options() *Options { return b.opts.Load() }

// Config is the current configuration, dynamic layers included.
func (b *Broker) Config() *config.Broker { return b.config.Load() }

// configure makes c the configuration.
func (b *Broker) configure(c *config.Broker) {
	o := b.derive(c)
	b.config.Store(c)
	b.opts.Store(&o)
}

// Image is the cluster as answers may tell it: all its partitions that are ours are open.
func (b *Broker) Image() *meta.Image { return b.route.Load().Image }

// Cluster is the controller.
func (b *Broker) Cluster() *run.Controller { return b.cluster }

// OnStart implements reactor.Hooks.
func (b *Broker) OnStart(s *reactor.Shard) error {
	l := &Local{broker: b, shard: s, set: b.perf.Shard(s.ID), hosts: map[*logstore.Log]*Hosted{}, decoded: reactor.NewBudget(b.Options().DecodedBytes)}
	l.fetchSessions.byID = map[int32]*fetchSession{}
	l.backend, l.migrates = backendOf(s.Disk), b.Options().Migrate && len(b.server.Shards()) > 1
	l.ahead = b.Options().ReadAhead
	l.submits = l.follow
	s.State = l
	l.armRetention()
	return nil
}

// OnStop implements reactor.Hooks.
func (b *Broker) OnStop(*reactor.Shard) {}

// OnOpen implements reactor.Hooks.
func (b *Broker) OnOpen(s *reactor.Shard, c *netpoll.Conn) {
	sess := &Session{conn: c, local: localOf(s)}
	c.User = sess
	b.greet(sess, c)
}

// OnClose implements reactor.Hooks.
func (b *Broker) OnClose(s *reactor.Shard, c *netpoll.Conn, cause error) {
	sess := c.User.(*Session)
	if sess.local.countClose(cause) == perf.CloseFrame {
		b.complain(sess, "connection closed", "err", cause.Error())
	}
	sess.close()
}

// OnFrame implements reactor.Hooks.
func (b *Broker) OnFrame(_ *reactor.Shard, c *netpoll.Conn, f netpoll.Frame) {
	s := c.User.(*Session)
	if s.barrier > 0 || len(s.held) > 0 {
		s.hold(f)
		return
	}
	b.onFrame(s, f)
}

// OnDisk implements reactor.Hooks.
func (b *Broker) OnDisk(s *reactor.Shard, op *disk.Op) {
	l := localOf(s)
	l.countDisk(op)
	switch owner := op.Owner.(type) {
	case *logstore.Log:
		owner.OnDisk(op)
		if h := l.hosts[owner]; h != nil {
			l.touch(h)
		}
	case diskOwner:
		owner.diskDone(l)
	}
}

// OnTurn implements reactor.Hooks.
func (b *Broker) OnTurn(s *reactor.Shard) {
	l := localOf(s)
	l.feedStarved() // first: what it lets go on may append
	l.turnLogs()
	l.finishWoken()
	l.relaxPaused()
	l.part()
}

// onFrame takes one request in its turn.
func (b *Broker) onFrame(s *Session, f netpoll.Frame) {
	h, body, err := wire.ParseHeader(f.B, b.table.flexibleFrom)
	if err != nil {
		f.Buf.Release()
		b.refuse(s, h, err)
		return
	}
	s.local.countRequests(h.Key, 1, f.B)
	s.identify(h.ClientID)
	row := b.table.row(h.Key)
	switch {
	case row == nil || (h.Key != int16(kmsg.ApiVersions) && (h.Version < row.Min || h.Version > row.Max)):
		f.Buf.Release()
		b.refuse(s, h, fmt.Errorf("key %d version %d is not served", h.Key, h.Version))
	case h.Key == keyProduce:
		b.onProduce(s, f, h, &body)
	case h.Key == keyFetch:
		b.onFetch(s, f, h, &body)
	default:
		b.onSlow(s, f, h, &body, row)
	}
}

// onSlow decodes a request of the slow path and runs its handler where its row says.
func (b *Broker) onSlow(s *Session, f netpoll.Frame, h wire.Header, body *wire.Reader, row *Row) {
	r := &Request{Key: h.Key, Version: h.Version, Corr: h.Corr, ClientID: string(h.ClientID), Principal: "User:" + s.user(),
		Remote: s.conn.Remote, session: s, home: s.local.shard, startNs: s.local.shard.Now(), user: s.user(), meter: s.usage.request}
	r.run()
	if row.Where == OnPool && s.inFlight > 0 {
		// Kafka takes a connection's next request when the last is answered. What reads or changes more than one partition's log must look
		// the same here: a topic is not deleted under a produce request that came before.
		s.alone = true
		s.precede(f)
		s.local.countRequests(h.Key, -1, f.B) // it is counted when it comes again
		return
	}
	if !authorize(s, row, "") {
		f.Buf.Release()
		s.conn.Close(errDenied)
		return
	}
	if !s.admit(r, f, row) {
		return
	}
	if h.Version <= row.Max { // ApiVersions answers versions it cannot decode
		if err := b.table.shapes[h.Key].Check(*body, h.Version, h.Flexible); err != nil {
			f.Buf.Release()
			r.giveBack()
			b.refuse(s, h, err)
			return
		}
		r.Msg = kmsg.RequestForKey(h.Key)
		r.Msg.SetVersion(h.Version)
		// kmsg's byte fields are views of what it reads, and the frame goes back before the handler runs.
		if err := r.Msg.ReadFrom(bytes.Clone(body.Rest())); err != nil {
			f.Buf.Release()
			r.giveBack()
			b.refuse(s, h, err)
			return
		}
	}
	f.Buf.Release()
	s.enter(&r.slot, r)
	if row.Where == OnConn {
		r.direct = true
		row.Handle(b, r)
		return
	}
	r.alone = true
	s.raise()
	r.rest()
	if err := b.pool.Do(func() { r.run(); row.Handle(b, r) }); err != nil {
		s.conn.Close(err)
	}
	s.local.shard.WokeGoroutine()
}

// refuse closes a connection whose request cannot be answered, with one line that says why.
func (b *Broker) refuse(s *Session, h wire.Header, err error) {
	s.local.set.Add(perf.BadFrames, 1)
	b.complain(s, "request refused, connection closed", "api", h.Key, "version", h.Version, "client", string(h.ClientID), "err", err.Error())
	s.conn.Close(fmt.Errorf("%w: %w", errProtocol, err))
}

// On runs fn on the shard that owns a partition; fn gets ErrNotHosted, on the caller's goroutine, when it is not open here.
func (b *Broker) On(topic string, partition int32, fn func(h *Hosted, err error)) {
	t := b.route.Load().topics[topic]
	if t == nil || t.host(partition) == nil {
		fn(nil, fmt.Errorf("%w: %s-%d", ErrNotHosted, topic, partition))
		return
	}
	h := t.host(partition)
	h.shard.Post(&visit{host: h, fn: fn})
}

// visit is a call on a partition's shard.
type visit struct {
	host *Hosted
	fn   func(h *Hosted, err error)
}

// Deliver implements reactor.Message.
func (v *visit) Deliver(s *reactor.Shard) {
	if v.host.gone {
		v.fn(nil, ErrNotHosted)
		return
	}
	v.fn(v.host, nil)
	localOf(s).touch(v.host)
}

// ShardsStopped ends every wait for a shard that will not answer: when one has failed, or after the server has stopped, before the pools do.
func (b *Broker) ShardsStopped() {
	b.stopOnce.Do(func() {
		close(b.stopped)
		b.giveUpAll()
	})
}

// Wait runs fn on the partition's shard and returns when it has run. For handlers in the pool.
func (b *Broker) Wait(topic string, partition int32, fn func(h *Hosted)) error {
	done := make(chan error, 1)
	b.On(topic, partition, func(h *Hosted, err error) {
		if err == nil {
			fn(h)
		}
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-b.stopped:
		return ErrNotHosted
	}
}

// Detach lets a handler that runs on the connection's shard reply later, from anywhere. What waits so long, for other members of a group
// say, does not keep others from being decoded.
func (r *Request) Detach() {
	r.direct = false
	r.rest()
	r.giveBack()
}

// ToPool moves a request from the connection's shard to the pool.
func (b *Broker) ToPool(r *Request, fn func()) {
	r.Detach()
	if err := b.pool.Do(func() { r.run(); fn() }); err != nil {
		r.session.conn.Close(err)
	}
	r.home.WokeGoroutine()
}
