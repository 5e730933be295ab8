package inspect

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// FuzzFiles gives damaged bytes to everything that reads a file: never a panic, never a hang, and the walk ends inside the file.
func FuzzFiles(f *testing.F) {
	bd := batch.NewBuilder(batch.Gzip)
	bd.ProducerID, bd.BaseSequence = 1, 0
	bd.Add(1, []byte("k"), []byte("v"), batch.RecordHeader{Key: "h"})
	f.Add(bd.Bytes(), []byte{0, 0, 0, 1, 0, 0, 0, 61}, true)
	f.Add(batch.BuildMarker(1, 0, 1, 0, 5), []byte{0, 1, 0, 1, 'g', 0, 1, 't', 0, 0, 0, 0}, true)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 14, 0, 0, 0, 0, 0, 0}, []byte{0, 2, 0, 1, 'g'}, false)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, log, side []byte, seal bool) {
		if len(log) > 1<<16 || len(side) > 1<<16 {
			return
		}
		// The fuzzer cannot make a checksum, and would never get behind it.
		if size, magic, err := batch.EntrySize(log); seal && err == nil && magic == 2 && size <= len(log) {
			log = bytes.Clone(log)
			batch.SealCRC(log[:size])
		}
		part := filepath.Join(dir, "t-0")
		if err := os.MkdirAll(part, 0o755); err != nil {
			t.Fatal(err)
		}
		const stem = "00000000000000000000"
		for suffix, b := range map[string][]byte{".log": log, ".index": side, ".timeindex": side, ".txnindex": side, ".snapshot": side} {
			if err := os.WriteFile(filepath.Join(part, stem+suffix), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		end, err := Walk(bytes.NewReader(log), 0, int64(len(log)), func(*Batch) bool { return true })
		if err != nil || end.Position < 0 || end.Trailing() < 0 {
			t.Fatalf("%+v %v", end, err)
		}
		if _, err := Verify(disk.OS(), part); err != nil {
			t.Fatal(err)
		}
		d := KafkaDump{FS: disk.OS(), Out: io.Discard, Err: io.Discard, Deep: true, Parse: Offsets()}
		for _, suffix := range []string{".log", ".index", ".timeindex", ".txnindex", ".snapshot"} {
			_ = d.Run([]string{filepath.Join(part, stem+suffix)}) // damage is an error, not a panic
		}
		_, _ = FindOffset(disk.OS(), part, 3)
		_, _ = FindTime(disk.OS(), part, 3)
		for _, parse := range []Parser{Offsets(), TxnLog()} {
			_, _, _ = parse(&batch.Record{Key: side, Value: log})
			_, _, _ = parse(&batch.Record{Key: []byte{0, 2, 0, 1, 'g'}, Value: side})
			_, _, _ = parse(&batch.Record{Key: []byte{0, 0, 0, 1, 't'}, Value: side})
		}
		r := &Repair{FS: disk.OS(), Dir: part, Say: func(string, ...any) {}, DryRun: true}
		_, _ = r.Run(Skip), r.Rebuild(0)
	})
}
