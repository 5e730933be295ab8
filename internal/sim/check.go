package sim

import (
	"errors"
	"fmt"

	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// check holds every partition's watermarks against the model, and every directory against the faults that it had.
func (w *World) check() {
	for _, d := range w.m.Dirs() {
		if d.Offline != nil && !w.sick[d.Path] {
			w.broken("directory %s is offline without an error of the disk: %v", d.Path, d.Offline)
		}
	}
	for _, p := range w.parts {
		if p.log != nil {
			w.checkMove(p)
			w.checkPart(p)
		}
	}
}

func (w *World) checkPart(p *Part) {
	l, m := p.log, p.model
	if l.Offline() != nil && !w.sick[l.Dir()] && !p.hurt() {
		w.broken("%s is offline without a cause: %v", p.tp, l.Offline())
		return
	}
	if l.End() != m.Next {
		if n := w.unanswered(p); l.End() != n { // written, its answer not taken yet
			w.broken("%s ends at %d, the model at %d or %d", p.tp, l.End(), m.Next, n)
			return
		}
	}
	start, hw := l.Start(), l.HighWatermark()
	if start < m.Start || start > hw || hw > l.End() || hw < m.HW {
		w.broken("%s: start %d (was %d), high watermark %d (was %d), end %d", p.tp, start, m.Start, hw, m.HW, l.End())
		return
	}
	if start > m.Start && p.kind != Deletes {
		w.broken("%s: the start moved to %d", p.tp, start)
	}
	if w.depth == 0 {
		for _, k := range m.Log { // retention takes whole segments, and never what is not committed
			if k.Base < start && start <= k.Last && p.opt.RetentionBytes == 0 {
				w.broken("%s: the start %d is inside a batch", p.tp, start)
			}
			break
		}
	}
	m.Start, m.HW = start, hw
	rp := l.RecoveryPoint()
	if rp > l.End() {
		w.broken("%s: recovery point %d behind the end %d", p.tp, rp, l.End())
	}
	m.Durable = max(m.Durable, rp)
	low, high := m.stable(hw)
	if lso := l.LastStable(); lso < low || lso > high {
		w.broken("%s: last stable offset %d, want %d to %d (high watermark %d)", p.tp, lso, low, high, hw)
	}
}

// unanswered is the end when all that is written but not answered is counted.
func (w *World) unanswered(p *Part) int64 {
	n := p.model.Next
	for _, s := range p.flight {
		if s.a.Err == nil && s.a.Base == n && s.a.Last >= n {
			n = s.a.Last + 1
		}
	}
	return n
}

// read is a consumer: from an offset, by a time, or for aborted transactions.
func (w *World) read(p *Part) {
	if p.log == nil || w.vol.Dead() {
		return
	}
	w.Reads++
	switch w.rand.Intn(8) {
	case 0:
		w.readTime(p)
	case 1:
		w.readAborted(p)
	case 2:
		w.readEpoch(p)
	default:
		w.readFrom(p)
	}
}

func (w *World) readFrom(p *Part) {
	l, m := p.log, p.model
	upTo := l.HighWatermark()
	if w.rand.Percent(30) {
		upTo = l.LastStable()
	}
	if p.acksAll && w.rand.Percent(20) {
		upTo = l.End() // a follower
	}
	from := l.Start() + int64(w.rand.Intn(int(l.End()-l.Start())+1))
	most := int32(w.rand.Of(1, 300, 2000, 1<<20))
	b, err := w.fetch(l, from, most, upTo)
	if w.vol.Dead() {
		return
	}
	if err != nil {
		if !w.mayFail(p, err) {
			w.broken("%s: read of %d failed: %v", p.tp, from, err)
		}
		return
	}
	if len(b) == 0 {
		// The high watermark can lie inside a batch: a checkpoint tells what it was before the end was lost and written anew in other pieces.
		if i := m.at(from); i < len(m.Log) && m.Log[i].Last < upTo && p.kind != Compacts {
			w.broken("%s: nothing to read at %d below %d", p.tp, from, upTo)
		}
		return
	}
	list, err := split(b)
	if err != nil {
		if !p.hurt() {
			w.broken("%s: what was read at %d is no batch: %v", p.tp, from, err)
		}
		return
	}
	if m.touches(list) {
		w.compare(p, from, list, m) // a header may say anything
		return
	}
	if len(list) > 1 && len(b) > int(most) {
		w.broken("%s: %d bytes in %d batches were read, at most %d", p.tp, len(b), len(list), most)
	}
	if list[0].e.Last < from {
		w.broken("%s: read of %d begins with the batch %d to %d", p.tp, from, list[0].e.BaseOffset, list[0].e.Last)
	}
	if list[len(list)-1].e.Last >= upTo {
		w.broken("%s: read below %d gives the batch %d to %d", p.tp, upTo, list[len(list)-1].e.BaseOffset, list[len(list)-1].e.Last)
	}
	w.compare(p, from, list, m)
}

// touches tells whether a read came to where the log was damaged.
func (m *Model) touches(list []seen) bool {
	for _, s := range list {
		if m.Hurt >= 0 && max(s.e.Last, s.e.BaseOffset) >= m.Hurt {
			return true
		}
	}
	return false
}

// mayFail tells whether an error of a read has a cause.
func (w *World) mayFail(p *Part, err error) bool {
	w.collectFaults()
	if errors.Is(err, logstore.ErrOffline) && p.log.Offline() != nil && p.hurt() {
		return true
	}
	sick := w.sick[p.log.Dir()] || w.sick[p.moves.dir] || w.sick[p.moves.from] // what is read may still lie where the log was
	return sick && errors.Is(err, logstore.ErrOffline)
}

// seen is one batch as it was read.
type seen struct {
	e batch.Entry
	b []byte
}

func split(b []byte) ([]seen, error) {
	var list []seen
	for len(b) > 0 {
		e, err := batch.ParseEntry(b)
		if err != nil {
			return list, err
		}
		if e.Size > len(b) {
			return list, batch.ErrTruncated
		}
		list = append(list, seen{e, b[:e.Size]})
		b = b[e.Size:]
	}
	return list, nil
}

// fetch reads whole batches; what is cold is brought in as the host does it.
func (w *World) fetch(l *logstore.Log, from int64, most int32, upTo int64) ([]byte, error) {
	for range 10_000 {
		var s logstore.Span
		need, err := l.Read(from, most, upTo, true, &s)
		if err != nil {
			return nil, err
		}
		if need.File != nil {
			if _, err := need.File.ReadAt(make([]byte, need.Len), need.Pos); err != nil && w.vol.Dead() {
				return nil, err
			}
			continue
		}
		if s.Len == 0 {
			return nil, nil
		}
		b := make([]byte, s.Len)
		_, err = s.File.ReadAt(b, s.Pos)
		s.Release()
		if err != nil {
			l.Fail(err)
			return nil, logstore.ErrOffline
		}
		return b, nil
	}
	return nil, fmt.Errorf("a read does not come to its end")
}

// compare holds batches that were read against those that were acknowledged.
func (w *World) compare(p *Part, from int64, list []seen, m *Model) {
	if p.kind == Compacts {
		w.compareRecords(p, list, m)
		return
	}
	i := m.at(from)
	for _, s := range list {
		if m.Hurt >= 0 && max(s.e.Last, s.e.BaseOffset) >= m.Hurt {
			i = m.at(s.e.BaseOffset) // a damaged index may lead to an earlier batch than the one that was asked for
			if batch.CheckEntryCRC(s.b) && (i == len(m.Log) || crcOf(s.b) != m.Log[i].CRC) && !p.stopped {
				w.broken("%s: a damaged log gives a whole batch at %d that nobody wrote there", p.tp, s.e.BaseOffset)
			}
			return
		}
		switch {
		case i == len(m.Log):
			w.broken("%s: a batch at %d that nobody wrote", p.tp, s.e.BaseOffset)
		case s.e.BaseOffset != m.Log[i].Base || s.e.Last != m.Log[i].Last:
			w.broken("%s: the batch %d to %d was read, %d to %d was written", p.tp, s.e.BaseOffset, s.e.Last, m.Log[i].Base, m.Log[i].Last)
		case crcOf(s.b) != m.Log[i].CRC || !batch.CheckEntryCRC(s.b):
			w.broken("%s: the batch at %d has other bytes than were written", p.tp, s.e.BaseOffset)
		case s.e.LeaderEpoch != m.Log[i].Epoch:
			w.broken("%s: the batch at %d is of leader epoch %d, %d was given", p.tp, s.e.BaseOffset, s.e.LeaderEpoch, m.Log[i].Epoch)
		}
		if w.broke != nil {
			return
		}
		i++
	}
}

// compareRecords holds what compaction left against what was written: each record has its offset, key and value.
func (w *World) compareRecords(p *Part, list []seen, m *Model) {
	last := int64(-1)
	for _, s := range list {
		if m.Hurt >= 0 && max(s.e.Last, s.e.BaseOffset) >= m.Hurt {
			return
		}
		if !batch.CheckEntryCRC(s.b) {
			w.broken("%s: a batch with a wrong checksum at %d", p.tp, s.e.BaseOffset)
			return
		}
		if s.e.IsControl() {
			continue
		}
		err := batch.Iterate(s.b, func(r batch.Record) bool {
			i := m.at(r.Offset)
			if i == len(m.Log) || r.Offset <= last || m.Log[i].Marker >= 0 {
				w.broken("%s: a record at %d that nobody wrote", p.tp, r.Offset)
				return false
			}
			k := &m.Log[i]
			// One that a power cut took out of the middle has no key here any more: the copy that a move made before may bring it back.
			if j := r.Offset - k.Base; j < 0 || k.Keys[j] != "" && k.Keys[j] != string(r.Key) || k.Values[j] != string(r.Value) {
				w.broken("%s: the record at %d is %s=%s, %s=%s was written", p.tp, r.Offset, r.Key, r.Value, k.Keys[max(j, 0)], k.Values[max(j, 0)])
				return false
			}
			last = r.Offset
			return true
		})
		if err != nil {
			w.broken("%s: the batch at %d cannot be read: %v", p.tp, s.e.BaseOffset, err)
		}
	}
}

func (w *World) readTime(p *Part) {
	if p.kind == Compacts || p.hurt() || len(p.model.Log) == 0 || p.log.End() != p.model.Next {
		return
	}
	k := p.model.Log[w.rand.Intn(len(p.model.Log))]
	ts := k.Times[w.rand.Intn(len(k.Times))] + int64(w.rand.Between(-3, 3))
	for range 10_000 {
		offset, stamp, _, need, err := p.log.LookupTime(ts)
		if w.vol.Dead() {
			return
		}
		if err != nil {
			if !w.mayFail(p, err) {
				w.broken("%s: lookup of time %d failed: %v", p.tp, ts, err)
			}
			return
		}
		if need.File != nil {
			_, _ = need.File.ReadAt(make([]byte, need.Len), need.Pos)
			continue
		}
		if o, t := p.model.wantTime(ts); o != offset || t != stamp {
			w.broken("%s: time %d is at offset %d (%d), want %d (%d)", p.tp, ts, offset, stamp, o, t)
		}
		return
	}
	w.broken("%s: a lookup does not come to its end", p.tp)
}

func (w *World) readAborted(p *Part) {
	if p.kind != Keeps || p.log.End() != p.model.Next {
		return
	}
	from := p.log.Start() + int64(w.rand.Intn(int(p.log.End()-p.log.Start())+1))
	to := from + int64(w.rand.Intn(30))
	want := p.model.wantAborted(from, to)
	n := len(want)
	for _, x := range p.log.AbortedIn(from, to, nil) {
		x.LastStable = 0
		if !want[x] {
			w.broken("%s: aborted transaction %+v between %d and %d is not one", p.tp, x, from, to)
			return
		}
		n--
	}
	if n != 0 {
		w.broken("%s: %d aborted transactions between %d and %d are not told", p.tp, n, from, to)
	}
}

func (w *World) readEpoch(p *Part) {
	m := p.model
	if len(m.Log) == 0 || m.Hurt >= 0 {
		return
	}
	k := m.Log[w.rand.Intn(len(m.Log))]
	if k.Base < m.Start {
		return
	}
	if p.kind == Deletes && p.log.EpochFor(k.Base) < 0 {
		return // deleted once, and come back by a crash: its epoch is forgotten
	}
	if p.kind == Compacts { // an epoch whose records were compacted away may be forgotten: the first batch that is left tells
		b, err := w.fetch(p.log, k.Base, 1, p.log.End())
		list, _ := split(b)
		if err != nil || len(list) == 0 || w.vol.Dead() {
			return
		}
		k.Base, k.Epoch = list[0].e.Last, list[0].e.LeaderEpoch
	}
	if e := p.log.EpochFor(k.Base); e != k.Epoch {
		w.broken("%s: offset %d is of epoch %d, the log says %d", p.tp, k.Base, k.Epoch, e)
	}
}
