package ensemble

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/pelton-broker/pelton/internal/disk"
)

// walRig is a raft log on a portable disk.
type walRig struct {
	t   *testing.T
	dir string
	d   disk.Disk
	w   *WAL
	s   State
	got []*Persist
}

func newWALRig(t *testing.T, dir string) *walRig {
	t.Helper()
	d, _, err := disk.Open(disk.Options{Backend: "portable"})
	if err != nil {
		t.Fatal(err)
	}
	r := &walRig{t: t, dir: dir, d: d}
	var fresh bool
	if r.w, r.s, fresh, err = readWAL(disk.OS(), dir); err != nil {
		d.Close()
		t.Fatal(err)
	}
	r.w.attach(d, func(p *Persist) { r.got = append(r.got, p) })
	if fresh {
		r.s.Base = firstBase([]Server{{ID: 1}}, 0)
		must(r.w.Roll(recBase, r.s.Base, nil, nil))
	} else {
		must(r.w.Roll(recMark, r.s.Base, r.s.Hard, r.s.Entries))
	}
	return r
}

func (r *walRig) close() {
	if err := r.w.Close(); err != nil {
		r.t.Error(err)
	}
	r.d.Close()
}

func entry(index, term uint64, data string) *pb.Entry {
	return &pb.Entry{Index: proto.Uint64(index), Term: proto.Uint64(term), Data: []byte(data), Type: pb.EntryNormal.Enum()}
}

// write makes one write and waits for it.
func (r *walRig) write(p *Persist) {
	r.t.Helper()
	p.responses = []*pb.Message{{}}
	r.w.Append(p)
	r.w.Turn()
	for r.d.Flush(); r.w.busy; r.d.Flush() {
		for _, op := range r.d.Reap(nil) {
			r.w.OnDisk(op)
		}
	}
	if r.w.Err() != nil || r.got[len(r.got)-1] != p {
		r.t.Fatalf("write: %v", r.w.Err())
	}
}

func list(s State) (out []string) {
	for _, e := range s.Entries {
		out = append(out, fmt.Sprintf("%d/%d %s", e.GetIndex(), e.GetTerm(), e.GetData()))
	}
	return out
}

func TestRaftLogComesBack(t *testing.T) {
	dir := t.TempDir()
	r := newWALRig(t, dir)
	r.write(&Persist{Entries: []*pb.Entry{entry(2, 2, "a"), entry(3, 2, "b"), entry(4, 2, "c")}, Hard: &pb.HardState{Term: proto.Uint64(2), Vote: proto.Uint64(2), Commit: proto.Uint64(1)}})
	r.write(&Persist{Entries: []*pb.Entry{entry(3, 3, "other")}, Hard: &pb.HardState{Term: proto.Uint64(3), Vote: proto.Uint64(0), Commit: proto.Uint64(2)}})
	r.close()
	want := []string{"2/2 a", "3/3 other"}
	for range 2 { // the second time from the file that the first one began
		r = newWALRig(t, dir)
		if got := list(r.s); !reflect.DeepEqual(got, want) || r.s.Hard.GetTerm() != 3 || r.s.Hard.GetCommit() != 2 || r.s.Base.Index != 1 {
			t.Fatalf("%v %v %v", got, r.s.Hard, r.s.Base)
		}
		r.close()
	}
	r = newWALRig(t, dir)
	must(r.w.Trim())
	r.close()
	if files, _ := filepath.Glob(dir + "/wal.*"); len(files) != 1 {
		t.Fatalf("files after a trim: %v", files)
	}
	r = newWALRig(t, dir)
	defer r.close()
	if got := list(r.s); !reflect.DeepEqual(got, want) {
		t.Fatalf("after a trim: %v", got)
	}
}

func TestRaftLogBeginsAnewBehindASnapshot(t *testing.T) {
	dir := t.TempDir()
	r := newWALRig(t, dir)
	r.write(&Persist{Entries: []*pb.Entry{entry(2, 2, "a"), entry(3, 2, "b")}})
	b := firstBase([]Server{{ID: 1}, {ID: 2}}, 0x500000007)
	must(r.w.Roll(recBase, b, nil, nil))
	r.write(&Persist{Entries: []*pb.Entry{entry(b.Index+1, 9, "c")}})
	r.close()
	r = newWALRig(t, dir)
	defer r.close()
	if r.s.Base.Index != b.Index || r.s.Base.Zxid != b.Zxid || len(r.s.Base.Conf.GetVoters()) != 2 || len(r.s.Entries) != 1 {
		t.Fatalf("%+v %v", r.s.Base, list(r.s))
	}
}

// TestRaftLogKeepsTheSecret: it is there in every later file, behind a log that begins anew and in one that goes on.
func TestRaftLogKeepsTheSecret(t *testing.T) {
	secret := bytes.Repeat([]byte{7}, secretSize)
	for name, kind := range map[string]byte{"anew": recBase, "on": recMark} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := newWALRig(t, dir)
			b := firstBase([]Server{{ID: 1}, {ID: 2}}, 0x500000007)
			b.Secret = secret
			must(r.w.Roll(kind, b, nil, nil))
			must(r.w.Trim())
			r.write(&Persist{Entries: []*pb.Entry{entry(b.Index+1, 9, "c")}})
			r.close()
			for range 2 { // the second time from the file that the first one began
				r = newWALRig(t, dir)
				if !bytes.Equal(r.s.Base.Secret, secret) || len(r.s.Entries) != 1 {
					t.Fatalf("%x %v", r.s.Base.Secret, list(r.s))
				}
				must(r.w.Trim())
				r.close()
			}
		})
	}
	if err := (&State{}).record(recSecret, []byte("short")); err == nil {
		t.Error("a secret of five bytes is taken")
	}
}

func TestRaftLogTellsATornTailFromDamage(t *testing.T) {
	make3 := func(t *testing.T) string {
		dir := t.TempDir()
		r := newWALRig(t, dir)
		for i := range uint64(3) {
			r.write(&Persist{Entries: []*pb.Entry{entry(i+2, 2, "entry")}})
		}
		r.close()
		return dir + "/wal.0000000000000001"
	}
	// where finds the beginning of batch n.
	where := func(t *testing.T, b []byte, n int) int {
		at := len(walHeader)
		for range n {
			records, _, ok := batchAt(b, at)
			if !ok {
				t.Fatal("no batch")
			}
			at += batchHead + len(records)
		}
		return at
	}
	for name, c := range map[string]struct {
		harm func(b []byte, second, third int) []byte
		left int // entries; -1 damage
	}{
		"torn last batch":       {func(b []byte, _, third int) []byte { b[third+batchHead+3] ^= 1; return b }, 2},
		"cut in the last batch": {func(b []byte, _, third int) []byte { return b[:third+9] }, 2},
		"damage below":          {func(b []byte, second, _ int) []byte { b[second+batchHead+3] ^= 1; return b }, -1},
		"damaged length":        {func(b []byte, second, _ int) []byte { b[second+8] = 0xFF; return b }, -1},
		"no header":             {func(b []byte, _, _ int) []byte { b[0] ^= 1; return b }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			path := make3(t)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.harm(b, where(t, b, 2), where(t, b, 3)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, s, _, err := readWAL(disk.OS(), filepath.Dir(path))
			switch {
			case c.left < 0 && !errors.Is(err, ErrCorrupt):
				t.Fatalf("damage is taken: %v, %v", list(s), err)
			case c.left >= 0 && (err != nil || len(s.Entries) != c.left):
				t.Fatalf("%v, %v", list(s), err)
			}
		})
	}
}

func FuzzRaftLog(f *testing.F) {
	f.Add([]byte(walHeader))
	w := &WAL{}
	b := append(make([]byte, batchHead), appendBase(nil, recBase, firstBase([]Server{{ID: 1}}, 3))...)
	w.sealBatch(b)
	f.Add(append([]byte(walHeader), b...))
	f.Fuzz(func(t *testing.T, in []byte) {
		var s State
		if err := (&WAL{}).replay(&s, in, true); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		_ = s.take(in) // what a checksum covers may still be anything
	})
}
