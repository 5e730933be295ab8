package logstore

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/logstore/producer"
)

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is the directory's name.
func (tp TopicPartition) String() string { return fmt.Sprintf("%s-%d", tp.Topic, tp.Partition) }

// Log is one partition. All methods but those that say otherwise run on the shard that it is bound to.
type Log struct {
	tp      TopicPartition
	topicID [16]byte
	home    atomic.Pointer[Dir] // changed by a move
	former  atomic.Pointer[Dir] // where it was before its last move
	path    string
	fs      disk.FS
	disk    disk.Disk
	opt     Options
	nowMs   int64
	closed  bool
	// deleted is set by the manager; from then on no job touches names. gate is held by running jobs, so that a deletion waits for them.
	deleted  atomic.Bool
	gate     sync.RWMutex
	opened   int64 // end when it was opened
	cutBytes int64 // taken off the end when it was opened
	dirty    bool  // files are not as a clean stop leaves them, whatever is appended

	segments []*Segment // by base offset; the last one is active
	doomed   []doomed   // removed from the log, their files not yet
	cursors  cursors
	window   window // the last header read
	damage   error  // bytes below the end that are no batch: this log alone is offline
	records  *batch.Iterator
	peek     *Peek // of the lookup that is under way; nil: it decompresses itself

	producers  *producer.Table
	epochs     epochCache
	write      writer
	work       lanes
	compaction Compaction
	throttle   *throttle // of all cleaners
	moving     moving

	// start <= hw, hw <= end. Readers see [start, end).
	start int64 // moved by DeleteRecordsTo and retention
	end   int64 // moved only when a write completed
	hw    int64 // moved by the host; gates consumers and retention
	// durable is what a power cut leaves: every byte below it was synced. Moved by durable chains and by Work.
	durable int64

	published struct {
		start, end, hw, durable, size, cleaned, segments atomic.Int64
		// named is the base of the first segment whose name is surely the first on the disk too: those that retention has taken out since may come
		// back by a power cut, and a start behind it is only safe in its checkpoint.
		named       atomic.Int64
		delay       atomic.Int64 // file.delete.delay.ms, for the manager
		dirty       atomic.Int64 // closed bytes of a compacted log that were never cleaned
		uncleanable atomic.Pointer[uncleanable]
		doubts      atomic.Int64 // index entries that were not believed
	}
}

// publish makes the watermarks visible to other threads.
func (l *Log) publish() {
	l.published.start.Store(l.start)
	l.published.end.Store(l.end)
	l.published.hw.Store(l.hw)
	l.published.durable.Store(l.durable)
	var size int64
	for _, s := range l.segments {
		size += s.size
	}
	l.published.size.Store(size)
	l.published.segments.Store(int64(len(l.segments)))
}

// Bind gives the log its shard's disk; from here on it belongs to that shard.
func (l *Log) Bind(d disk.Disk) { l.disk = d }

// TopicPartition names the partition.
func (l *Log) TopicPartition() TopicPartition { return l.tp }

// TopicID is the id in partition.metadata; zero when the files have none.
func (l *Log) TopicID() [16]byte { return l.topicID }

// Path is the partition's directory. Any thread.
func (l *Log) Path() string { return filepath.Join(l.dir().path, l.tp.String()) }

// Dir is the log directory that it lies in. Any thread.
func (l *Log) Dir() string { return l.dir().path }

// Start is the first offset that can be read. Any thread.
func (l *Log) Start() int64 { return l.published.start.Load() }

// End is the offset of the next record. Any thread.
func (l *Log) End() int64 { return l.published.end.Load() }

// HighWatermark is the offset that consumers may read to. Any thread.
func (l *Log) HighWatermark() int64 { return l.published.hw.Load() }

// RecoveryPoint is the offset below which everything was synced. Any thread.
func (l *Log) RecoveryPoint() int64 { return l.published.durable.Load() }

// DurableEnd is RecoveryPoint under the name that the metrics use. Any thread.
func (l *Log) DurableEnd() int64 { return l.published.durable.Load() }

// SizeBytes is the size of all segments. Any thread.
func (l *Log) SizeBytes() int64 { return l.published.size.Load() }

// Segments is the number of segments; from any thread.
func (l *Log) Segments() int64 { return l.published.segments.Load() }

// SetHighWatermark moves the high watermark, never above the end. The host of a single replica sets it to End after each append.
func (l *Log) SetHighWatermark(offset int64) {
	offset = max(min(offset, l.end), l.start)
	if offset == l.hw {
		return
	}
	l.hw = offset
	l.producers.HighWatermark(offset)
	l.published.hw.Store(offset)
}

// FirstUnstable is the first offset of a transaction that readers of committed data must not see yet; -1 without one.
func (l *Log) FirstUnstable() int64 { return l.producers.FirstUnstable() }

// LastStable is the offset that readers of committed data may read to.
func (l *Log) LastStable() int64 {
	if u := l.producers.FirstUnstable(); u >= 0 && u < l.hw {
		return max(u, l.start)
	}
	return l.hw
}

// Options are the settings in force.
func (l *Log) Options() Options { return l.opt }

// SetOptions changes the settings; they hold from the next append on.
func (l *Log) SetOptions(o Options) {
	l.opt = o.withDefaults()
	l.published.delay.Store(l.opt.FileDeleteMs)
}

// Producers calls fn for every producer known, in no order.
func (l *Log) Producers(fn func(producer.State)) { l.producers.Each(fn) }

// Offline is the reason why nothing works here, or nil. Any thread but for damage of this log alone, which its shard sees.
func (l *Log) Offline() error {
	if l.damage != nil {
		return l.damage
	}
	return l.dir().Offline()
}

// DirFailed tells whether the log's directory has failed. Any thread.
func (l *Log) DirFailed() bool { return l.dir().failed.Load() != nil }

// IndexDoubts is how many lookups met an offset index entry that does not point at the batch it names, and walked instead. Any thread.
func (l *Log) IndexDoubts() int64 { return l.published.doubts.Load() }

// CutBytes is how much of a torn end was taken off when the log was opened: offsets that somebody may have seen will be given again, so
// its leader should begin a new epoch. Any thread.
func (l *Log) CutBytes() int64 { return l.cutBytes }

// Fail takes the log's directory offline: an I/O error that the host met, such as sendfile's. A log that has moved may still have readers and jobs
// in the one before: an error that names a file there is not held against the new one. Any thread.
func (l *Log) Fail(err error) {
	var at *disk.Error
	if d := l.former.Load(); d != nil && d != l.dir() && errors.As(err, &at) && strings.HasPrefix(at.Path, d.path+string(filepath.Separator)) {
		d.fail(err)
		return
	}
	l.dir().fail(err)
}

// dir is the log directory that it lies in. Any thread.
func (l *Log) dir() *Dir { return l.home.Load() }

// usable is nil, ErrClosed, or an error that is ErrOffline.
func (l *Log) usable() error {
	if l.closed || l.deleted.Load() {
		return ErrClosed
	}
	if l.dir().failed.Load() != nil {
		return ErrOffline
	}
	return nil
}

func (l *Log) active() *Segment { return l.segments[len(l.segments)-1] }

// segmentFor is the place of the segment that holds offset, or would: the last one whose base is not above it.
func (l *Log) segmentFor(offset int64) int {
	low, high := 0, len(l.segments)
	for low < high {
		mid := int(uint(low+high) >> 1)
		if l.segments[mid].base > offset {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return max(low-1, 0)
}
