package api

import (
	"errors"
	"io"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/reactor/coord"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// groupWorld lends a partition of __consumer_offsets, its shard's clock and timer to the coordinator that runs on it.
type groupWorld struct {
	local *Local
	host  *Hosted
	coord *coord.Host
	timer reactor.Timer
	read  groupRead
	// rebalances and commits are those of the coordinator's that have been counted.
	rebalances, commits uint64
}

// lead starts the coordinator of a partition that this broker has begun to lead.
func (l *Local) lead(h *Hosted) {
	w := &groupWorld{local: l, host: h}
	w.read.world = w
	w.coord = coord.New(w, l.broker.Options().Coord)
	w.timer.Fire = func(*reactor.Shard) { w.coord.Tick() }
	h.coord = w.coord
	w.coord.Lead()
}

// resign ends the coordinator of a partition that this broker no longer leads.
func (l *Local) resign(h *Hosted) {
	if h.coord != nil {
		h.coord.Resign()
		h.coord = nil
	}
}

// Now implements coord.World.
func (w *groupWorld) Now() group.Now {
	return group.Now{WallMs: w.local.shard.WallMs(), MonoMs: w.local.shard.Now() / 1e6}
}

// groupAppend is one batch of a coordinator on its way into the log.
type groupAppend struct {
	append logstore.Append
	info   batch.Info
	done   func(base int64, err error)
	world  *groupWorld
}

// Append implements coord.World.
func (w *groupWorld) Append(records []byte, done func(base int64, err error)) {
	g := &groupAppend{done: done, world: w}
	lim := batch.Limits{MaxBatchBytes: w.host.limits.MaxBatchBytes, RequireKeys: true, AllowControl: true}
	if err := batch.Validate(records, lim, &g.info); err != nil {
		if errors.Is(err, batch.ErrTooLarge) {
			done(-1, group.ErrTooLarge)
			return
		}
		invariant.Broken("api: a coordinator made a batch that is not valid", err)
	}
	if w.host.format < 2 {
		var err error
		if records, err = batch.Adapt(nil, records, batch.Target{Magic: w.host.format, Codec: batch.KeepCodec}, lim, &g.info); err != nil {
			done(-1, groupError(err))
			return
		}
	}
	if err := w.host.role.Admits(true, w.host.minISR); err != nil {
		done(-1, groupError(err))
		return
	}
	g.append = logstore.Append{Bytes: records, Info: &g.info, LeaderEpoch: w.host.role.Epoch(), AppendTimeMs: w.local.shard.WallMs(),
		Durable: w.host.durable, Origin: logstore.FromCoordinator, Owner: g}
	w.host.Log.Append(&g.append)
	w.local.touch(w.host)
}

// appended implements appendOwner.
func (g *groupAppend) appended(_ *Local, _ *Hosted, a *logstore.Append) {
	g.done(a.Base, groupError(a.Err))
	g.world.count()
}

// count adds what the coordinator has completed since the last time; everything that counts ends with an append.
func (w *groupWorld) count() {
	rebalances, commits := w.coord.Done()
	w.local.set.Add(perf.GroupRebalances, int64(rebalances-w.rebalances))
	w.local.set.Add(perf.GroupCommits, int64(commits-w.commits))
	w.rebalances, w.commits = rebalances, commits
}

// groupError says in the coordinator's words why its records were not written.
func groupError(err error) error {
	switch codeOf(err) {
	case wire.None:
		return nil
	case wire.MessageTooLarge, wire.RecordListTooLarge:
		return group.ErrTooLarge
	case wire.NotLeaderOrFollower, wire.KafkaStorageError:
		return group.ErrNotCoordinator
	case wire.RequestTimedOut:
		return group.ErrTimedOut
	}
	return group.ErrNotAvailable
}

// Bounds implements coord.World.
func (w *groupWorld) Bounds() (start, end int64) { return w.host.Log.Start(), w.host.Log.End() }

// groupRead is the one read of a replay that is under way.
type groupRead struct {
	world *groupWorld
	from  int64
	max   int32
	done  func(batches []byte, err error)
	op    disk.Op
	buf   []byte
}

// Read implements coord.World.
func (w *groupWorld) Read(from int64, max int32, done func(batches []byte, err error)) {
	r := &w.read
	r.from, r.max, r.done = from, max, done
	r.step()
}

func (r *groupRead) step() {
	log, d := r.world.host.Log, r.world.local.shard.Disk
	var span logstore.Span
	need, err := log.Read(r.from, r.max, log.End(), true, &span)
	switch {
	case err != nil:
		r.done(nil, err)
		return
	case need.Len > 0:
		r.fetch(need)
		return
	case span.Len == 0:
		r.done(nil, io.ErrUnexpectedEOF)
		return
	}
	defer span.Release()
	if cap(r.buf) < int(span.Len) {
		r.buf = make([]byte, span.Len)
	}
	r.buf = r.buf[:span.Len]
	if n, err := d.ReadNow(span.File, r.buf, span.Pos); n < len(r.buf) {
		if errors.Is(err, disk.ErrWouldBlock) {
			r.fetch(logstore.Need{File: span.File, Pos: span.Pos, Len: int(span.Len)})
			return
		}
		r.done(nil, err)
		return
	}
	r.done(r.buf, nil)
}

// fetch brings bytes into the page cache and tries again.
func (r *groupRead) fetch(need logstore.Need) {
	r.op = disk.Op{Kind: disk.ReadAhead, File: need.File, Off: need.Pos, ReadLen: need.Len, Owner: r}
	r.world.local.shard.Disk.Submit(&r.op)
}

// diskDone implements diskOwner.
func (r *groupRead) diskDone(*Local) {
	if r.op.Err != nil {
		r.done(nil, r.op.Err)
		return
	}
	r.step()
}

// Arm implements coord.World.
func (w *groupWorld) Arm(afterMs int64) { w.local.shard.Arm(&w.timer, afterMs*1e6) }

// Disarm implements coord.World.
func (w *groupWorld) Disarm() { w.local.shard.Disarm(&w.timer) }

// Soon implements coord.World.
func (w *groupWorld) Soon(fn func()) { w.local.shard.Post(call(fn)) }

// call is a function as a message.
type call func()

// Deliver implements reactor.Message.
func (c call) Deliver(*reactor.Shard) { c() }

// Tell implements coord.World.
func (w *groupWorld) Tell(e coord.Event) {
	log := w.local.broker.log
	level := log.Warn
	switch {
	case e.What != coord.Replayed:
	case e.Groups+e.Offsets+e.Skipped == 0: // most of fifty
		level = log.Debug
	default:
		level = log.Info
	}
	args := []any{"partition", w.host.Partition, "groups", e.Groups, "offsets", e.Offsets, "skipped", e.Skipped, "offset", e.Offset}
	if e.Err != nil {
		args = append(args, "err", e.Err.Error())
	}
	level(e.What.String(), args...)
}

// OnCoordinator runs fn on the shard that coordinates a group. When the coordinator is not here,
// fn gets nil and the code that says so, on the caller's goroutine or on the shard.
func (b *Broker) OnCoordinator(groupID string, fn func(c *coord.Host, code wire.Code)) {
	t := b.route.Load().topics[offsetsTopic]
	if t == nil {
		fn(nil, wire.NotCoordinator)
		return
	}
	b.On(offsetsTopic, coord.PartitionFor(groupID, int32(len(t.hosts))), func(h *Hosted, err error) {
		if err != nil || h.coord == nil {
			fn(nil, wire.NotCoordinator)
			return
		}
		fn(h.coord, wire.None)
	})
}
