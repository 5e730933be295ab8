package load

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"strings"
)

// Distributions of keys and of record sizes.
const (
	KeysUniform    = "uniform"
	KeysZipf       = "zipf" // the k-th key as often as k to the power of −KeySkew
	KeysHot        = "hot"  // half of all records have the first key
	KeysSequential = "sequential"

	SizesFixed       = "fixed"
	SizesUniform     = "uniform"     // from nothing to twice the size
	SizesExponential = "exponential" // the size is the mean; no more than 16 times of it
)

func keyDistributions() []string {
	return []string{KeysUniform, KeysZipf, KeysHot, KeysSequential}
}
func sizeDistributions() []string { return []string{SizesFixed, SizesUniform, SizesExponential} }

// keyStream draws keys.
type keyStream struct {
	rng   *rand.Rand
	count int
	bytes int
	next  func() uint64
}

func newKeyStream(o Options, rng *rand.Rand) *keyStream {
	k := &keyStream{rng: rng, count: o.Keys, bytes: o.KeySize}
	n := uint64(0)
	switch o.KeyDistribution {
	case KeysZipf:
		z := rand.NewZipf(rng, o.KeySkew, 1, uint64(o.Keys-1))
		k.next = z.Uint64
	case KeysHot:
		k.next = func() uint64 {
			if rng.Intn(2) == 0 {
				return 0
			}
			return uint64(rng.Intn(o.Keys))
		}
	case KeysSequential:
		k.next = func() uint64 { n++; return (n - 1) % uint64(o.Keys) }
	default:
		k.next = func() uint64 { return uint64(rng.Intn(o.Keys)) }
	}
	return k
}

// draw gives a key of the stream's size: its number, filled up in front.
func (k *keyStream) draw() []byte {
	text := fmt.Sprintf("%d", k.next())
	if pad := k.bytes - len(text); pad > 0 {
		text = strings.Repeat("k", pad) + text
	}
	return []byte(text)
}

// sizeOf draws a record's size.
func sizeOf(o Options, rng *rand.Rand) int {
	switch o.Sizes {
	case SizesUniform:
		return rng.Intn(2*o.RecordSize + 1)
	case SizesExponential:
		return int(math.Min(rng.ExpFloat64(), 16) * float64(o.RecordSize))
	}
	return o.RecordSize
}

// partitionOf is where Java's and most other clients put a key.
func partitionOf(key []byte, partitions int) int32 {
	return int32(murmur2(key)&0x7fffffff) % int32(partitions)
}

// murmur2 is the hash that Kafka's clients agree on.
func murmur2(b []byte) uint32 {
	const m, r = 0x5bd1e995, 24
	h := uint32(0x9747b28c) ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * m
		k = (k ^ k>>r) * m
		h = h*m ^ k
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(b[0])) * m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}

// Pooled is a batch that is ready for one partition.
type Pooled struct {
	Partition int32
	Batch     []byte
}

const (
	poolUnits = 256
	poolBytes = 128 << 20
)

// pool makes the batches that a producer of keyed records would make: records are drawn one by one, their keys say where they go, and a
// partition's records leave when they fill a batch, or at the end.
func (o Options) pool(partitions int, nowMs int64) ([]Pooled, error) {
	rng := rand.New(rand.NewSource(1))
	var keys *keyStream
	if o.Keys > 0 {
		keys = newKeyStream(o, rng)
	}
	want := max(poolUnits, 2*o.Connections)
	if most := poolBytes / max(1, o.BatchBytes); want > most {
		want = max(most, o.Connections)
	}
	type open struct {
		keys  [][]byte
		sizes []int
		bytes int
	}
	opens := make([]open, partitions)
	var out []Pooled
	emit := func(p int) error {
		w := &opens[p]
		b, err := BuildBatch(BatchSpec{Records: len(w.sizes), Sizes: w.sizes, Keys: w.keys, Compression: o.Compress, Random: o.Random, Seed: int64(len(out)), TimeMs: nowMs})
		out = append(out, Pooled{int32(p), b})
		*w = open{}
		return err
	}
	most := o.perBatch()
	for n := 0; len(out) < want && n < want*most; n++ {
		p := n % partitions
		var key []byte
		if keys != nil {
			key = keys.draw()
			p = int(partitionOf(key, partitions))
		}
		w := &opens[p]
		size := sizeOf(o, rng)
		w.keys, w.sizes, w.bytes = append(w.keys, key), append(w.sizes, size), w.bytes+size+len(key)+12
		if w.bytes >= o.BatchBytes || len(w.sizes) == most {
			if err := emit(p); err != nil {
				return nil, err
			}
		}
	}
	for p := range opens {
		if len(opens[p].sizes) > 0 {
			if err := emit(p); err != nil {
				return nil, err
			}
		}
	}
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}
