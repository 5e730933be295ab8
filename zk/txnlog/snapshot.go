package txnlog

import (
	"bytes"
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
	if err := fs.MkdirAll(dir); err != nil {
		return nil, err
	}
	tmp := name(dir, "tmp-snapshot", zxid)
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
	seal := jute.AppendText(jute.AppendLong(nil, int64(w.sum)), "/")
	err := w.Write(seal)
	if err == nil {
		err = w.f.Sync()
	}
	if cerr := w.f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = w.fs.Rename(w.tmp, name(w.dir, "snapshot", w.zxid))
	}
	if err == nil {
		err = w.fs.SyncDir(w.dir)
	}
	return err
}

// Abandon removes what was written.
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
	return parseSnapshot("pieces", bytes.Join(pieces, nil), false)
}

// loadSnapshot reads one file. The error is a *CorruptError when it is not sound.
func loadSnapshot(path string, b []byte) (*tree.Tree, map[int64]int32, error) {
	return parseSnapshot(path, b, true)
}

func parseSnapshot(path string, b []byte, hasSeal bool) (*tree.Tree, map[int64]int32, error) {
	bad := func(r *jute.Reader, what string) error {
		return &CorruptError{Path: path, Pos: int64(len(b) - r.Len()), What: what, Err: r.Err()}
	}
	r := jute.NewReader(b)
	if r.Int() != snapMagic || r.Int() != fileVersion {
		return nil, nil, &CorruptError{Path: path, What: "no snapshot header", Err: ErrFormat}
	}
	r.Long()
	n := r.Count(12)
	sessions := make(map[int64]int32, max(n, 0))
	for range n {
		id := r.Long()
		sessions[id] = r.Int()
	}
	t := tree.NewEmpty()
	for range r.Count(12) {
		ix := r.Long()
		t.SeedACL(ix, r.ACL())
	}
	for r.Err() == nil {
		at := r.String()
		if at == "/" {
			break
		}
		node := tree.ParseNode(&r)
		if r.Err() == nil && !t.Seed(at, node) {
			return nil, nil, bad(&r, "a node without its parent, or twice")
		}
	}
	sealed := b[:len(b)-r.Len()]
	if !hasSeal {
		if r.Err() != nil || r.Len() != 0 || !t.Seeded() {
			return nil, nil, bad(&r, "no whole snapshot")
		}
		return t, sessions, nil
	}
	if sum := r.Long(); r.Err() != nil || sum != int64(adler32.Checksum(sealed)) || r.String() != "/" {
		return nil, nil, bad(&r, "wrong checksum")
	}
	if !t.Seeded() {
		return nil, nil, bad(&r, "no root")
	}
	return t, sessions, nil
}
