package coord

import (
	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// Options are a host's bounds.
type Options struct {
	Groups group.Options
	// ChunkBytes is how much of the log one turn of a replay takes.
	ChunkBytes int32
	// RetryMs is how long a failed read waits for the next try.
	RetryMs int64
	// BatchBytes bounds a batch of tombstones; more of them make several.
	BatchBytes int
}

// DefaultOptions keep a replay's share of a turn at some hundred microseconds.
func DefaultOptions() Options {
	return Options{Groups: group.DefaultOptions(), ChunkBytes: 64 << 10, RetryMs: 1000, BatchBytes: 512 << 10}
}

// Host leads one partition.
type Host struct {
	world   World
	opt     Options
	machine *group.Machine
	replay  *replay
	builder *batch.Builder
	// inbox holds inputs that came while a step was being carried out: a World may call back at once.
	inbox   []group.Input
	busy    bool
	armed   int64 // monotonic ms for which the timer is set; NoDeadline for none
	resumes func()
}

// New returns a host that answers "loading" until Lead has read the log.
func New(w World, o Options) *Host {
	if o.ChunkBytes <= 0 || o.RetryMs <= 0 || o.BatchBytes <= 0 {
		invariant.Broken("coord: options without bounds", o.ChunkBytes, o.RetryMs, o.BatchBytes)
	}
	return &Host{world: w, opt: o, machine: group.New(o.Groups), builder: batch.NewBuilder(batch.None), armed: group.NoDeadline}
}

// Do hands a request, whose To is a Caller, to the machine.
func (h *Host) Do(in group.Input) {
	h.inbox = append(h.inbox, in)
	if h.busy {
		return
	}
	h.busy = true
	for len(h.inbox) > 0 {
		in := h.inbox[0]
		h.inbox = h.inbox[1:]
		h.carryOut(h.machine.Step(h.world.Now(), in))
	}
	h.busy = false
}

// Tick is called when the armed time has come.
func (h *Host) Tick() {
	h.armed = group.NoDeadline
	if h.resumes != nil {
		resume := h.resumes
		h.resumes = nil
		resume()
		return
	}
	h.Do(&group.Tick{})
}

// Resign gives the partition up: whoever waits is told, and so is everybody who asks later.
func (h *Host) Resign() {
	if h.replay != nil {
		h.replay.stopped = true
		h.replay, h.resumes = nil, nil
	}
	h.Do(&group.Unload{})
	h.world.Disarm()
	h.armed = group.NoDeadline
}

// Counts walks over the groups in memory.
func (h *Host) Counts() group.Counts { return h.machine.Counts() }

// Done is what was done since New: rebalances completed, offsets committed.
func (h *Host) Done() (rebalances, commits uint64) { return h.machine.Done() }

// Groups is the number of groups in memory.
func (h *Host) Groups() int { return h.machine.Groups() }

func (h *Host) carryOut(fx group.Effects) {
	for i := range fx.Appends {
		h.append(&fx.Appends[i])
	}
	for i := range fx.Replies {
		fx.Replies[i].To.(Caller).Answer(fx.Replies[i].Answer)
	}
	h.arm(fx.Deadline)
}

// arm sets the one timer for the machine's next deadline. An earlier timer than needed is left alone: it fires into a
// step that finds nothing due and arms again, which is cheaper than moving it with every heartbeat.
func (h *Host) arm(deadline int64) {
	if h.resumes != nil {
		return // the replay waits for its next try
	}
	if deadline == group.NoDeadline {
		if h.armed != group.NoDeadline {
			h.world.Disarm()
			h.armed = group.NoDeadline
		}
		return
	}
	if h.armed != group.NoDeadline && h.armed <= deadline {
		return
	}
	h.armed = deadline
	h.world.Arm(max(deadline-h.world.Now().MonoMs, 0))
}

// append writes the records of one step as one batch, so that they stay or go together. Only tombstones, which may be
// very many after an expiry and may go one by one, are split.
func (h *Host) append(a *group.Append) {
	p := &pending{host: h, token: a.Token, base: -1}
	p.left = 1 // until all batches are made
	h.builder.Reset()
	for i := range a.Records {
		r := &a.Records[i]
		if h.builder.Count() > 0 && r.Value == nil && h.builder.Size()+len(r.Key) > h.opt.BatchBytes {
			h.send(p)
		}
		h.builder.Add(a.TimestampMs, r.Key, r.Value)
	}
	h.send(p)
	p.done(-1, nil)
}

func (h *Host) send(p *pending) {
	p.left++
	bytes := h.builder.Bytes()
	h.builder.Reset()
	h.world.Append(bytes, p.done)
}

// pending is one append of the machine, which may be several batches.
type pending struct {
	host  *Host
	token uint64
	left  int
	base  int64
	err   error
}

func (p *pending) done(base int64, err error) {
	p.base = max(p.base, base)
	if err != nil && p.err == nil {
		p.err = err
		p.host.world.Tell(Event{What: AppendFailed, Err: err})
	}
	if p.left--; p.left > 0 {
		return
	}
	p.host.Do(&group.Appended{Token: p.token, Base: p.base, Err: p.err})
}
