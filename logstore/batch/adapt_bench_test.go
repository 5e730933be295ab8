package batch

import (
	"bytes"
	"testing"
)

// The work of the old formats: 1 MB of records of 1 kB.
func BenchmarkAdaptUp(b *testing.B) {
	value := bytes.Repeat([]byte("0123456789abcdef"), 64)
	var plain []byte
	for i := range int64(1000) {
		plain = appendMessage(plain, 1, i, 1_700_000_000_000+i, 0, nil, value)
	}
	for _, codec := range []Codec{None, Gzip, LZ4} {
		set := plain
		if codec != None {
			var err error
			if set, err = appendWrapper(nil, nil, 1, codec, 0, plain, 999, 1_700_000_000_999, 0); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(codec.String(), func(b *testing.B) {
			var in Info
			var dst []byte
			lim := Limits{Codecs: NewCodecs()}
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				out, err := Adapt(dst[:0], set, Target{Magic: 2, Codec: KeepCodec}, lim, &in)
				if err != nil {
					b.Fatal(err)
				}
				dst = out
			}
		})
	}
}

func BenchmarkDownConvert(b *testing.B) {
	value := bytes.Repeat([]byte("0123456789abcdef"), 64)
	for _, codec := range []Codec{None, Gzip, LZ4} {
		bd := NewBuilder(codec)
		for i := range int64(1000) {
			bd.Add(1_700_000_000_000+i, nil, value)
		}
		set := bd.Bytes()
		b.Run(codec.String(), func(b *testing.B) {
			it := Iterator{Codecs: NewCodecs()}
			var dst []byte
			b.SetBytes(1 << 20)
			b.ReportAllocs()
			for b.Loop() {
				out, err := it.DownConvert(dst[:0], set, 1, 0)
				if err != nil {
					b.Fatal(err)
				}
				dst = out
			}
		})
	}
}
