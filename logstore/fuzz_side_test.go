package logstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/logstore/producer"
)

// spent is how many bytes fn allocates.
func spent(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Loaders of small files take memory by the file's size and never panic; what they refuse they refuse with words.
func FuzzLoaderMemory(f *testing.F) {
	f.Add([]byte("0\n2\ntopic 3 77\ntopic 4 78\n"))
	f.Add([]byte("0\n999999999\n"))
	f.Add(encodeTxnIndex([]AbortedTxn{{1, 2, 3, 4}, {5, 6, 7, 8}}))
	f.Add(encodeMeta(Meta{BrokerID: 3, ClusterID: "abc"}, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, load := range map[string]func() error{
			"checkpoint":         func() error { _, err := decodeOffsets(b); return err },
			"epochs":             func() error { _, err := decodeEpochs(b); return err },
			"partition.metadata": func() error { _, err := decodePartition(b); return err },
			"meta.properties":    func() error { _, err := decodeMeta(b); return err },
			"txnindex":           func() error { _, err := decodeTxnIndex(b); return err },
		} {
			var err error
			if n := spent(func() { err = load() }); n > uint64(200*len(b)+64<<10) {
				t.Fatalf("%s: %d bytes were allocated for a file of %d", name, n, len(b))
			}
			if err != nil && err.Error() == "" {
				t.Fatalf("%s: refused without a word", name)
			}
		}
	})
}

// A directory behind the marker of a clean stop, where the indexes, the snapshot and the transaction index are any bytes: it opens or says
// what is damaged, and reads by offset and by time end with records that were written, or with an error.
func FuzzSideFiles(f *testing.F) {
	f.Add(make([]byte, 24), make([]byte, 36), []byte{}, []byte{0, 1, 2}, int64(3))
	producers := producer.NewTable()
	producers.Add(7, 1, producer.Batch{FirstSeq: 0, LastSeq: 2, LastOffset: 15, OffsetDelta: 2, Timestamp: 5}, true, 0)
	snapshot := producers.EncodeSnapshot()
	f.Add([]byte{0, 0, 0, 5, 0, 0, 0, 90}, []byte{0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 5}, encodeTxnIndex([]AbortedTxn{{1, 2, 3, 4}}), snapshot, int64(9))
	log := bytes.Join([][]byte{placed(0, 4), placed(4, 6), placed(10, 6)}, nil)
	f.Fuzz(func(t *testing.T, index, times, txns, snapshot []byte, from int64) {
		if len(snapshot) > 6 { // the fuzzer cannot make a checksum, and would never get behind it
			snapshot = bytes.Clone(snapshot) // its own bytes are to stay
			binary.BigEndian.PutUint32(snapshot[2:], crc32.Checksum(snapshot[6:], crc32.MakeTable(crc32.Castagnoli)))
		}
		dir := t.TempDir()
		part := filepath.Join(dir, "t-0")
		err := os.Mkdir(part, 0o755)
		for name, b := range map[string][]byte{
			fileName(0, sufLog): log, fileName(0, sufIndex): index, fileName(0, sufTime): times, fileName(0, sufTxn): txns,
			fileName(16, sufLog): placed(16, 3), fileName(16, sufIndex): index, fileName(16, sufTime): times, fileName(16, sufSnapshot): snapshot,
		} {
			err = errors.Join(err, os.WriteFile(filepath.Join(part, name), b, 0o644))
		}
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, cleanFile), []byte(cleanMarker), 0o644))
		if err != nil {
			t.Fatal(err)
		}
		m, err := OpenManager(ManagerOptions{Dirs: []string{dir}, FS: disk.OS(), Clock: clock.NewManual(1)})
		if err != nil {
			t.Fatal(err)
		}
		defer m.unlock()
		l, err := m.Open(TopicPartition{"t", 0}, [16]byte{}, Options{IndexMaxBytes: 4096})
		if err != nil {
			t.Fatalf("side files alone must not keep a log closed: %v", err)
		}
		defer l.closeFiles()
		if l.End() != 19 {
			t.Fatalf("the log ends at %d", l.End())
		}
		l.Bind(&fakeDisk{})
		var s Span
		if _, err := l.Read(max(from, 0)%19, 1<<20, 19, true, &s); err != nil {
			if !errors.Is(err, ErrOffline) {
				t.Fatal(err)
			}
			return
		}
		s.Release()
		if _, _, _, _, err := l.LookupTime(from); err != nil && !errors.Is(err, ErrOffline) {
			t.Fatal(err)
		}
	})
}

// placed is a batch of n records at an offset.
func placed(base int64, n int) []byte {
	bd := batch.NewBuilder(batch.None)
	bd.BaseOffset = base
	for i := range n {
		bd.Add(base+int64(i), []byte("k"), []byte("value"))
	}
	return bd.Bytes()
}
