package load

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"time"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// castagnoliReversed is the polynomial of CRC-32C with its bits turned round, as crc32.Castagnoli.
const castagnoliReversed = 0x82F63B78

// sealer makes the checksum of a batch whose header was stamped anew, in a time that does not depend on the batch's size: the checksum of two
// parts is that of the first, moved past as many zero bytes as the second has, xor that of the second. The movement is linear over GF(2), so
// it is a matrix that is made once. (M. Adler's and J. Gailly's zlib calls it crc32_combine.)
type sealer struct {
	records uint32     // the checksum of what lies behind the header
	move    [32]uint32 // what each bit of the header's checksum becomes
}

func newSealer(batch []byte) sealer {
	s := sealer{move: pastZeros(len(batch) - batchRecords)}
	s.changed(batch)
	return s
}

// changed takes note of new bytes behind the header.
func (s *sealer) changed(batch []byte) {
	s.records = crc32.Checksum(batch[batchRecords:], castagnoli)
}

// seal writes the checksum.
func (s *sealer) seal(batch []byte) {
	head := crc32.Checksum(batch[batchAttr:batchRecords], castagnoli)
	binary.BigEndian.PutUint32(batch[batchCRC:], times(&s.move, head)^s.records)
}

// times multiplies a matrix, a column for each bit, with a vector.
func times(m *[32]uint32, v uint32) (out uint32) {
	for ; v != 0; v &= v - 1 {
		out ^= m[bits.TrailingZeros32(v)]
	}
	return out
}

// pastZeros is the matrix that moves a checksum past n zero bytes.
func pastZeros(n int) [32]uint32 {
	var step, out [32]uint32 // past one zero bit, two, four, …
	step[0], out[0] = castagnoliReversed, 1
	for i := 1; i < 32; i++ {
		step[i], out[i] = 1<<(i-1), 1<<i
	}
	for n *= 8; n > 0; n >>= 1 {
		var squared [32]uint32
		for i := range squared {
			if n&1 == 1 {
				out[i] = times(&step, out[i])
			}
			squared[i] = times(&step, step[i])
		}
		step = squared
	}
	return out
}

// stampTime gives all records of a batch one time: theirs are relative to it.
func stampTime(batch []byte, ms int64) {
	binary.BigEndian.PutUint64(batch[batchFirstTime:], uint64(ms))
	binary.BigEndian.PutUint64(batch[batchMaxTime:], uint64(ms))
}

func wallMs() int64 { return time.Now().UnixMilli() }
