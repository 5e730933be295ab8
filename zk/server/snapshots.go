package server

import (
	"cmp"
	"context"

	"github.com/pelton-broker/pelton/zk/txnlog"
)

// snapshots is the pace of snapshots: begun after SnapCount transactions, serialised in pieces on the loop, written by
// a goroutine of its own.
type snapshots struct {
	dir, logDir string
	since       int // transactions since the last one began
	now         *txnlog.Snapshot
	pieces      chan []byte // to the writer
	done        bool        // the last piece was handed over
	busy        bool        // the writer has not reported yet
	purgedMs    int64
	begunMs     int64 // monotonic
	last        int64 // zxid of the newest one, and when it was whole
	lastMs      int64
	asked       chan<- snapshotTaken // who waits for the one on its way; nil when nobody does
	askedMs     int64                // when one was asked for last; 0 when never
}

// pieceBytes is how much of the tree is serialised in one turn: some 100 µs.
const pieceBytes = 64 << 10

// snapSleepNs paces the loop while a snapshot is on its way and its writer is behind.
const snapSleepNs = 1_000_000

func (s *snapshots) active() bool { return s.now != nil }

func (s *snapshots) sleepNs() int64 {
	if len(s.pieces) < cap(s.pieces)-1 {
		return 0
	}
	return snapSleepNs
}

// end gives the writer up; what it wrote has no name yet.
func (s *snapshots) end() {
	if s.now != nil {
		close(s.pieces)
		s.now = nil
	}
}

func (l *loop) snapshotTurn() {
	s := &l.snap
	if s.now == nil {
		if s.busy || s.since < l.o.SnapCount {
			return
		}
		l.beginSnapshot()
	}
	if len(s.pieces) >= cap(s.pieces)-1 {
		return
	}
	piece, done := s.now.Piece(nil, pieceBytes)
	s.pieces <- piece
	if done {
		s.pieces <- nil
		close(s.pieces)
		s.now = nil
	}
}

func (l *loop) beginSnapshot() {
	s := &l.snap
	s.since, s.busy, s.begunMs = 0, true, l.nowMs
	l.stats.snapshots++
	s.now = txnlog.BeginSnapshot(l.tree, l.openSessions())
	// One place more than is used: the mark of the end never blocks the loop.
	s.pieces = make(chan []byte, 9)
	l.prop.Roll()
	zxid, pieces, srv := s.now.Zxid, s.pieces, l.srv
	purge := l.o.PurgeHours == 0 && l.o.Embedded || l.o.PurgeHours > 0 && l.nowMs-s.purgedMs >= int64(l.o.PurgeHours)*3_600_000
	if purge {
		s.purgedMs = l.nowMs
	}
	dir, logDir := s.dir, s.logDir
	l.srv.group.Go("zk-snapshot", func(context.Context) {
		err := srv.writeSnapshot(dir, zxid, pieces)
		if err == nil && purge {
			_, err = txnlog.Purge(srv.o.FS, dir, logDir, srv.o.SnapRetain)
		}
		if err != nil {
			srv.o.Log.Warn("zk snapshot failed, the log goes on without it", "err", err)
		}
		srv.mail.put(func(l *loop) { l.snapshotWritten(zxid, err) })
	})
}

func (l *loop) snapshotWritten(zxid int64, err error) {
	l.snap.busy = false
	if l.snap.asked != nil {
		l.snap.asked <- snapshotTaken{zxid, err}
		l.snap.asked = nil
	}
	if err == nil {
		l.snap.last, l.snap.lastMs = zxid, l.wallMs
		l.m.snapshot.add(l.nowMs - l.snap.begunMs)
	}
}

// writeSnapshot drains pieces; a nil piece ends a whole snapshot, a closed channel without it an abandoned one.
func (s *Server) writeSnapshot(dir string, zxid int64, pieces <-chan []byte) error {
	w, err := txnlog.NewSnapshotWriter(s.o.FS, dir, zxid)
	whole := false
	for piece := range pieces {
		if piece == nil {
			whole = true
		} else if err == nil {
			err = w.Write(piece)
		}
	}
	switch {
	case w == nil:
		return err
	case !whole || err != nil:
		w.Abandon()
		return cmp.Or(err, errAbandoned)
	}
	return w.Finish()
}

// lastSnapshotFrom is how many transactions make a snapshot at a clean stop worth its time: replaying fewer is as quick.
const lastSnapshotFrom = 2000

// lastSnapshot spares the next start the replay. A stop does not fail of it: the log holds everything.
func (l *loop) lastSnapshot() {
	if l.snap.since < lastSnapshotFrom || l.prop.Err() != nil {
		return
	}
	snap := txnlog.BeginSnapshot(l.tree, l.openSessions())
	w, err := txnlog.NewSnapshotWriter(l.o.FS, l.snap.dir, snap.Zxid)
	if err != nil {
		l.o.Log.Warn("zk snapshot failed, the log goes on without it", "err", err)
		return
	}
	var piece []byte
	for done := false; !done && err == nil; {
		piece, done = snap.Piece(piece[:0], pieceBytes)
		err = w.Write(piece)
	}
	if err == nil {
		err = w.Finish()
	} else {
		w.Abandon()
	}
	if err != nil {
		l.o.Log.Warn("zk snapshot failed, the log goes on without it", "err", err)
	}
}
