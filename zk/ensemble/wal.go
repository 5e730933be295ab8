package ensemble

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/zk/jute"
)

// WAL is raft's log on disk: files wal.<number> in a directory of their own, each a header of 16 bytes and then batches, zeros behind:
//
//	magic 4 · CRC-32C of all that follows 4 · length of the records 4 · number of the batch 8 · records
//
// A batch is one write with its fdatasync, and one is in flight at a time: a batch that does not read back right is
// a torn tail, unless a sound one follows. A record is its kind, its length and its bytes; an entry makes those of
// its index and above void.
type WAL struct {
	fs   disk.FS
	disk disk.Disk
	dir  string

	f        *disk.File
	file     uint64 // number of the open file
	oldest   uint64
	pos      int64
	grown    int64
	batch    uint64
	building []byte
	waiting  []*Persist // in building
	flying   []*Persist // in the write in flight
	urgent   bool       // somebody waits for what is in building
	writing  []byte
	bufs     [2][]byte
	op       disk.Op
	busy     bool
	zeros    []byte
	err      error
	done     func(*Persist)

	// Writes counts chains.
	Writes uint64
}

const (
	walDir     = "raft"
	walHeader  = "PELTON-RAFT-LOG1"
	walMagic   = 0x50524231
	batchHead  = 20
	walPad     = 256 << 10
	rollAt     = 64 << 20
	recBase    = 1 // where the log begins anew
	recHard    = 2
	recEntry   = 3
	recMark    = 4 // a base that counts only in the oldest file
	recSecret  = 5 // of the base before it
	maxBatch   = 1 << 30
	recordHead = 5
)

func crcTable() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func (w *WAL) path(n uint64) string { return fmt.Sprintf("%s/wal.%016x", w.dir, n) }

// attach makes a read log writable.
func (w *WAL) attach(d disk.Disk, done func(*Persist)) {
	w.disk, w.done = d, done
	w.op.Owner = w
	w.zeros = make([]byte, walPad)
	w.building = make([]byte, batchHead)
}

// Err is the error that ended the log.
func (w *WAL) Err() error { return w.err }

// Append queues a write.
func (w *WAL) Append(p *Persist) {
	if p.Hard != nil {
		w.building = appendProto(w.building, recHard, p.Hard)
	}
	for _, e := range p.Entries {
		w.building = appendProto(w.building, recEntry, e)
	}
	w.waiting = append(w.waiting, p)
	w.urgent = w.urgent || p.Waits()
}

func appendProto(dst []byte, kind byte, m proto.Message) []byte {
	at := len(dst)
	dst = append(dst, kind, 0, 0, 0, 0)
	dst, err := proto.MarshalOptions{}.MarshalAppend(dst, m)
	if err != nil {
		invariant.Broken("zk/ensemble: a record cannot be encoded", err)
	}
	jute.PutInt(dst[at+1:], int32(len(dst)-at-recordHead))
	return dst
}

func appendBase(dst []byte, kind byte, b Base) []byte {
	at := len(dst)
	dst = append(dst, kind, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint64(dst, b.Index)
	dst = binary.BigEndian.AppendUint64(dst, b.Term)
	dst = jute.AppendLong(dst, b.Zxid)
	dst, err := proto.MarshalOptions{}.MarshalAppend(dst, b.Conf)
	if err != nil {
		invariant.Broken("zk/ensemble: a record cannot be encoded", err)
	}
	jute.PutInt(dst[at+1:], int32(len(dst)-at-recordHead))
	return dst
}

// Turn hands what waits to the disk, unless a write is in flight or nobody waits for it.
func (w *WAL) Turn() {
	if w.busy || !w.urgent || w.err != nil {
		return
	}
	w.urgent = false
	w.building, w.writing = append(w.writing[:0], make([]byte, batchHead)...), w.building
	w.waiting, w.flying = w.flying[:0], w.waiting
	w.sealBatch(w.writing)
	n := int64(len(w.writing))
	w.bufs[0] = w.writing
	w.op.Bufs = w.bufs[:1]
	if end := w.pos + n; end > w.grown {
		w.grown = (end + walPad) / walPad * walPad
		w.bufs[1] = w.zeros[:w.grown-end]
		w.op.Bufs = w.bufs[:2]
	}
	w.op.Kind, w.op.File, w.op.Off, w.op.Durable = disk.Write, w.f, w.pos, true
	w.pos += n
	w.busy = true
	w.Writes++
	w.disk.Submit(&w.op)
}

func (w *WAL) sealBatch(b []byte) {
	w.batch++
	binary.BigEndian.PutUint32(b, walMagic)
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-batchHead))
	binary.BigEndian.PutUint64(b[12:], w.batch)
	binary.BigEndian.PutUint32(b[4:], crc32.Checksum(b[8:], crcTable()))
}

// OnDisk takes the completion of the write in flight.
func (w *WAL) OnDisk(op *disk.Op) {
	if op != &w.op || !w.busy {
		invariant.Broken("zk/ensemble: completion of another operation")
	}
	w.busy = false
	if op.Err != nil {
		w.err = op.Err
		return
	}
	if cap(w.writing) > 8<<20 {
		w.writing = nil
	}
	for i, p := range w.flying {
		w.done(p)
		w.flying[i] = nil
	}
	w.flying = w.flying[:0]
}

// Full is true when the file has grown large and nothing is in flight.
func (w *WAL) Full() bool { return w.pos > rollAt && !w.busy && len(w.waiting) == 0 }

// Roll begins a new file with what the log is then. kind is recBase for a log that begins anew, and then the older files go at
// once; else recMark, and they go when Trim says that the transaction log has caught up.
func (w *WAL) Roll(kind byte, b Base, hard *pb.HardState, entries []*pb.Entry) error {
	buf := make([]byte, batchHead)
	buf = appendBase(buf, kind, b)
	if b.Secret != nil {
		buf = append(jute.AppendInt(append(buf, recSecret), int32(len(b.Secret))), b.Secret...)
	}
	if hard != nil {
		buf = appendProto(buf, recHard, hard)
	}
	for _, e := range entries {
		buf = appendProto(buf, recEntry, e)
	}
	w.sealBatch(buf)
	f, err := w.fs.OpenFile(w.path(w.file+1), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("zk/ensemble: new raft log: %w", err)
	}
	if _, err = f.WriteAt(append([]byte(walHeader), buf...), 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = w.fs.SyncDir(w.dir)
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	if w.f != nil {
		if err := w.f.Close(); err != nil {
			return err
		}
	}
	w.file++
	w.f, w.pos = f, int64(len(walHeader)+len(buf))
	w.grown = w.pos
	if kind == recBase {
		return w.Trim()
	}
	return nil
}

// Trim removes all files but the open one.
func (w *WAL) Trim() error {
	for ; w.oldest < w.file; w.oldest++ {
		if err := w.fs.Remove(w.path(w.oldest)); err != nil && !isNotExist(err) {
			return err
		}
	}
	return nil
}

// Close closes the file; nothing may be in flight.
func (w *WAL) Close() error {
	if w.f == nil {
		return nil
	}
	f := w.f
	w.f = nil
	return f.Close()
}
