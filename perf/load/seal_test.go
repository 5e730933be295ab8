package load

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand"
	"testing"
)

// The checksum that is put together from two parts is that of the whole, whatever their lengths.
func TestSealIsTheChecksumOfTheWhole(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, size := range []int{0, 1, 2, 7, 64, 1000, 4097, 1 << 20} {
		b := make([]byte, batchRecords+size)
		rng.Read(b)
		s := newSealer(b)
		for round := range 3 {
			rng.Read(b[batchAttr:batchRecords])
			if round == 2 {
				rng.Read(b[batchRecords:])
				s.changed(b)
			}
			s.seal(b)
			if got, want := binary.BigEndian.Uint32(b[batchCRC:]), crc32.Checksum(b[batchAttr:], castagnoli); got != want {
				t.Errorf("%d bytes of records, round %d: %08x, want %08x", size, round, got, want)
			}
		}
	}
}

func BenchmarkStamp(b *testing.B) {
	batch := make([]byte, 1<<20)
	p := prepared{batch: batch, sealer: newSealer(batch)}
	b.ReportAllocs()
	for b.Loop() {
		p.stampNow(wallMs(), 7, 0, 3)
	}
}
