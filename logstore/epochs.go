package logstore

import "sort"

// epochStart says that a leader epoch's first record is at Start.
type epochStart struct {
	Epoch int32
	Start int64
}

// epochCache is the content of leader-epoch-checkpoint: both columns grow.
type epochCache struct {
	list  []epochStart
	dirty bool // the file is older
}

func (c *epochCache) latest() int32 {
	if len(c.list) == 0 {
		return -1
	}
	return c.list[len(c.list)-1].Epoch
}

// assign notes that epoch begins at start. Entries that the new one contradicts, which began at or behind start, go.
func (c *epochCache) assign(epoch int32, start int64) bool {
	if epoch < 0 || epoch <= c.latest() {
		return false
	}
	for len(c.list) > 0 && c.list[len(c.list)-1].Start >= start {
		c.list = c.list[:len(c.list)-1]
	}
	c.list = append(c.list, epochStart{epoch, start})
	c.dirty = true
	return true
}

// cutEnd forgets epochs that begin at or behind end.
func (c *epochCache) cutEnd(end int64) {
	for len(c.list) > 0 && c.list[len(c.list)-1].Start >= end {
		c.list = c.list[:len(c.list)-1]
		c.dirty = true
	}
}

// before are the epochs that begin before end: those that a start would keep. Were the others in the file, the next start would write it anew.
func (c *epochCache) before(end int64) []epochStart {
	i := len(c.list)
	for i > 0 && c.list[i-1].Start >= end {
		i--
	}
	return c.list[:i]
}

// cutStart forgets epochs that end at or before start; the one that holds start begins there now.
func (c *epochCache) cutStart(start int64) {
	i := sort.Search(len(c.list), func(i int) bool { return c.list[i].Start > start })
	if i == 0 || c.list[i-1].Start == start && i == 1 {
		return
	}
	c.list = append(c.list[:0], c.list[i-1:]...)
	c.list[0].Start = start
	c.dirty = true
}

// forOffset is the epoch that wrote offset, -1 when unknown.
func (c *epochCache) forOffset(offset int64) int32 {
	i := sort.Search(len(c.list), func(i int) bool { return c.list[i].Start > offset })
	if i == 0 {
		return -1
	}
	return c.list[i-1].Epoch
}

// endOf answers OffsetForLeaderEpoch: the largest epoch not above the asked one, and where the next begins.
func (c *epochCache) endOf(epoch int32, end int64) (int32, int64) {
	if epoch < 0 || epoch > c.latest() {
		return -1, -1
	}
	if epoch == c.latest() {
		return epoch, end
	}
	i := sort.Search(len(c.list), func(i int) bool { return c.list[i].Epoch > epoch })
	if i == 0 { // before the first one known
		return epoch, c.list[0].Start
	}
	return c.list[i-1].Epoch, c.list[i].Start
}

// AssignEpoch notes that epoch begins at startOffset, as a new leader does before its first record. An epoch without a record is not saved: a
// start would drop it, and thousands of logs get a new one at every start.
func (l *Log) AssignEpoch(epoch int32, startOffset int64) {
	if startOffset < l.end {
		l.assignEpoch(epoch, startOffset)
		return
	}
	before := l.epochs.dirty
	l.epochs.assign(epoch, startOffset)
	l.epochs.dirty = before
}

// epochBegan saves the epochs when the batch at base is the first of the latest one.
func (l *Log) epochBegan(base int64) {
	if n := len(l.epochs.list); n > 0 && l.epochs.list[n-1].Start == base {
		l.epochs.dirty = true
		l.work.saveEpochs(l)
	}
}

func (l *Log) assignEpoch(epoch int32, start int64) {
	if l.epochs.assign(epoch, start) {
		l.work.saveEpochs(l)
	}
}

// LatestEpoch is the last one that wrote here, -1 when unknown.
func (l *Log) LatestEpoch() int32 { return l.epochs.latest() }

// EpochFor is the epoch that wrote the record at offset, -1 when unknown.
func (l *Log) EpochFor(offset int64) int32 { return l.epochs.forOffset(offset) }

// EndOffsetForEpoch is the largest known epoch not above epoch, and the offset behind its last record; -1, -1 when epoch is above all.
func (l *Log) EndOffsetForEpoch(epoch int32) (e int32, end int64) {
	return l.epochs.endOf(epoch, l.end)
}
