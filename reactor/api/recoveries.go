package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/logstore"
)

// recoveries are the partitions here whose logs are read after a stop that was not clean, while the others are served. Until theirs is done
// they have no leader for clients, which ask again: none of their records is lost, and none is refused for good.
type recoveries struct {
	after func(ns int64) <-chan time.Time
	pools map[string]*task.Pool // by log directory
	ended chan struct{}         // has one when some have ended since it was emptied
	mu    struct {
		sync.Mutex
		parts   map[logstore.TopicPartition]*recovery
		waiting map[string][]*recovery // by log directory; the one with least to read is the last
		queued  map[string]int         // of those, by log directory, that no thread was asked for yet
		serving bool                   // the first route is there: a log that lost its end needs a new leader epoch from now on
	}
}

// recovery is that of one partition.
type recovery struct {
	tp      logstore.TopicPartition
	topic   *meta.Topic
	part    *meta.Partition
	options TopicOptions
	backlog logstore.Backlog
	stop    chan struct{} // closed to give it up
	done    chan struct{} // closed when host is known
	host    *Hosted       // nil: it failed
	failed  bool          // once before: it is tried again while the partition is known to be offline
	raised  bool          // its leader epoch is a new one, or need not be
}

func newRecoveries(g *task.Group, dirs []logstore.DirInfo, threads int, after func(ns int64) <-chan time.Time) *recoveries {
	r := &recoveries{pools: map[string]*task.Pool{}, ended: make(chan struct{}, 1), after: after}
	r.mu.parts, r.mu.waiting = map[logstore.TopicPartition]*recovery{}, map[string][]*recovery{}
	r.mu.queued = map[string]int{}
	for _, d := range dirs {
		if d.Recovering > 0 {
			r.pools[d.Path] = task.NewPool(g, "recovery", threads)
		}
	}
	return r
}

// over tells whether a recovery has ended.
func (r *recovery) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// recoverable queues the recovery of a partition that needs one, or finds the one that goes on; nil when its log is opened at once. Again:
// one that has failed is tried anew.
func (b *Broker) recoverable(t *meta.Topic, p *meta.Partition, o TopicOptions, again bool) *recovery {
	rs, tp := b.recoveries, logstore.TopicPartition{Topic: t.Name, Partition: p.Index}
	rs.mu.Lock()
	old := rs.mu.parts[tp]
	rs.mu.Unlock()
	failed := old != nil && old.over() && old.host == nil
	if old != nil && !(failed && again) {
		return old
	}
	backlog, due := b.logs.Backlog(tp)
	pool := rs.pools[backlog.Dir]
	if failed {
		pool, backlog.Dir = rs.pools[old.backlog.Dir], old.backlog.Dir
	}
	if !due && !failed || pool == nil {
		return nil
	}
	r := &recovery{tp: tp, topic: t, part: p, options: o, backlog: backlog, failed: failed, stop: make(chan struct{}), done: make(chan struct{})}
	rs.mu.Lock()
	rs.mu.parts[tp] = r
	rs.mu.waiting[backlog.Dir] = append(rs.mu.waiting[backlog.Dir], r)
	rs.mu.queued[backlog.Dir]++
	rs.mu.Unlock()
	return r
}

// beginRecoveries has threads take what is queued: not before all of it is known, so that the order is right from the first one on.
func (b *Broker) beginRecoveries() {
	rs := b.recoveries
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for dir, n := range rs.mu.queued {
		slices.SortStableFunc(rs.mu.waiting[dir], func(x, y *recovery) int { return cmp.Compare(y.backlog.Bytes, x.backlog.Bytes) })
		for range n {
			_ = rs.pools[dir].Do(func() { b.recoverNext(dir) }) // an error means that the broker is stopping
		}
	}
	clear(rs.mu.queued)
}

// recoverNext recovers the log of a directory that has least to read: many small ones serve before a large one does.
func (b *Broker) recoverNext(dir string) {
	rs := b.recoveries
	rs.mu.Lock()
	list := rs.mu.waiting[dir]
	if len(list) == 0 { // one was given up
		rs.mu.Unlock()
		return
	}
	r := list[len(list)-1]
	list[len(list)-1] = nil
	rs.mu.waiting[dir] = list[:len(list)-1]
	rs.mu.Unlock()
	r.host = b.open(r.stop, r.topic, r.part, r.options)
	close(r.done)
	rs.again()
}

// again has AttachRecovered look.
func (rs *recoveries) again() {
	select {
	case rs.ended <- struct{}{}:
	default:
	}
}

// awaitRecoveries gives recoveries a moment, so that short ones are over before anybody is answered.
func (b *Broker) awaitRecoveries(begun []*recovery) {
	if len(begun) == 0 {
		return
	}
	late := b.recoveries.after(b.Options().RecoveryWaitMs * 1e6)
	for _, r := range begun {
		select {
		case <-r.done:
		case <-late:
			return
		case <-b.stopped:
			return
		}
	}
}

// begun are the recoveries that a topic's partitions wait for.
func (tr *topicRoute) begun() (all []*recovery) {
	for _, r := range tr.recovering {
		if r != nil && !r.failed && !r.over() {
			all = append(all, r)
		}
	}
	return all
}

// serve notes that there is a route.
func (rs *recoveries) serve() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.mu.serving = true
}

// takeRecovered puts those partitions of a topic in their places whose recovery is over.
func (tr *topicRoute) takeRecovered(rs *recoveries, broker int32) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for i, r := range tr.recovering {
		if r == nil || !r.over() || r.topic.ID != tr.topic.ID {
			continue
		}
		if r.host != nil && rs.mu.serving && !r.raised && r.host.Log.CutBytes() > 0 && tr.topic.Partitions[i].Leader == broker {
			continue // AttachRecovered does that first
		}
		tr.recovering[i] = nil
		if r.host != nil {
			tr.hosts[i] = r.host
			delete(rs.mu.parts, r.tp)
		}
	}
}

// recovers tells whether a partition of this broker waits for its log's recovery.
func (t *topicRoute) recovers(partition int32) bool {
	return partition >= 0 && int(partition) < len(t.recovering) && t.recovering[partition] != nil && !t.recovering[partition].failed
}

// leaderless tells whether clients are to ask again who leads a partition: nobody does, or this broker does as soon as its log is read.
func (t *topicRoute) leaderless(img *meta.Image, p *meta.Partition, broker int32) bool {
	return img.Brokers[p.Leader] == nil || p.Leader == broker && t.recovers(p.Index)
}

// AttachRecovered begins to serve partitions as their recovery ends, until ctx does. A log that lost its end gets a new leader epoch before.
func (b *Broker) AttachRecovered(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.recoveries.ended:
		}
		if !b.raiseRecovered(ctx) {
			return
		}
		b.publishRecovered()
		if err := b.cluster.LookAgain(ctx); err != nil && ctx.Err() == nil { // a log that could not be opened is lost, one that was lost may be back
			b.log.Warn("the controller was not told of recovered logs", "err", err.Error())
		}
	}
}

// publishRecovered puts what has been recovered into the places that requests go to.
func (b *Broker) publishRecovered() {
	b.publishing.Lock()
	defer b.publishing.Unlock()
	b.publish(b.pending.Load(), false)
}

// raiseRetryNs is the pause between tries to begin a new leader epoch.
const raiseRetryNs = 1_000_000_000

// raiseRecovered gives those that lost their end a new leader epoch; false when ctx ended before.
func (b *Broker) raiseRecovered(ctx context.Context) bool {
	for {
		parts := map[string][]int32{}
		var raised []*recovery
		b.recoveries.mu.Lock()
		for tp, r := range b.recoveries.mu.parts {
			if r.over() && r.host != nil && !r.raised {
				raised = append(raised, r)
				if r.host.Log.CutBytes() > 0 {
					parts[tp.Topic] = append(parts[tp.Topic], tp.Partition)
				}
			}
		}
		b.recoveries.mu.Unlock()
		var err error
		if len(parts) > 0 {
			err = b.cluster.RaiseLeaderEpochs(ctx, parts)
		}
		if err == nil || errors.Is(err, run.ErrNotController) { // another controller elects
			b.recoveries.mu.Lock()
			for _, r := range raised {
				r.raised = true
			}
			b.recoveries.mu.Unlock()
			return true
		}
		b.log.Error("new leader epochs for logs that lost their end; it is tried again", "err", err.Error())
		b.publishRecovered() // those that lost nothing need not wait
		select {
		case <-ctx.Done():
			return false
		case <-b.recoveries.after(raiseRetryNs):
		}
	}
}

// dropRecoveries ends the recoveries of partitions that the route no longer places here, and removes what they were about.
func (b *Broker) dropRecoveries(route *Route) {
	rs := b.recoveries
	var gone []*recovery
	rs.mu.Lock()
	for tp, r := range rs.mu.parts {
		if t := route.topics[tp.Topic]; t == nil || t.topic.ID != r.topic.ID || !t.exists(tp.Partition) || !t.topic.Partitions[tp.Partition].Hosts(b.Options().BrokerID) {
			gone = append(gone, r)
		}
	}
	rs.mu.Unlock()
	for _, r := range gone {
		if !b.giveUp(r) {
			return
		}
		if err := b.logs.Delete(r.tp); err != nil {
			b.log.Error("partition cannot be removed", "tp", r.tp.Topic, "partition", r.tp.Partition, "err", err.Error())
		}
		rs.again() // a new topic of that name may wait
	}
}

// giveUp ends a recovery for good, and forgets it; false when the owners have stopped.
func (b *Broker) giveUp(r *recovery) bool {
	rs := b.recoveries
	rs.mu.Lock()
	if rs.mu.parts[r.tp] != r { // somebody else has
		rs.mu.Unlock()
		return b.await(r.done)
	}
	if i := slices.Index(rs.mu.waiting[r.backlog.Dir], r); i >= 0 {
		rs.mu.waiting[r.backlog.Dir] = slices.Delete(rs.mu.waiting[r.backlog.Dir], i, i+1)
		close(r.done)
	}
	delete(rs.mu.parts, r.tp)
	rs.mu.Unlock()
	close(r.stop)
	return b.await(r.done)
}

// giveUpAll ends every recovery: the broker stops.
func (b *Broker) giveUpAll() {
	rs := b.recoveries
	rs.mu.Lock()
	var all []*recovery
	for _, r := range rs.mu.parts {
		all = append(all, r)
	}
	rs.mu.Unlock()
	for _, r := range all {
		b.giveUp(r)
	}
}
