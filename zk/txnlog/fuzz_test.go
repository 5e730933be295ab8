package txnlog

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// framed puts a right checksum around each payload: the fuzzer cannot make one, and would never get behind the frame.
// An input is a row of payloads with two bytes of length before each.
func framed(in []byte) []byte {
	out := appendHeader(nil, logMagic, 0)
	for len(in) >= 2 {
		n := min(int(binary.BigEndian.Uint16(in)), len(in)-2)
		payload := in[2 : 2+n]
		in = in[2+n:]
		out = binary.BigEndian.AppendUint64(out, uint64(adler32.Checksum(payload)))
		out = binary.BigEndian.AppendUint32(out, uint32(n))
		out = append(append(out, payload...), recordEnd)
	}
	return out
}

func payloads(txns ...*tree.Txn) []byte {
	var out []byte
	for _, x := range txns {
		record := appendRecord(nil, x, 1)
		p := record[12 : len(record)-1]
		out = append(binary.BigEndian.AppendUint16(out, uint16(len(p))), p...)
	}
	return out
}

func FuzzReplay(f *testing.F) {
	f.Add(payloads(create(1, "/a"), &tree.Txn{Zxid: 2, Op: jute.OpMulti, Sub: []tree.Txn{*create(2, "/b"), {Op: jute.OpError, Err: -2}}},
		&tree.Txn{Zxid: 3, Op: jute.OpCloseSession, HasPaths: true, Paths: []string{"/a"}}))
	f.Add(payloads(&tree.Txn{Zxid: 1, Session: 7, Op: jute.OpCreateSession, TimeoutMs: 1000}, &tree.Txn{Zxid: 2, Op: jute.OpSetACL, Path: "/", ACL: tree.OpenACL()}))
	f.Add(payloads(&tree.Txn{Zxid: 1, Op: jute.OpCreateTTL, Path: "/t", TTLMs: 5}, &tree.Txn{Zxid: 2, Op: jute.OpCheck, Path: "/t"}))
	path := filepath.Join(f.TempDir(), "log.1")
	file, err := disk.OS().OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = file.Close() })
	f.Fuzz(func(t *testing.T, in []byte) {
		b := framed(in)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r := &Recovered{Tree: tree.New(), Sessions: map[int64]int32{}, Snapshot: -1}
		if err := r.replayFile(file); err == nil && r.Replayed > 0 && r.Tree.Zxid != r.Zxid {
			t.Fatalf("the tree stands at %d, the log at %d", r.Tree.Zxid, r.Zxid)
		}
		if r.Tree.Get("/") == nil {
			t.Fatal("a tree without a root")
		}
	})
}

// FuzzFrames mutates whole files: frames, checksums, zeros, tails.
func FuzzFrames(f *testing.F) {
	b := appendHeader(nil, logMagic, 0)
	b = appendRecord(b, create(1, "/a"), 1)
	b = appendRecord(b, create(2, "/b"), 2)
	f.Add(b)
	f.Add(b[:len(b)-5])
	f.Add(append(b, make([]byte, 100)...))
	path := filepath.Join(f.TempDir(), "log.1")
	file, err := disk.OS().OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = file.Close() })
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r := &Recovered{Tree: tree.New(), Sessions: map[int64]int32{}, Snapshot: -1}
		if err := r.replayFile(file); err == nil && r.Tree.Get("/") == nil {
			t.Fatal("a tree without a root")
		}
	})
}

func FuzzSnapshot(f *testing.F) {
	s := BeginSnapshot(tree.New(), map[int64]int32{5: 1000})
	b, _ := s.Piece(nil, 1<<20)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		sum := adler32Update(1, b)
		b = jute.AppendText(jute.AppendLong(b, int64(sum)), "/")
		if tr, _, err := parseSnapshot(newSnapStream("x", bytes.NewReader(b), int64(len(b))), true); err == nil && tr.Get("/") == nil {
			t.Fatal("a tree without a root")
		}
	})
}

// FuzzTxn holds that what parses is written as it was read, from the second time on: the first time counts that were never
// canonical go, and the second each half of a character beyond the basic plane, which ZooKeeper writes as two and reads as malformed.
func FuzzTxn(f *testing.F) {
	x := create(1, "/a")
	f.Add(x.AppendTo(nil))
	x.ACL = []jute.ACL{{Perms: 31, ID: jute.ID{Scheme: "digest", ID: "a\U0010CF3A"}}}
	f.Add(x.AppendTo(nil))
	again := func(t *testing.T, b []byte) []byte {
		t.Helper()
		x, _, err := tree.ParseTxn(b)
		if err != nil {
			t.Fatalf("%x was written and does not parse: %v", b, err)
		}
		return x.AppendTo(nil)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, _, err := tree.ParseTxn(b)
		if err != nil {
			return
		}
		read := again(t, x.AppendTo(nil))
		if written := again(t, read); !bytes.Equal(read, written) {
			t.Fatalf("%x, of %x, read and written is %x", read, b, written)
		}
	})
}
