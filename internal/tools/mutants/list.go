package main

// mutant is one deliberate bug.
type mutant struct {
	name     string
	file     string
	old, new string
}

// list are the bugs that must be noticed.
func list() []mutant {
	const (
		log     = "logstore/log.go"
		appends = "logstore/append.go"
		recover = "logstore/recover.go"
		rescan  = "logstore/recover_scan.go"
		table   = "logstore/producer/table.go"
		cleaner = "logstore/cleaner.go"
		moves   = "logstore/move_exchange.go"
	)
	return []mutant{
		{"fsync skipped: a durable append does not sync", appends, "w.op.Durable = l.durableNext(first)", "w.op.Durable = false && l.durableNext(first)"},
		{"fsync skipped: a closed segment is settled without one", "logstore/settle.go", "if w.err = w.seg.file.Sync(); w.err == nil {", "if w.err = error(nil); w.err == nil {"},
		{"fsync skipped: recovery vouches for what is in the cache", rescan, "if err := seg.file.Sync(); err != nil {", "if err := error(nil); err != nil {"},
		{"index off by one: entries name the offset behind the batch", "logstore/segment.go", "s.offsets.addOffset(int32(last-s.base), pos)", "s.offsets.addOffset(int32(last-s.base)+1, pos)"},
		{"index off by one: positions are those of the next byte", "logstore/segment.go", "s.offsets.addOffset(int32(last-s.base), pos)", "s.offsets.addOffset(int32(last-s.base), pos+1)"},
		{"sequence window wrong: a gap of one is taken", table, "case !known || first == nextSeq(lastSeq):", "case !known || first == nextSeq(lastSeq) || first == nextSeq(lastSeq)+1:"},
		{"sequence window wrong: repeats are not known", table, "if b, ok := e.find(first, last); ok {", "if b, ok := e.find(first, last); ok && false {"},
		{"sequence window wrong: old epochs may write", table, "case known && epoch < nowEpoch:", "case known && epoch < nowEpoch && false:"},
		{"recovery one batch short: the last one counts as torn", rescan, "o.scan.reset(seg.file, 0, size, true)", "o.scan.reset(seg.file, 0, max(size-1, 0), true)"},
		{"recovery one segment long: what lies behind a cut stays", recover, "for _, seg := range l.segments[i+1:] {", "return nil\n\tfor _, seg := range l.segments[i+1:] {"},
		{"checkpoint before data: the recovery point follows the write", appends, "if op.Durable {", "if true || op.Durable {"},
		{"torn batch accepted: checksums are not looked at", "logstore/scan.go", "!batch.CheckEntryCRC(b)", "!batch.CheckEntryCRC(b) && false"},
		{"tombstone removed early: at the first cleaning", cleaner, "default:\n\t\treturn true\n\t}", "default:\n\t\treturn false\n\t}"},
		{"compaction drops the last value too", cleaner, "r.Offset < c.keys.get(hash)", "r.Offset <= c.keys.get(hash)"},
		{"fsync skipped: a cleaned log takes the old one's place without one", cleaner, "return c.makeDurable()", "return nil"},
		{"compaction puts the old log aside before the new one's name is durable", "logstore/compact.go", "{s.commit, s.putAside, s.reveal}", "{s.putAside, s.commit, s.reveal}"},
		{"LSO ahead: open transactions do not hold it", log, "u >= 0 && u < l.hw", "u >= 0 && u < l.hw && false"},
		{"LSO ahead: a transaction ends although its marker is not committed", table, "if x.LastOffset >= hw {", "if x.LastOffset > hw+100 {"},
		{"aborted transactions are not noted", "logstore/txn_index.go", "if open && done.Aborted {", "if open && done.Aborted && false {"},
		{"move: names are exchanged before what was copied last is synced", moves, "if err := mv.sync(); err != nil {", "if err := error(nil); err != nil {"},
		{"move: the mark that tells two directories apart is not written", moves, "exchangeFile), fmt.Appendf", "exchangeFile+\".not\"), fmt.Appendf"},
		{"move: the start is not carried over", moves, "mv.to.start[mv.tp] = start", "mv.to.start[mv.tp] = min(start, 0)"},
		{"move: the new name is not synced before the old one goes", moves, "if err := f.SyncDir(mv.to.path); err != nil {", "if err := error(nil); err != nil {"},
		{"names not synced: a new partition", "logstore/work.go", "w.err = w.l.fs.SyncDir(w.l.dir().path)", "w.err = nil"},
	}
}
