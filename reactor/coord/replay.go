package coord

import (
	"errors"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// replay reads the log from start to end, one chunk a turn, into what becomes the machine's groups.
type replay struct {
	host    *Host
	found   *group.Replay
	next    int64
	skipped int
	stopped bool
	it      batch.Iterator
}

// errNoProgress is returned when the log gave bytes without a whole batch in them.
var errNoProgress = errors.New("coord: no whole batch where one was expected")

// Lead starts the replay; requests are answered "loading" until it is through.
func (h *Host) Lead() {
	start, _ := h.world.Bounds()
	h.replay = &replay{host: h, found: group.NewReplay(), next: start}
	h.replay.step()
}

func (r *replay) step() {
	if r.stopped {
		return
	}
	_, end := r.host.world.Bounds()
	if r.next >= end {
		r.finish()
		return
	}
	r.host.world.Read(r.next, r.host.opt.ChunkBytes, r.chunk)
}

func (r *replay) chunk(batches []byte, err error) {
	if r.stopped {
		return
	}
	before := r.next
	if err == nil {
		err = r.take(batches)
	}
	if err == nil && r.next == before {
		err = errNoProgress
	}
	if err != nil {
		r.host.world.Tell(Event{What: ReadFailed, Offset: r.next, Err: err})
		r.host.resumes = r.step
		r.host.world.Arm(r.host.opt.RetryMs)
		return
	}
	r.host.world.Soon(r.step)
}

// take reads the records of whole batches. Those below next were read before: a chunk starts with the batch that
// holds its offset. The end of a batch is its header's, since compaction may have taken its last records.
func (r *replay) take(b []byte) error {
	from := r.next
	for len(b) >= batch.PrefixSize {
		size, _, err := batch.EntrySize(b)
		if err != nil || size > len(b) {
			return err // one that is cut off is the start of the next chunk
		}
		e, err := batch.ParseEntry(b[:size])
		if err != nil {
			return err
		}
		if !batch.CheckEntryCRC(b[:size]) {
			return batch.ErrCRC
		}
		err = r.it.Each(b[:size], func(rec batch.Record) bool {
			if rec.Offset >= from {
				r.record(&rec)
			}
			return true
		})
		if err != nil {
			return err
		}
		r.next = max(r.next, e.Last+1)
		b = b[size:]
	}
	return nil
}

func (r *replay) record(rec *batch.Record) {
	var producer int64 = group.NoProducer
	if h := rec.Batch; h != nil {
		if h.IsControl() {
			if kind, ok := rec.Marker(); ok {
				r.found.EndTransaction(h.ProducerID, kind == 1)
			}
			return
		}
		if h.IsTransactional() {
			producer = h.ProducerID
		}
	}
	if err := r.found.Add(rec.Offset, producer, rec.Key, rec.Value); err != nil {
		r.skipped++
		r.host.world.Tell(Event{What: RecordSkipped, Offset: rec.Offset, Err: err})
	}
}

func (r *replay) finish() {
	h := r.host
	h.replay = nil
	offsets, skipped := r.found.Offsets(), r.skipped+r.found.Skipped
	h.Do(&group.Loaded{From: r.found})
	h.world.Tell(Event{What: Replayed, Groups: h.Groups(), Offsets: offsets, Skipped: skipped, Offset: r.next})
}
