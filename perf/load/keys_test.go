package load

import (
	"encoding/binary"
	"math"
	"math/rand"
	"testing"
)

// The hashes that the Java client's own tests expect.
func TestMurmur2IsThatOfTheJavaClient(t *testing.T) {
	for text, want := range map[string]int32{"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107} {
		if got := int32(murmur2([]byte(text))); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func TestKeyDistributionsAreWhatTheySay(t *testing.T) {
	draw := func(distribution string, n int) map[string]int {
		o := Options{Keys: 100, KeyDistribution: distribution, KeySkew: 1.5, KeySize: 8}
		k, seen := newKeyStream(o, rand.New(rand.NewSource(7))), map[string]int{}
		for range n {
			seen[string(k.draw())]++
		}
		return seen
	}
	hot := draw(KeysHot, 10000)
	if n := hot["kkkkkkk0"]; n < 4800 || n > 5300 {
		t.Errorf("the hot key came %d times of 10000", n)
	}
	for key, n := range draw(KeysSequential, 1000) {
		if n != 10 || len(key) != 8 {
			t.Fatalf("sequential: %s came %d times", key, n)
		}
	}
	for key, n := range draw(KeysUniform, 100_000) {
		if n < 850 || n > 1150 {
			t.Errorf("uniform: %s came %d times of about 1000", key, n)
		}
	}
	zipf := draw(KeysZipf, 100_000)
	// The weights of ranks 0 and 3 are 1 and 4 to the power of −1.5: an eighth.
	if r := float64(zipf["kkkkkkk0"]) / float64(zipf["kkkkkkk3"]); math.Abs(r-8) > 0.8 {
		t.Errorf("zipf: the first key came %.2f times as often as the fourth, not 8 times", r)
	}
}

func TestPoolPutsKeysWhereClientsPutThem(t *testing.T) {
	o := Defaults(ModeProduce)
	o.Keys, o.BatchBytes, o.RecordSize, o.Sizes, o.KeySize = 50, 2000, 100, SizesExponential, 6
	pool, err := o.pool(4, 1)
	if err != nil {
		t.Fatal(err)
	}
	partitions, sizes := map[int32]int{}, map[int]bool{}
	for _, u := range pool {
		partitions[u.Partition]++
		count := int(binary.BigEndian.Uint32(u.Batch[batchCount:]))
		r := reader{b: u.Batch[batchRecords:]}
		for range count {
			r.varint()
			r.skip(1)
			r.varint()
			r.varint()
			key := r.b[1 : 1+6]
			r.skip(r.varint())
			if partitionOf(key, 4) != u.Partition {
				t.Fatalf("key %s lies in partition %d", key, u.Partition)
			}
			n := r.varint()
			sizes[n] = true
			r.skip(n)
			r.varint()
		}
		if r.bad || len(r.b) != 0 {
			t.Fatal("a batch of the pool cannot be read")
		}
	}
	if len(partitions) != 4 || len(sizes) < 50 || len(pool) < poolUnits {
		t.Fatalf("%d partitions, %d different sizes, %d batches", len(partitions), len(sizes), len(pool))
	}
}
