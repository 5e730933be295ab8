package txnlog

import (
	"bytes"
	"errors"
	"fmt"
	"hash/adler32"
	"os"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// Snapshot serialises a tree in pieces while transactions go on being applied: it is fuzzy, and the replay of
// the log from its zxid on makes it exact. Its zxid is that of the tree when it began.
//
//	header (magic, version 2, -1) · sessions (count, id, timeout) · lists of ACLs (count, index, list) ·
//	path and node, parents first · "/" · Adler-32 of all before · "/"
type Snapshot struct {
	Zxid int64
	walk *tree.Walk
	head []byte
	done bool
}

// BeginSnapshot notes the sessions and ACLs as they are now.
func BeginSnapshot(t *tree.Tree, sessions map[int64]int32) *Snapshot {
	b := appendHeader(nil, snapMagic, -1)
	b = jute.AppendInt(b, int32(len(sessions)))
	for id, timeout := range sessions {
		b = jute.AppendInt(jute.AppendLong(b, id), timeout)
	}
	b = jute.AppendInt(b, int32(t.ACLs()))
	t.EachACL(func(ix int64, list []jute.ACL) {
		b = jute.AppendACL(jute.AppendLong(b, ix), list)
	})
	return &Snapshot{Zxid: t.Zxid, walk: t.Walk(), head: b}
}

// Piece appends up to about max bytes to dst; done is true with the last piece.
func (s *Snapshot) Piece(dst []byte, max int) (out []byte, done bool) {
	dst = append(dst, s.head...)
	s.head = nil
	for len(dst) < max && !s.done {
		path, n := s.walk.Next()
		if n == nil {
			dst = jute.AppendText(dst, "/")
			s.done = true
			break
		}
		dst = tree.AppendNode(jute.AppendText(dst, path), n)
	}
	return dst, s.done
}

// Prefixes of files that are being written: what a killed process left of them goes at the next start.
const (
	tmpSnapshot = "tmp-snapshot"
	tmpReceived = "tmp-received"
)

// SnapshotWriter puts the pieces into a file that gets its name only when it is whole and durable.
type SnapshotWriter struct {
	fs   disk.FS
	dir  string
	tmp  string
	zxid int64
	f    *disk.File
	pos  int64
	sum  uint32
}

// NewSnapshotWriter begins the file of the snapshot at zxid.
func NewSnapshotWriter(fs disk.FS, dir string, zxid int64) (*SnapshotWriter, error) {
	return newWriter(fs, dir, name(dir, tmpSnapshot, zxid), zxid)
}

// NewReceivedWriter begins the file of a snapshot that comes from elsewhere. Files of different streams do not meet.
func NewReceivedWriter(fs disk.FS, dir string, zxid, stream int64) (*SnapshotWriter, error) {
	return newWriter(fs, dir, fmt.Sprintf("%s.%d", name(dir, tmpReceived, zxid), stream), zxid)
}

func newWriter(fs disk.FS, dir, tmp string, zxid int64) (*SnapshotWriter, error) {
	if err := fs.MkdirAll(dir); err != nil {
		return nil, err
	}
	f, err := fs.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return &SnapshotWriter{fs: fs, dir: dir, tmp: tmp, zxid: zxid, f: f, sum: 1}, nil
}

// Write appends one piece.
func (w *SnapshotWriter) Write(b []byte) error {
	n, err := w.f.WriteAt(b, w.pos)
	w.pos += int64(n)
	w.sum = adler32Update(w.sum, b)
	return err
}

// Finish seals the file, makes it durable and gives it its name.
func (w *SnapshotWriter) Finish() error {
	err := w.Seal()
	if err == nil {
		err = w.Publish()
	}
	return err
}

// Seal makes the file whole and durable; it has no name yet that a start would look for.
func (w *SnapshotWriter) Seal() error {
	seal := jute.AppendText(jute.AppendLong(nil, int64(w.sum)), "/")
	err := w.Write(seal)
	if err == nil {
		err = w.f.Sync()
	}
	if cerr := w.f.Close(); err == nil {
		err = cerr
	}
	return err
}

// Load reads a sealed file back. It ends early with what stop returns once that is not nil.
func (w *SnapshotWriter) Load(stop func() error) (*tree.Tree, map[int64]int32, error) {
	return loadSnapshot(w.fs, w.tmp, stop)
}

// Publish gives a sealed file its name.
func (w *SnapshotWriter) Publish() error {
	if err := w.fs.Rename(w.tmp, name(w.dir, "snapshot", w.zxid)); err != nil {
		return err
	}
	return w.fs.SyncDir(w.dir)
}

// Abandon removes what was written, sealed or not.
func (w *SnapshotWriter) Abandon() {
	_ = w.f.Close()
	_ = w.fs.Remove(w.tmp)
}

// adler32Update continues a checksum: the standard library's digest cannot be resumed from a sum, so the two
// halves are combined by their definition.
func adler32Update(sum uint32, b []byte) uint32 {
	const mod = 65521
	a1, b1 := sum&0xFFFF, sum>>16
	s := adler32.Checksum(b)
	a2, b2 := s&0xFFFF, s>>16
	n := uint32(len(b) % mod)
	lo := (a1 + a2 + mod - 1) % mod
	hi := (uint64(n)*uint64(a1+mod-1)%mod + uint64(b1) + uint64(b2)) % mod
	return uint32(hi)<<16 | lo
}

// ParsePieces reads the pieces of a whole Snapshot, without the seal that a file has.
func ParsePieces(pieces [][]byte) (*tree.Tree, map[int64]int32, error) {
	b := bytes.Join(pieces, nil)
	return parseSnapshot(newSnapStream("pieces", bytes.NewReader(b), int64(len(b))), false)
}

// loadSnapshot reads one file. The error is a *CorruptError when it is not sound, and that of stop, where there is one, when it has one.
func loadSnapshot(fs disk.FS, path string, stop func() error) (*tree.Tree, map[int64]int32, error) {
	f, err := fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, nil, err
	}
	in := newSnapStream(path, f, size)
	in.stop = stop
	return parseSnapshot(in, true)
}

func parseSnapshot(s *snapStream, hasSeal bool) (*tree.Tree, map[int64]int32, error) {
	sound := false
	head := func(r *jute.Reader) { sound = r.Int() == snapMagic && r.Int() == fileVersion; r.Long() }
	err := s.unit(head)
	if c := (*CorruptError)(nil); err != nil && !errors.As(err, &c) {
		return nil, nil, err
	}
	if err != nil || !sound {
		return nil, nil, &CorruptError{Path: s.path, What: "no snapshot header", Err: ErrFormat}
	}
	sessions, err := parseSessions(s)
	if err != nil {
		return nil, nil, err
	}
	t := tree.NewEmpty()
	if err := parseNodes(s, t); err != nil {
		return nil, nil, err
	}
	if hasSeal {
		want := int64(s.sum.Sum32())
		sum, end := int64(0), ""
		if err := s.unit(func(r *jute.Reader) { sum, end = r.Long(), r.String() }); err != nil || sum != want || end != "/" {
			return nil, nil, s.bad("wrong checksum", err)
		}
	} else if s.left() != 0 {
		return nil, nil, s.bad("bytes behind the last node", nil)
	}
	if !t.Seeded() {
		return nil, nil, s.bad("no root", nil)
	}
	return t, sessions, nil
}

func parseSessions(s *snapStream) (map[int64]int32, error) {
	n, err := s.count(12)
	if err != nil {
		return nil, err
	}
	sessions := make(map[int64]int32, n)
	for range n {
		var id int64
		var timeout int32
		if err := s.unit(func(r *jute.Reader) { id, timeout = r.Long(), r.Int() }); err != nil {
			return nil, err
		}
		sessions[id] = timeout
	}
	return sessions, nil
}

// parseNodes reads the lists of ACLs and then the nodes, up to the mark of their end.
func parseNodes(s *snapStream, t *tree.Tree) error {
	n, err := s.count(12)
	if err != nil {
		return err
	}
	for range n {
		var ix int64
		var list []jute.ACL
		if err := s.unit(func(r *jute.Reader) { ix, list = r.Long(), r.ACL() }); err != nil {
			return err
		}
		t.SeedACL(ix, list)
	}
	for {
		var at string
		var node *tree.Node
		parse := func(r *jute.Reader) {
			if at = r.String(); at != "/" {
				node = tree.ParseNode(r)
			}
		}
		if err := s.unit(parse); err != nil {
			return err
		}
		if at == "/" {
			return nil
		}
		if !t.Seed(at, node) {
			return s.bad("a node without its parent, or twice", nil)
		}
	}
}
