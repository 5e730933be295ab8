package coord

import (
	"fmt"
	"testing"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// world is a shard with a log in memory. Appends end when the test says, or at once.
type world struct {
	t       *testing.T
	host    *Host
	now     group.Now
	log     []byte
	start   int64
	end     int64
	manual  bool
	failing error
	readErr error
	waiting []func()
	soon    []func()
	armed   int64 // monotonic ms; -1
	arms    int
	events  []Event
	batches int
	reads   int
}

func newWorld(t *testing.T) *world {
	return &world{t: t, now: group.Now{WallMs: 1_000_000, MonoMs: 1}, armed: -1}
}

func (w *world) options() Options {
	o := DefaultOptions()
	o.Groups.InitialDelayMs = 0
	ids := 0
	o.Groups.NewMemberIDSuffix = func() string { ids++; return fmt.Sprint(ids) }
	return o
}

// lead makes a host and runs its replay.
func (w *world) lead(o Options) *Host {
	w.host = New(w, o)
	w.armed = -1
	w.host.Lead()
	w.turns()
	return w.host
}

func (w *world) turns() {
	for len(w.soon) > 0 {
		fn := w.soon[0]
		w.soon = w.soon[1:]
		fn()
	}
}

func (w *world) Now() group.Now { return w.now }

func (w *world) Append(b []byte, done func(base int64, err error)) {
	w.batches++
	if err := batch.Validate(b, batch.Limits{RequireKeys: true}, &batch.Info{}); err != nil {
		w.t.Errorf("the host appended a batch that is not right: %v", err)
	}
	end := func() {
		if w.failing != nil {
			done(-1, w.failing)
			return
		}
		h, err := batch.ParseHeader(b)
		if err != nil {
			w.t.Fatal(err)
		}
		base := w.end
		batch.PatchAppend(b, base, 0)
		w.log = append(w.log, b...)
		w.end += int64(h.LastOffsetDelta) + 1
		done(base, nil)
	}
	if w.manual {
		w.waiting = append(w.waiting, end)
		return
	}
	end()
}

func (w *world) Bounds() (int64, int64) { return w.start, w.end }

func (w *world) Read(from int64, maxBytes int32, done func([]byte, error)) {
	w.reads++
	if w.readErr != nil {
		done(nil, w.readErr)
		return
	}
	b := w.log
	for {
		e, err := batch.ParseEntry(b)
		if err != nil {
			w.t.Fatal(err)
		}
		if e.Last >= from {
			break
		}
		b = b[e.Size:]
	}
	size, _, _ := batch.EntrySize(b)
	done(b[:min(len(b), max(size, int(maxBytes)))], nil)
}

func (w *world) Arm(ms int64)   { w.armed = w.now.MonoMs + ms; w.arms++ }
func (w *world) Disarm()        { w.armed = -1 }
func (w *world) Soon(fn func()) { w.soon = append(w.soon, fn) }
func (w *world) Tell(e Event)   { w.events = append(w.events, e) }

// advance moves the time, firing the timer whenever it is due.
func (w *world) advance(ms int64) {
	for end := w.now.MonoMs + ms; ; {
		if w.armed < 0 || w.armed > end {
			w.now.WallMs += end - w.now.MonoMs
			w.now.MonoMs = end
			return
		}
		at := max(w.armed, w.now.MonoMs)
		w.now.WallMs += at - w.now.MonoMs
		w.now.MonoMs, w.armed = at, -1
		w.host.Tick()
		w.turns()
	}
}

// call is one request; it fails the test when answered twice.
type call struct {
	t      *testing.T
	answer group.Answer
}

func (c *call) Answer(a group.Answer) {
	if c.answer != nil {
		c.t.Errorf("answered twice: %v, then %v", c.answer, a)
	}
	c.answer = a
}

func (w *world) call() *call { return &call{t: w.t} }

// fetch gives a group's offsets as text.
func (w *world) fetch(id string) map[string]string {
	c := w.call()
	w.host.Do(&group.Fetch{To: c, Group: id, All: true})
	out := map[string]string{}
	for _, o := range c.answer.(*group.Fetched).Offsets {
		out[fmt.Sprintf("%s-%d", o.Topic, o.Partition)] = fmt.Sprintf("%d %s", o.Offset, o.Metadata)
	}
	return out
}

func (w *world) commit(id, topic string, offset int64) *call {
	c := w.call()
	w.host.Do(&group.Commit{To: c, Group: id, Generation: -1, RetentionMs: -1, Offsets: []group.CommitOffset{
		{TopicPartition: group.TopicPartition{Topic: topic}, Offset: offset, LeaderEpoch: -1, TimestampMs: -1},
	}})
	return c
}
