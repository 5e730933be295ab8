package batch

import (
	"bytes"
	"testing"
)

func seeds(f *testing.F) {
	for _, codec := range []Codec{None, Gzip, Snappy, LZ4, Zstd} {
		f.Add(set(codec, 3, 20))
	}
	f.Add(append(set(None, 1, 5), set(None, 2, 5)...))
	f.Add(BuildMarker(7, 1, 1, 3, 99))
	f.Add(legacySet(0, None, 2))
	f.Add(legacySet(1, Gzip, 3))
	f.Add(legacySet(0, LZ4, 3))
}

// What Validate takes can be read, has the offsets and counts that the info says, and is taken again with the same info.
func FuzzBatch(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		in, again := &Info{}, &Info{}
		lim := Limits{AllowMany: true, AllowControl: true, MaxDecompressed: 1 << 20}
		// Let the fuzzer past the checksum, but not in its own bytes: what it says has failed it makes anew from them.
		b = bytes.Clone(b)
		if len(b) >= HeaderSize {
			if h, err := ParseHeader(b); err == nil && h.Size() == len(b) {
				SealCRC(b)
			}
		}
		if Validate(b, lim, in) != nil {
			return
		}
		n, at := int32(0), 0
		if err := Iterate(b, func(r Record) bool {
			for n == 0 && at < len(in.Batches)-1 && r.Offset > in.Batches[at].LastOffset() {
				at++
			}
			r.DecodeHeaders()
			n++
			return true
		}); err != nil || n != in.Count {
			t.Fatalf("%d records read, %d checked: %v", n, in.Count, err)
		}
		if err := Validate(b, lim, again); err != nil || again.MaxTimestamp != in.MaxTimestamp || again.Count != in.Count {
			t.Fatalf("checked again: %v", err)
		}
	})
}

// Any bytes end a walk over them, with records or an error.
func FuzzIterate(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		it := Iterator{MaxDecompressed: 1 << 20}
		_ = it.Each(b, func(r Record) bool { r.DecodeHeaders(); _, _ = r.Marker(); return true })
		if size, _, err := EntrySize(b); err == nil && size <= len(b) {
			_, _ = ParseEntry(b)
			CheckEntryCRC(b[:size])
		}
	})
}

// Codecs end on any bytes within the cap, and give back what they were given.
func FuzzCodec(f *testing.F) {
	for c := Gzip; c <= Zstd; c++ {
		b, err := Compress(nil, c, []byte("hello hello hello hello"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(c), b)
	}
	codecs := NewCodecs()
	f.Fuzz(func(t *testing.T, codec uint8, b []byte) {
		c := Codec(codec % 5)
		out, err := codecs.Decompress(nil, c, b, 1<<20)
		if err == nil && len(out) > 1<<20 {
			t.Fatalf("%s: %d bytes above the cap", c, len(out))
		}
		z, err := Compress(nil, c, b)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := codecs.Decompress(nil, c, z, int64(len(b))); err != nil || !bytes.Equal(back, b) {
			t.Fatalf("%s: %v", c, err)
		}
	})
}
