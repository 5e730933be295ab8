package batch

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"testing"
)

// legacyMessage builds one message of formats 0 and 1.
func legacyMessage(magic int8, offset, ts int64, codec Codec, key, value []byte) []byte {
	b := make([]byte, LogOverhead+4, 64)
	binary.BigEndian.PutUint64(b, uint64(offset))
	b = append(b, byte(magic), byte(codec))
	if magic == 1 {
		b = binary.BigEndian.AppendUint64(b, uint64(ts))
	}
	for _, f := range [][]byte{key, value} {
		if f == nil {
			b = append(b, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-LogOverhead))
	binary.BigEndian.PutUint32(b[legacyCRC:], crc32.ChecksumIEEE(b[legacyMagic:]))
	return b
}

// legacySet is n messages, in a wrapper when there is a codec: offsets 10, 11 … as the log keeps them.
func legacySet(magic int8, codec Codec, n int) []byte {
	var set []byte
	for i := range n {
		offset := int64(10 + i)
		if codec != None && magic == 1 {
			offset = int64(i)
		}
		set = append(set, legacyMessage(magic, offset, int64(100+i), None, []byte("k"), fmt.Appendf(nil, "v%d", i))...)
	}
	if codec == None {
		return set
	}
	z, err := Compress(nil, codec, set)
	if err != nil {
		panic(err)
	}
	if codec == LZ4 && magic == 0 { // what old clients compute: over the frame's magic number too
		z[6] ^= 0x55
	}
	return legacyMessage(magic, int64(10+n-1), int64(100+n-1), codec, nil, z)
}

func TestIterateReadsOldFormats(t *testing.T) {
	for _, magic := range []int8{0, 1} {
		for codec := None; codec <= LZ4; codec++ {
			var got []string
			b := legacySet(magic, codec, 3)
			if err := Iterate(b, func(r Record) bool {
				got = append(got, fmt.Sprintf("%d@%d %s=%s", r.Offset, r.Timestamp, r.Key, r.Value))
				return true
			}); err != nil {
				t.Fatalf("magic %d %s: %v", magic, codec, err)
			}
			want := "[10@100 k=v0 11@101 k=v1 12@102 k=v2]"
			if magic == 0 {
				want = "[10@-1 k=v0 11@-1 k=v1 12@-1 k=v2]"
			}
			if fmt.Sprint(got) != want {
				t.Errorf("magic %d %s: %v", magic, codec, got)
			}
			b[len(b)-1] ^= 1
			if err := Iterate(b, func(Record) bool { return true }); err == nil {
				t.Errorf("magic %d %s: a flipped bit was not seen", magic, codec)
			}
		}
	}
}

func TestPatchLegacyKeepsTheChecksumRight(t *testing.T) {
	for _, magic := range []int8{0, 1} {
		b := legacySet(magic, None, 1)
		PatchLegacy(b, 77, true, 12345)
		e, err := ParseEntry(b)
		if err != nil || !CheckEntryCRC(b) || e.Last != 77 {
			t.Fatalf("magic %d: %+v %v", magic, e, err)
		}
		if want := []int64{NoTimestamp, 12345}[magic]; e.MaxTimestamp != want || e.IsLogAppendTime() != (magic == 1) {
			t.Fatalf("magic %d: time %d", magic, e.MaxTimestamp)
		}
	}
}

func TestDownConvertReadsBackTheSame(t *testing.T) {
	for _, magic := range []int8{0, 1} {
		for codec := None; codec <= LZ4; codec++ {
			bd := NewBuilder(codec)
			bd.BaseOffset = 40
			bd.Add(7, []byte("a"), []byte("x"), RecordHeader{"h", nil})
			bd.AddAt(3, 9, nil, []byte("y"))
			bd.AddAt(4, 8, []byte("b"), nil)
			b := append(bd.Bytes(), BuildMarker(1, 0, 1, 0, 5)...)
			var it Iterator
			out, err := it.DownConvert(nil, b, magic, 43)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if err := it.Each(out, func(r Record) bool {
				got = append(got, fmt.Sprintf("%d@%d %q %q", r.Offset, r.Timestamp, r.Key, r.Value))
				return r.Batch.Magic == magic && r.Batch.Codec() == codec
			}); err != nil {
				t.Fatal(err)
			}
			want := `40@7 "a" "x" 43@9 "" "y" 44@8 "b" ""]`
			if magic == 0 {
				want = `40@-1 "a" "x" 43@-1 "" "y" 44@-1 "b" ""]`
			}
			if codec == None {
				want = want[len(`40@7 "a" "x" `)+int(1-magic):]
			}
			if fmt.Sprint(got) != "["+want {
				t.Errorf("magic %d %s: %v, want [%s", magic, codec, got, want)
			}
		}
	}
	var it Iterator
	if _, err := it.DownConvert(nil, set(Zstd, 1, 1), 1, 0); err != ErrCodec {
		t.Fatalf("zstd: %v", err)
	}
}
