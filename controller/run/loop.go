package run

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/plan"
	"github.com/pelton-broker/pelton/zk/client"
)

// loop is the goroutine that owns the cluster's state. Its turn: events become a list of what must be read again, that
// is read and repaired, commands are carried out, the new image is published, deletions end, commands are answered.
type loop struct {
	c       *Controller
	o       *Options
	version ibp
	zk      *client.Client
	store   *store

	registered bool // our id is in /brokers/ids under this session
	elected    bool // the election was held in this session: we are active, or know who is
	active     bool
	epoch      int32 // controller epoch of our term

	cur       *meta.Image // the state as we know it, published or not
	published *meta.Image
	stale     stale
	removals  map[string]int // topics whose image is gone and whose znodes are not → number of partitions
	change    int64          // sequence number of the last change notification that was looked at
	answers   []answer

	lost map[string][]int32 // by topic, the partitions that this broker says it cannot serve
	ask  bool               // they may be others since it was asked
}

// stale is what must be read again.
type stale struct {
	all       bool
	office    bool // /controller
	brokers   bool
	topics    bool // the list
	deletions bool
	changes   bool
	dirs      bool            // reports of failed log directories
	preferred bool            // tools' requests for elections
	reassign  bool            // and for other replicas
	one       map[string]bool // topics whose znode changed
}

type answer struct {
	cmd *command
	err error
}

func newLoop(c *Controller, p *Prepared) *loop {
	l := &loop{
		c: c, o: p.Options, version: p.version, zk: p.zk, store: &store{zk: p.zk},
		removals: map[string]int{}, change: -1,
	}
	b := meta.NewBuilder(nil)
	b.SetCluster(p.ClusterID)
	l.cur = b.Build()
	l.published = nil
	c.loop = l
	return l
}

// run is the goroutine. start bounds the way to the first image, whose end is told to ready.
func (l *loop) run(ctx, start context.Context, ready chan<- error) {
	defer close(l.c.over)
	defer l.end()
	first, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(start, cancel)
	err := l.begin(first)
	if !stop() && err == nil {
		err = start.Err()
	}
	cancel()
	ready <- err
	if err != nil {
		return
	}
	var retry time.Duration
	for {
		l.c.inbox.wait(ctx, retry)
		if ctx.Err() != nil || l.c.inbox.stopped() {
			return
		}
		retry = l.turn(ctx)
		if retry < 0 {
			return
		}
	}
}

// begin is the first turns, repeated while ZooKeeper stumbles, until an image is published.
func (l *loop) begin(ctx context.Context) error {
	l.stale.all = true
	for {
		l.takeEvents()
		err := l.refresh(ctx)
		if err == nil {
			l.publish()
			if err = l.settleLost(ctx); err == nil {
				err = l.finishRemovals(ctx)
			}
			if err != nil {
				l.failed(err)
			}
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if fatal(err) || errors.Is(err, client.ErrClosed) || errors.Is(err, client.ErrNoAuth) {
			return err
		}
		l.failed(err)
		l.c.inbox.wait(ctx, l.o.RetryEvery)
	}
}

func fatal(err error) bool { return errors.Is(err, ErrBrokerIDTaken) }

// turn returns after which pause the loop shall try again by itself; 0 for none, below 0 to end.
func (l *loop) turn(ctx context.Context) (retry time.Duration) {
	l.takeEvents()
	err := l.refresh(ctx)
	if err == nil {
		for _, cmd := range l.c.inbox.takeCommands() {
			l.carryOut(ctx, cmd)
		}
		l.publish()
		if err = l.settleLost(ctx); err == nil {
			err = l.finishRemovals(ctx)
		}
	}
	switch {
	case err == nil && l.stale.all: // a command found something out
		retry = l.o.RetryEvery
	case err == nil:
	case fatal(err):
		l.o.Log.Error("the broker cannot stay in the cluster", "err", err)
		if l.o.Fatal != nil {
			l.o.Fatal(err)
		}
		retry = -1
	case errors.Is(err, client.ErrClosed):
		retry = -1
	default:
		l.failed(err)
		retry = l.o.RetryEvery
	}
	l.answer()
	return retry
}

// failed notes what an error means for what we believed. Reading everything again is always right.
func (l *loop) failed(err error) {
	l.o.Log.Warn("reading or writing the cluster's state failed, it is read again", "err", err)
	l.stale.all = true
	if errors.Is(err, errFenced) {
		l.resign()
	}
}

func (l *loop) resign() {
	l.elected, l.active = false, false
	l.c.active.Store(false)
}

func (l *loop) takeEvents() {
	for _, ev := range l.c.inbox.takeEvents() {
		switch ev.Kind {
		case client.Expired:
			l.lostSession()
		case client.Connected:
			l.c.lost.Store(false)
		case client.Disconnected:
			l.c.lost.Store(true)
		default:
			l.touched(ev)
		}
	}
}

func (l *loop) lostSession() {
	l.o.Log.Warn("the ZooKeeper session has expired, the broker registers anew", "broker", l.c.id)
	l.registered = false
	l.resign()
	l.stale.all = true
	if l.o.OnSessionLost != nil {
		l.o.OnSessionLost()
	}
	l.fence()
}

// touched notes what a watch event makes stale.
func (l *loop) touched(ev client.Event) {
	switch {
	case ev.Path == pathController:
		l.stale.office = true
	case ev.Path == pathBrokerIDs || strings.HasPrefix(ev.Path, pathBrokerIDs+"/"):
		l.stale.brokers = true
	case ev.Path == pathTopics:
		l.stale.topics = true
	case ev.Path == pathDeletions:
		l.stale.deletions = true
	case ev.Path == pathConfigChanges:
		l.stale.changes = true
	case ev.Path == pathLogDirEvents:
		l.stale.dirs = true
	case ev.Path == pathPreferred:
		l.stale.preferred = true
	case ev.Path == pathReassign:
		l.stale.reassign = true
	case strings.HasPrefix(ev.Path, pathTopics+"/"):
		name, _, _ := strings.Cut(ev.Path[len(pathTopics)+1:], "/")
		if l.stale.one == nil {
			l.stale.one = map[string]bool{}
		}
		l.stale.one[name] = true
	}
}

// refresh brings registration, election and state up to date. A mark of stale falls only when its reading succeeded.
func (l *loop) refresh(ctx context.Context) error {
	if !l.registered {
		if err := l.register(ctx); err != nil {
			return err
		}
	}
	if l.elected && l.stale.office {
		if err := l.refreshOffice(ctx); err != nil {
			return err
		}
	}
	if !l.elected {
		if err := l.elect(ctx); err != nil {
			return err
		}
	}
	l.stale.office = false
	if l.stale.all {
		if err := l.load(ctx); err != nil {
			return err
		}
		l.stale = stale{}
		return nil
	}
	steps := []struct {
		due *bool
		run func(context.Context) error
	}{
		{&l.stale.brokers, l.refreshBrokers}, {&l.stale.dirs, l.refreshDirs}, {&l.stale.changes, l.refreshChanges}, {&l.stale.topics, l.refreshTopics},
		{&l.stale.deletions, l.refreshDeletions}, {&l.stale.preferred, l.refreshPreferred}, {&l.stale.reassign, l.refreshReassign},
	}
	for _, s := range steps {
		if !*s.due {
			continue
		}
		if err := s.run(ctx); err != nil {
			return err
		}
		*s.due = false
	}
	for name := range l.stale.one {
		if err := l.refreshTopic(ctx, name); err != nil {
			return err
		}
		delete(l.stale.one, name)
	}
	if !l.registered || l.stale.all { // the reading found more than it looked for
		return l.refresh(ctx)
	}
	return nil
}

func (l *loop) carryOut(ctx context.Context, cmd *command) {
	err := cmd.ctx.Err() // nobody waits any more
	if err == nil && !l.active && !cmd.anyMember {
		err = plan.Refuse(ErrNotController, "broker %d is not the active controller", l.c.id)
	}
	if err == nil {
		// The command's own context ends the waiting of its caller, never a write half-way.
		err = cmd.run(ctx)
	}
	var refusal *plan.Error
	if err != nil && !errors.As(err, &refusal) {
		l.failed(err)
		if errors.Is(err, errFenced) || errors.Is(err, client.ErrSessionExpired) {
			err = errors.Join(ErrNotController, err)
		}
	}
	l.answers = append(l.answers, answer{cmd, err})
}

// publish hands the current state upward when it differs from the last one handed.
func (l *loop) publish() {
	if l.cur == l.published {
		return
	}
	img := *l.cur
	img.Version = 1
	if l.published != nil {
		img.Version = l.published.Version + 1
	}
	before := l.published
	l.cur, l.published = &img, &img
	if l.o.Publish != nil {
		l.o.Publish(&img)
	}
	l.ask = true
	l.c.image.Store(&img)
	if l.active && l.o.Broadcast != nil {
		l.o.Broadcast.Broadcast(meta.Diff(before, &img))
	}
}

func (l *loop) answer() {
	for _, a := range l.answers {
		a.cmd.done <- a.err
	}
	l.answers = l.answers[:0]
}

// update applies fn to the current state.
func (l *loop) update(fn func(b *meta.Builder)) {
	b := meta.NewBuilder(l.cur)
	fn(b)
	if b.Changed() {
		l.cur = b.Build()
	}
}

// leaving tells a topic whose image is gone while its znodes are not.
func (l *loop) leaving(name string) bool { _, is := l.removals[name]; return is }

func (l *loop) live(id int32) bool { return l.cur.Brokers[id] != nil }

// end runs when the loop is over, for whatever reason: the session ends at once, and nobody waits for ever.
func (l *loop) end() {
	l.c.active.Store(false)
	l.zk.Close()
	l.c.inbox.stop()
	for _, cmd := range l.c.inbox.takeCommands() {
		l.answers = append(l.answers, answer{cmd, ErrClosed})
	}
	l.answer()
}
