package txnlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// bench is a log with its disk.
type bench struct {
	t   *testing.T
	dir string
	d   disk.Disk
	log *Log
	ops []*disk.Op
}

func openBench(t *testing.T, dir string, last int64) *bench {
	t.Helper()
	d, _, err := disk.Open(disk.Options{Backend: "portable", Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := OpenLog(disk.OS(), d, dir, last)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, dir: dir, d: d, log: l}
}

func create(zxid int64, path string) *tree.Txn {
	return &tree.Txn{Zxid: zxid, TimeMs: 1000 + zxid, Op: jute.OpCreate, Path: path, Data: []byte(path), ACL: tree.OpenACL(), ParentCversion: int32(zxid)}
}

// write appends txns as one chain.
func (b *bench) write(from, to int64) {
	b.t.Helper()
	for z := from; z <= to; z++ {
		b.log.Append(create(z, fmt.Sprintf("/n%d", z)))
	}
	b.log.Turn()
	b.d.Flush()
	for b.log.Durable() < to {
		b.ops = b.d.Reap(b.ops[:0])
		for _, op := range b.ops {
			b.log.OnDisk(op)
		}
		if err := b.log.Err(); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) close() {
	b.t.Helper()
	if err := b.log.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.d.Close()
}

func recovered(t *testing.T, dir string, want int64) *Recovered {
	t.Helper()
	r, err := Recover(disk.OS(), dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Zxid != want {
		t.Fatalf("recovered up to 0x%x, want 0x%x", r.Zxid, want)
	}
	for z := int64(1); z <= want; z++ {
		if n := r.Tree.Get(fmt.Sprintf("/n%d", z)); n == nil || string(n.Data) != fmt.Sprintf("/n%d", z) {
			t.Fatalf("/n%d is lost", z)
		}
	}
	return r
}

func TestLogGroupsWhatCameMeanwhile(t *testing.T) {
	b := openBench(t, t.TempDir(), 0)
	defer b.close()
	b.write(1, 100)
	if b.log.Writes != 1 || b.log.Records != 100 {
		t.Fatalf("%d records in %d writes", b.log.Records, b.log.Writes)
	}
}

// C-64: preallocated zeros are no data and no end to write behind.
func TestLogGoesOnAfterEveryRestart(t *testing.T) {
	dir := t.TempDir()
	for round := int64(0); round < 4; round++ {
		recovered(t, dir, round*10)
		b := openBench(t, dir, round*10)
		b.write(round*10+1, round*10+4)
		b.write(round*10+5, round*10+10)
		b.close()
	}
	recovered(t, dir, 40)
}

// damage flips or cuts bytes of the only log in dir, at the record with the given number.
func damage(t *testing.T, dir string, record int, change func(f *os.File, pos, size int64)) {
	t.Helper()
	logs, err := list(disk.OS(), dir, "log")
	if err != nil || len(logs) == 0 {
		t.Fatal(err)
	}
	path := logs[len(logs)-1].path
	df, err := disk.OS().OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer df.Close()
	s, err := newScanner(df)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.begin(); err != nil {
		t.Fatal(err)
	}
	for range record {
		if _, ok, err := s.next(); !ok || err != nil {
			t.Fatal("no such record")
		}
	}
	from := s.pos
	if _, ok, err := s.next(); !ok || err != nil {
		t.Fatal("no such record")
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	change(f, from, s.pos-from)
}

func flip(f *os.File, pos, size int64) { _, _ = f.WriteAt([]byte{0xEE}, pos+size/2) }

func TestRecoverTellsTornTailsFromDamage(t *testing.T) {
	for _, c := range []struct {
		name   string
		chains []int64 // the last zxid of each write
		record int     // the damaged one, from 0
		change func(f *os.File, pos, size int64)
		want   int64 // recovered up to; -1 for a CorruptError
	}{
		{"last-record-flipped", []int64{5, 10}, 9, flip, 9},
		{"first-of-last-chain", []int64{5, 10}, 5, flip, 5},
		{"middle-of-last-chain", []int64{5, 10}, 7, flip, 7},
		{"last-of-an-earlier-chain", []int64{5, 10}, 4, flip, -1},
		{"first-of-all", []int64{5, 10}, 0, flip, -1},
		{"zeroed-in-an-earlier-chain", []int64{5, 10}, 2, func(f *os.File, pos, size int64) { _, _ = f.WriteAt(make([]byte, size), pos) }, -1},
		{"zeroed-in-the-last-chain", []int64{5, 10}, 7, func(f *os.File, pos, size int64) { _, _ = f.WriteAt(make([]byte, size), pos) }, 7},
		{"length-is-a-lie", []int64{5, 10}, 3, func(f *os.File, pos, _ int64) { _, _ = f.WriteAt([]byte{0x7F}, pos+8) }, -1},
		{"cut-within-a-record", []int64{5, 10}, 8, func(f *os.File, pos, size int64) { _ = f.Truncate(pos + size - 3) }, 8},
		{"cut-at-a-record", []int64{5, 10}, 8, func(f *os.File, pos, _ int64) { _ = f.Truncate(pos) }, 8},
		{"alone-in-its-chain", []int64{10}, 0, flip, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			b := openBench(t, dir, 0)
			from := int64(1)
			for _, to := range c.chains {
				b.write(from, to)
				from = to + 1
			}
			b.close()
			damage(t, dir, c.record, c.change)
			if c.want >= 0 {
				recovered(t, dir, c.want)
				// What is written next must be found behind the torn tail.
				b = openBench(t, dir, c.want)
				b.write(c.want+1, 20)
				b.close()
				recovered(t, dir, 20)
				return
			}
			var corrupt *CorruptError
			if _, err := Recover(disk.OS(), dir, dir); !errors.As(err, &corrupt) {
				t.Fatalf("damage below the last fsync: %v", err)
			}
		})
	}
}

// snapshot writes one of r's tree.
func snapshot(t *testing.T, dir string, r *Recovered) {
	t.Helper()
	s := BeginSnapshot(r.Tree, r.Sessions)
	w, err := NewSnapshotWriter(disk.OS(), dir, s.Zxid)
	if err != nil {
		t.Fatal(err)
	}
	for done := false; !done; {
		var piece []byte
		piece, done = s.Piece(nil, 64)
		if err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
}

func TestRecoverFromSnapshotsAndTheirLogs(t *testing.T) {
	dir := t.TempDir()
	for round := int64(0); round < 5; round++ {
		r := recovered(t, dir, round*10)
		r.Sessions[100+round] = 4000
		snapshot(t, dir, r)
		b := openBench(t, dir, round*10)
		b.write(round*10+1, round*10+10)
		b.close()
	}
	r := recovered(t, dir, 50)
	if r.Snapshot != 40 || r.Replayed != 10 || len(r.Sessions) != 5 {
		t.Fatalf("snapshot %d, %d replayed, %d sessions", r.Snapshot, r.Replayed, len(r.Sessions))
	}
	t.Run("purge-keeps-what-is-needed", func(t *testing.T) {
		gone, err := Purge(disk.OS(), dir, dir, 3)
		if err != nil || gone == 0 {
			t.Fatalf("%d files purged, %v", gone, err)
		}
		recovered(t, dir, 50)
		again, err := Purge(disk.OS(), dir, dir, 3)
		if err != nil || again != 0 {
			t.Fatalf("the second purge took %d files, %v", again, err)
		}
	})
	t.Run("a-damaged-snapshot-is-passed-over", func(t *testing.T) {
		f, err := os.OpenFile(name(dir, "snapshot", 40), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.WriteAt([]byte{0x55, 0x55}, 200)
		_ = f.Close()
		if r := recovered(t, dir, 50); r.Snapshot != 30 || len(r.Unsound) != 1 {
			t.Fatalf("began with %d, %d unsound", r.Snapshot, len(r.Unsound))
		}
	})
	t.Run("a-missing-log-is-an-error", func(t *testing.T) {
		if err := os.Remove(name(dir, "log", 31)); err != nil {
			t.Fatal(err)
		}
		if _, err := Recover(disk.OS(), dir, dir); !errors.Is(err, ErrGap) {
			t.Fatalf("a gap in the logs: %v", err)
		}
	})
	t.Run("no-snapshot-at-all-is-an-error", func(t *testing.T) {
		all, _ := filepath.Glob(dir + "/snapshot.*")
		for _, f := range all {
			_ = os.Remove(f)
		}
		if _, err := Recover(disk.OS(), dir, dir); !errors.Is(err, ErrNoSnapshot) {
			t.Fatalf("logs from the middle alone: %v", err)
		}
	})
}

// A snapshot is written while transactions go on; with the log behind it the state is exact.
func TestSnapshotIsExactWithItsLog(t *testing.T) {
	dir := t.TempDir()
	tr := tree.New()
	prep := tree.NewPrep(tr)
	b := openBench(t, dir, 0)
	zxid := int64(0)
	var res tree.Result
	do := func(op int32, body []byte) {
		zxid++
		x := &tree.Txn{Zxid: zxid, TimeMs: zxid, Session: 7}
		r := jute.NewReader(body)
		if err := prep.Request(op, &r, &tree.Caller{Session: 7}, x); err != nil {
			t.Fatal(err)
		}
		b.log.Append(x)
		tr.Apply(x, &res)
		prep.Committed(zxid)
	}
	mk := func(path string, acl []jute.ACL, flags int32) {
		do(jute.OpCreate, jute.AppendInt(jute.AppendACL(jute.AppendBuffer(jute.AppendText(nil, path), []byte(path)), acl), flags))
	}
	readable := []jute.ACL{{Perms: 1, ID: jute.ID{Scheme: "world", ID: "anyone"}}}
	for i := range 50 {
		mk(fmt.Sprintf("/d%d", i), tree.OpenACL(), 0)
	}
	s := BeginSnapshot(tr, map[int64]int32{7: 4000})
	w, err := NewSnapshotWriter(disk.OS(), dir, s.Zxid)
	if err != nil {
		t.Fatal(err)
	}
	for i, done := 0, false; !done; i++ {
		var piece []byte
		piece, done = s.Piece(nil, 100)
		if err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
		if i < 40 {
			d := fmt.Sprintf("/d%d", i)
			mk(d+"/new", readable, 0)
			mk(d+"/s-", tree.OpenACL(), jute.FlagEphemeralSequential)
			do(jute.OpSetData, jute.AppendInt(jute.AppendBuffer(jute.AppendText(nil, d), []byte("changed")), -1))
			do(jute.OpDelete, jute.AppendInt(jute.AppendText(nil, fmt.Sprintf("/d%d", 49-i%5)), -1))
			do(jute.OpDelete, jute.AppendInt(jute.AppendText(nil, d+"/new"), -1))
			mk(d+"/again", readable, 0)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	b.write(zxid+1, zxid+1) // flushes what was appended
	tr.Apply(create(zxid+1, fmt.Sprintf("/n%d", zxid+1)), &res)
	b.close()
	r, err := Recover(disk.OS(), dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	want, got := collect(tr, false), collect(r.Tree, false)
	if len(want) != len(got) {
		t.Errorf("%d nodes, want %d", len(got), len(want))
	}
	for path, n := range want {
		if show(got[path]) != show(n) {
			t.Errorf("%s is %s, want %s", path, show(got[path]), show(n))
		}
	}
}

// The window of the loader is smaller than this snapshot, and one node is larger than the window.
func TestSnapshotIsLoadedThroughAWindow(t *testing.T) {
	dir := t.TempDir()
	tr := tree.New()
	var res tree.Result
	for i := range int64(3000) {
		x := create(i+1, fmt.Sprintf("/n%d", i))
		x.Data = bytes.Repeat([]byte{byte(i)}, 1000)
		if i == 1500 {
			x.Data = bytes.Repeat([]byte("x"), 3*window)
		}
		tr.Apply(x, &res)
	}
	snap := BeginSnapshot(tr, map[int64]int32{1: 5000})
	w, err := NewSnapshotWriter(disk.OS(), dir, snap.Zxid)
	if err != nil {
		t.Fatal(err)
	}
	for done := false; !done; {
		var piece []byte
		piece, done = snap.Piece(nil, 64<<10)
		if err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	got, sessions, err := loadSnapshot(disk.OS(), name(dir, "snapshot", snap.Zxid), nil)
	if err != nil || got.Count() != tr.Count() || len(sessions) != 1 || got.ApproximateBytes() != tr.ApproximateBytes() {
		t.Fatalf("%v, %v", sessions, err)
	}
	if n := got.Get("/n1500"); n == nil || len(n.Data) != 3*window {
		t.Fatal("the large node is not what it was")
	}
}
