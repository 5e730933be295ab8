package ensemble

import (
	"context"
	"log/slog"
	"sync"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/zk/tree"
	"github.com/pelton-broker/pelton/zk/txnlog"
)

// spool puts the state that comes from the leader into a file and reads it, beside the loop: neither its size nor the time it takes
// may hold the loop up, or the leader would take this member for dead.
type spool struct {
	fs    disk.FS
	dir   string
	log   *slog.Logger
	group *task.Group

	// now is the stream that comes, whole are the files of streams that raft wants, until they are installed. The loop's alone.
	now   *spooling
	whole map[int64]*txnlog.SnapshotWriter

	mu struct {
		sync.Mutex
		done []spooled
		wake func()
	}
}

// spooling is one stream on its way to its file.
type spooling struct {
	stream int64
	pieces chan Piece
	cancel context.CancelFunc
}

// spooled is what the writer of a stream tells the loop: a piece is in the file, or, with n 0, how the stream ended.
type spooled struct {
	stream, n int64
	file      *txnlog.SnapshotWriter
	tree      *tree.Tree
	open      map[int64]int32
	err       error
}

func newSpool(fs disk.FS, dir string, log *slog.Logger) *spool {
	s := &spool{fs: fs, dir: dir, log: log, group: task.NewGroup(), whole: map[int64]*txnlog.SnapshotWriter{}}
	s.mu.wake = func() {}
	return s
}

func (s *spool) setWake(wake func()) {
	s.mu.Lock()
	s.mu.wake = wake
	s.mu.Unlock()
}

// put hands a piece to its stream's writer. The leader sends only so many ahead of what is confirmed: who sends more is not waited for.
func (s *spool) put(p Piece) {
	if p.N == 1 {
		s.drop()
		ctx, cancel := context.WithCancel(s.group.Context())
		s.now = &spooling{stream: p.Stream, pieces: make(chan Piece, 2*piecesAhead), cancel: cancel}
		now, zxid := s.now, p.Zxid
		s.group.Go("zk-spool", func(context.Context) { s.write(ctx, now, zxid) })
	}
	if s.now == nil || s.now.stream != p.Stream {
		return
	}
	select {
	case s.now.pieces <- p:
	default:
		s.drop()
	}
}

// drop gives up the stream that comes.
func (s *spool) drop() {
	if s.now != nil {
		s.now.cancel()
		s.now = nil
	}
}

// take is what the writers have told since it was asked last.
func (s *spool) take() []spooled {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.mu.done
	s.mu.done = nil
	return out
}

func (s *spool) tell(d spooled) {
	s.mu.Lock()
	s.mu.done = append(s.mu.done, d)
	wake := s.mu.wake
	s.mu.Unlock()
	wake()
}

// write is the writer of one stream.
func (s *spool) write(ctx context.Context, now *spooling, zxid int64) {
	w, err := txnlog.NewReceivedWriter(s.fs, s.dir, zxid, now.stream)
	if err != nil {
		s.tell(spooled{stream: now.stream, err: err})
		return
	}
	end := spooled{stream: now.stream, file: w}
	if end.err = s.fill(ctx, now, w); end.err == nil {
		end.err = w.Seal()
	}
	if end.err == nil {
		end.tree, end.open, end.err = w.Load(ctx.Err)
	}
	if end.err != nil {
		w.Abandon()
		end.file = nil
	}
	s.tell(end)
}

// fill writes pieces until the last one.
func (s *spool) fill(ctx context.Context, now *spooling, w *txnlog.SnapshotWriter) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p := <-now.pieces:
			if err := w.Write(p.Body); err != nil {
				return err
			}
			s.tell(spooled{stream: now.stream, n: p.N})
			if p.Last {
				return nil
			}
		}
	}
}

// turn tells the machine what the writers have told.
func (s *spool) turn(c *Core) {
	for _, d := range s.take() {
		current := s.now != nil && s.now.stream == d.stream
		switch {
		case d.n > 0 && current:
			c.Kept(d.stream, d.n)
		case d.n > 0:
		case !current:
			s.forget(d.file)
		default:
			s.drop()
			if d.err != nil {
				s.log.Warn("zk ensemble: the leader's state could not be kept, it is asked for again", "err", d.err)
			}
			if c.Loaded(d.stream, d.tree, d.open) {
				s.whole[d.stream] = d.file
			} else {
				s.forget(d.file)
			}
		}
	}
}

func (s *spool) forget(w *txnlog.SnapshotWriter) {
	if w != nil {
		w.Abandon()
	}
}

// publish gives the file of a stream its name; those of older streams go.
func (s *spool) publish(stream int64) error {
	w := s.whole[stream]
	delete(s.whole, stream)
	for old, file := range s.whole {
		if old < stream {
			delete(s.whole, old)
			s.forget(file)
		}
	}
	if w == nil {
		return ErrNoState
	}
	return w.Publish()
}

// close ends the writers.
func (s *spool) close() {
	s.drop()
	s.group.Stop()
	for _, d := range s.take() {
		s.forget(d.file)
	}
	for _, file := range s.whole {
		s.forget(file)
	}
	clear(s.whole)
}
