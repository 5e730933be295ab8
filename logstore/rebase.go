package logstore

import "github.com/pelton-broker/pelton/logstore/batch"

// rebaseWork makes a compressed message of format 0 anew for its place: the offsets inside it count from the log's start, so nobody could
// write them before the log came to it. It is the one form of records that the log itself must compress, and what is queued behind waits.
type rebaseWork struct {
	l    *Log
	a    *Append
	base int64
	from []byte // a copy: the host may take its memory back when the log fails meanwhile
	made []byte
	err  error
	// applied belongs to the shard, as l and a do; made and err are the job's until then.
	applied bool
}

// needsRebase tells whether a cannot be written as it is at this offset.
func (a *Append) needsRebase(base int64) bool {
	b := &a.Info.Batches[0]
	if b.Magic != 0 || b.Codec() == batch.None || a.Origin == FromLeader {
		return false
	}
	return a.rebase == nil || !a.rebase.applied || a.rebase.base != base
}

// beginRebase asks for the first queued set at the log's end.
func (l *Log) beginRebase(a *Append) {
	w := &rebaseWork{l: l, a: a, base: l.end, from: append([]byte(nil), a.Bytes...)}
	a.rebase, l.work.rebase = w, w
}

// Run implements Work.
func (w *rebaseWork) Run() { w.made, w.err = w.l.work.rebaser.Rebase(nil, w.from, w.base) }

// Apply implements Work.
func (w *rebaseWork) Apply() {
	l, q := w.l, &w.l.write
	l.work.rebase, l.work.rebaseOut = nil, false
	if w.a.rebase != w || q.head == len(q.queue) || q.queue[q.head] != w.a {
		return // the log has failed meanwhile, and what was queued was answered
	}
	if w.err != nil {
		q.queue[q.head] = nil
		q.head++
		l.finish(w.a, w.err)
		return
	}
	w.applied = true
	b := &w.a.Info.Batches[0]
	w.a.Bytes, b.Pos, b.Bytes, w.a.Info.Bytes = w.made, 0, int32(len(w.made)), int32(len(w.made))
}
