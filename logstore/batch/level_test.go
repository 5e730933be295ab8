package batch

import (
	"bytes"
	"fmt"
	"testing"
)

// prose compresses the better the longer a compressor searches.
func prose(n int) []byte {
	var b bytes.Buffer
	for x := uint32(1); b.Len() < n; {
		x = x*1664525 + 1013904223
		fmt.Fprintf(&b, "%s of %d, ", []string{"wheel", "bucket", "nozzle", "penstock", "needle", "runner", "jet"}[x>>20%7], x>>22)
	}
	return b.Bytes()[:n]
}

// What a topic asks for is what its batches are compressed with, whatever the pooled compressors were made for before.
func TestAdaptCompressesAsHardAsTheTopicSays(t *testing.T) {
	in := NewBuilder(None)
	for range 4 {
		in.Add(1_700_000_000_000, []byte("k"), prose(40_000))
	}
	set := in.Bytes()
	codecs := NewCodecs()
	size := func(codec Codec, magic int8, level int) int {
		t.Helper()
		var info Info
		out, err := Adapt(nil, bytes.Clone(set), Target{Magic: magic, Codec: codec, Level: level}, Limits{Codecs: codecs}, &info)
		if err != nil {
			t.Fatalf("%v at level %d: %v", codec, level, err)
		}
		count := 0
		it := Iterator{Codecs: codecs}
		if err := it.Each(out, func(r Record) bool { count += len(r.Value); return true }); err != nil || count != 160_000 {
			t.Fatalf("%v at level %d: %d bytes of values come back, %v", codec, level, count, err)
		}
		return len(out)
	}
	for _, c := range []struct {
		codec           Codec
		fast, hard, own int // own is the level that stands for the default
		oldest          int8
	}{{Gzip, 1, 9, 5, 1}, {LZ4, 9, 12, 9, 1}, {Zstd, 1, 19, 3, 2}} {
		for magic := c.oldest; magic <= 2; magic++ {
			fast, hard, own := size(c.codec, magic, c.fast), size(c.codec, magic, c.hard), size(c.codec, magic, 0)
			if hard >= fast {
				t.Errorf("%v, format %d: %d bytes at level %d, %d at level %d", c.codec, magic, hard, c.hard, fast, c.fast)
			}
			if again := size(c.codec, magic, c.fast); again != fast {
				t.Errorf("%v, format %d: level %d makes %d bytes after another level, %d before", c.codec, magic, c.fast, again, fast)
			}
			if named := size(c.codec, magic, c.own); named != own {
				t.Errorf("%v, format %d: level %d makes %d bytes, the default %d", c.codec, magic, c.own, named, own)
			}
		}
	}
	if kept := size(KeepCodec, 2, 9); kept != len(set) {
		t.Errorf("kept as it came it has %d bytes, not %d", kept, len(set))
	}
	for level := -131072; level <= 22; level += 6553 {
		size(Zstd, 2, level)
	}
	for level := 1; level <= 17; level++ {
		size(LZ4, 2, level)
	}
}
