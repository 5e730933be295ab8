package logstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// sealed gives every batch and message of a log a right checksum: the fuzzer cannot make one, and would never get behind it.
func sealed(log []byte) []byte {
	log = bytes.Clone(log)
	for rest := log; ; {
		size, magic, err := batch.EntrySize(rest)
		switch {
		case err != nil || size > len(rest):
			return log
		case magic == 2:
			batch.SealCRC(rest[:size])
		default: // the checksum lies in front of the magic
			binary.BigEndian.PutUint32(rest[12:], crc32.ChecksumIEEE(rest[16:size]))
		}
		rest = rest[size:]
	}
}

// Recovery of any bytes as a segment never panics, never keeps a batch with a wrong checksum, and finds the same again.
func FuzzRecover(f *testing.F) {
	f.Add(append(values(batch.None, 1, "a", 2), values(batch.Gzip, 2, "b", 3)...), []byte{1, 2, 3}, []byte{}, []byte("0\n1\n0 0\n"), true)
	f.Add(make([]byte, 200), make([]byte, 24), make([]byte, 24), []byte{}, false)
	f.Fuzz(func(t *testing.T, log, index, times, epochs []byte, seal bool) {
		if seal {
			log = sealed(log)
		}
		dir := t.TempDir()
		part := filepath.Join(dir, "t-0")
		err := os.Mkdir(part, 0o755)
		for name, b := range map[string][]byte{fileName(0, sufLog): log, fileName(0, sufIndex): index, fileName(0, sufTime): times, epochFile: epochs} {
			err = errors.Join(err, os.WriteFile(filepath.Join(part, name), b, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
		open := func() (int64, []byte) {
			m, err := OpenManager(ManagerOptions{Dirs: []string{dir}, FS: disk.OS(), Clock: clock.NewManual(1)})
			if err != nil {
				t.Fatal(err)
			}
			defer m.unlock()
			l, err := m.Open(TopicPartition{"t", 0}, [16]byte{}, Options{IndexMaxBytes: 4096})
			if err != nil {
				t.Fatal(err)
			}
			defer l.closeFiles()
			b, err := os.ReadFile(filepath.Join(part, fileName(0, sufLog)))
			if err != nil || int64(len(b)) != l.SizeBytes() || !bytes.HasPrefix(log, b) {
				t.Fatalf("%d bytes of %d kept, the log says %d: %v", len(b), len(log), l.SizeBytes(), err)
			}
			return l.End(), b
		}
		end, kept := open()
		for p := 0; p < len(kept); {
			e, err := batch.ParseEntry(kept[p:])
			if err != nil || !batch.CheckEntryCRC(kept[p:p+e.Size]) {
				t.Fatalf("a damaged batch was kept at %d: %v", p, err)
			}
			p += e.Size
		}
		if again, b := open(); again != end || !bytes.Equal(b, kept) {
			t.Fatalf("a second recovery found %d, the first %d", again, end)
		}
	})
}

// Every loader of a small file takes what it writes and refuses the rest with an error.
func FuzzFiles(f *testing.F) {
	f.Add([]byte("0\n1\ntopic 3 77\n"))
	f.Add([]byte("0\n2\n0 0\n3 100\n"))
	f.Add(encodePartition([16]byte{7}))
	f.Add(encodeMeta(Meta{BrokerID: 3, ClusterID: "abc"}, 1))
	f.Add(encodeTxnIndex([]AbortedTxn{{1, 2, 3, 4}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := decodeOffsets(b); err == nil {
			if again, err := decodeOffsets(encodeOffsets(m)); err != nil || len(again) != len(m) {
				t.Fatal(err)
			}
		}
		if l, err := decodeEpochs(b); err == nil {
			if again, err := decodeEpochs(encodeEpochs(l)); err != nil || len(again) != len(l) {
				t.Fatal(err)
			}
		}
		if id, err := decodePartition(b); err == nil {
			if again, err := decodePartition(encodePartition(id)); err != nil || again != id {
				t.Fatal(err)
			}
		}
		if x, err := decodeTxnIndex(b); err == nil && !bytes.Equal(encodeTxnIndex(x), b) {
			t.Fatal("transaction index changed on its way")
		}
		_, _ = decodeMeta(b)
		x := trimZeros(b, offsetEntry)
		sortedIndex(x, offsetEntry)
		_, _, _ = parseFileName(string(b))
		_, _ = parsePartitionDir(string(b))
	})
}
