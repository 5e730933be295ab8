package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// texts reads a set back as "offset@time key=value".
func texts(t *testing.T, b []byte) string {
	t.Helper()
	var got []string
	if err := Iterate(b, func(r Record) bool {
		got = append(got, fmt.Sprintf("%d@%d %s=%s", r.Offset, r.Timestamp, r.Key, r.Value))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(got, " ")
}

// placed does what a log does: it gives a set its offsets from 5 on.
func placed(t *testing.T, b []byte, in *Info) []byte {
	t.Helper()
	b, next := bytes.Clone(b), int64(5)
	for i := range in.Batches {
		bi := &in.Batches[i]
		raw := b[bi.Pos : bi.Pos+bi.Bytes]
		switch {
		case bi.Magic == 2:
			PatchAppend(raw, next, 0)
		case bi.Magic == 0 && bi.Codec() != None:
			var it Iterator
			rebased, err := it.Rebase(nil, raw, next)
			if err != nil {
				t.Fatal(err)
			}
			b = rebased
		default:
			PatchLegacy(raw, next+int64(bi.Count)-1, false, 0)
		}
		next += int64(bi.Count)
	}
	if next != 5+int64(in.Count) {
		t.Fatalf("%d records in the batches, %d in all", next-5, in.Count)
	}
	return b
}

// modern is a batch of format 2 of the records that legacySet makes.
func modern(codec Codec) []byte {
	bd := NewBuilder(codec)
	for i := range 3 {
		bd.Add(int64(100+i), []byte("k"), fmt.Appendf(nil, "v%d", i))
	}
	return bd.Bytes()
}

// case C-44, and every other way from a client's form to a topic's: the records, their offsets, the codec and the format.
func TestAdaptKeepsRecords(t *testing.T) {
	for from := int8(0); from <= 2; from++ {
		for to := int8(0); to <= 2; to++ {
			for codec := None; codec <= LZ4; codec++ {
				for _, target := range []Codec{KeepCodec, None, Gzip, LZ4} {
					name := fmt.Sprintf("%d-%s-to-%d-%s", from, codec, to, target)
					set := modern(codec)
					if from < 2 {
						set = legacySet(from, codec, 3)
					}
					var in Info
					b, err := Adapt(nil, set, Target{Magic: to, Codec: target}, Limits{}, &in)
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					want := "5@100 k=v0 6@101 k=v1 7@102 k=v2"
					if from == 0 || to == 0 {
						want = "5@-1 k=v0 6@-1 k=v1 7@-1 k=v2"
					}
					if got := texts(t, placed(t, b, &in)); got != want {
						t.Errorf("%s: %s", name, got)
					}
					stored := target
					if target == KeepCodec {
						stored = codec
					}
					for _, bi := range in.Batches {
						if bi.Magic != to || bi.Codec() != stored || int(bi.Pos+bi.Bytes) > len(b) {
							t.Errorf("%s: %+v", name, bi)
						}
					}
					if wantTime := int64(102); from > 0 && to > 0 && in.MaxTimestamp != wantTime {
						t.Errorf("%s: largest time %d", name, in.MaxTimestamp)
					}
				}
			}
		}
	}
}

// What needs no change is not copied: plain messages of the topic's format, and wrappers of format 1 with offsets from 0 on.
func TestAdaptLeavesInPlace(t *testing.T) {
	wrapped := legacySet(1, Gzip, 3)
	binary.BigEndian.PutUint64(wrapped, 2)
	for _, set := range [][]byte{legacySet(0, None, 3), legacySet(1, None, 3), wrapped, modern(Snappy)} {
		var in Info
		b, err := Adapt(nil, set, Target{Magic: int8(set[legacyMagic]), Codec: KeepCodec}, Limits{}, &in)
		if err != nil || &b[0] != &set[0] || len(b) != len(set) {
			t.Errorf("magic %d: copied, or %v", set[legacyMagic], err)
		}
	}
}

// A wrapper as some clients made it, with absolute offsets inside, is written anew; one whose own offset is 0 is fine.
func TestAdaptInnerOffsets(t *testing.T) {
	wrap := func(first, own int64, ts int64) []byte {
		var set []byte
		for i := range int64(3) {
			set = appendMessage(set, 1, first+i, 100+i, 0, []byte("k"), fmt.Appendf(nil, "v%d", i))
		}
		b, err := appendWrapper(nil, nil, 1, Snappy, 0, set, own, ts, 0)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		set  []byte
		kept bool
	}{
		"relative": {wrap(0, 2, 102), true}, "own-offset-0": {wrap(0, 0, 102), true}, "absolute": {wrap(70, 72, 102), false},
		"all-zero-based-on-own": {wrap(0, 9, 102), false}, "wrong-time": {wrap(0, 2, 7), true},
	} {
		var in Info
		b, err := Adapt(nil, c.set, Target{Magic: 1, Codec: KeepCodec}, Limits{}, &in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if kept := &b[0] == &c.set[0]; kept != c.kept {
			t.Errorf("%s: kept is %v", name, kept)
		}
		if got := texts(t, placed(t, b, &in)); got != "5@100 k=v0 6@101 k=v1 7@102 k=v2" {
			t.Errorf("%s: %s", name, got)
		}
		if e, err := ParseEntry(b); err != nil || e.MaxTimestamp != 102 || in.MaxTimestamp != 102 {
			t.Errorf("%s: time %d %v", name, e.MaxTimestamp, err)
		}
	}
	if _, err := Adapt(nil, wrap(70, 3, 102), Target{Magic: 1, Codec: KeepCodec}, Limits{}, &Info{}); codeless(err) != "record" {
		t.Errorf("an own offset below the last inner one: %v", err)
	}
}

// codeless sorts errors by what an answer makes of them.
func codeless(err error) string {
	var record *InvalidRecordError
	var stamp *InvalidTimestampError
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &record):
		return "record"
	case errors.As(err, &stamp):
		return "time"
	case errors.Is(err, ErrCRC), errors.Is(err, ErrTruncated), errors.Is(err, ErrMagic):
		return "corrupt"
	case errors.Is(err, ErrTooLarge):
		return "large"
	case errors.Is(err, ErrNeedsNewFormat):
		return "format"
	}
	return err.Error()
}

func TestAdaptRefuses(t *testing.T) {
	flip := func(b []byte, at int) []byte { b[at] ^= 1; return b }
	sealed := func(b []byte, at int, v byte) []byte { b[at] = v; sealLegacy(b); return b }
	one := func(magic int8, key []byte, ts int64, attr int16) []byte {
		return appendMessage(nil, magic, 0, ts, attr, key, []byte("v"))
	}
	transactional := NewBuilder(None)
	transactional.ProducerID, transactional.ProducerEpoch, transactional.BaseSequence = 7, 0, 0
	transactional.Add(1, nil, nil)
	headed := NewBuilder(None)
	headed.Add(1, nil, nil, RecordHeader{"h", nil})
	wrapped := func(magic int8) []byte { // the wrapper's checksum is right, that of the second message in it is not
		z, err := Compress(nil, Gzip, append(one(magic, nil, 5, 0), flip(one(magic, nil, 5, 0), legacyCRC)...))
		if err != nil {
			t.Fatal(err)
		}
		return legacyMessage(magic, 1, 5, Gzip, nil, z)
	}
	sized := one(0, nil, 0, 0)
	binary.BigEndian.PutUint32(sized[8:], 13)
	for name, c := range map[string]struct {
		set  []byte
		to   int8
		lim  Limits
		want string
	}{
		"crc":                               {flip(legacySet(0, None, 3), legacyCRC), 2, Limits{}, "corrupt"},
		"second-crc":                        {append(one(1, nil, 5, 0), flip(one(1, nil, 5, 0), legacyCRC)...), 2, Limits{}, "corrupt"},
		"inner-crc-0":                       {wrapped(0), 2, Limits{}, "corrupt"},
		"inner-crc-1":                       {wrapped(1), 1, Limits{}, "corrupt"},
		"magic-3":                           {sealed(one(1, nil, 5, 0), legacyMagic, 3), 2, Limits{}, "corrupt"},
		"length-13":                         {sized, 2, Limits{}, "corrupt"},
		"mixed":                             {append(one(0, nil, 0, 0), one(1, nil, 5, 0)...), 2, Limits{}, "record"},
		"wrapper-not-alone":                 {append(legacySet(1, Gzip, 2), one(1, nil, 5, 0)...), 1, Limits{}, "record"},
		"two-new":                           {append(modern(None), modern(None)...), 2, Limits{}, "record"},
		"wrapped-zstd":                      {sealed(legacySet(1, Gzip, 2), legacyAttr, 4), 1, Limits{}, "record"},
		"null-key":                          {one(1, nil, 5, 0), 2, Limits{RequireKeys: true}, "record"},
		"too-old":                           {one(1, nil, 5, 0), 2, Limits{TimestampBeforeMs: 10, NowMs: 1000}, "time"},
		"no-time-is-no-fault":               {one(0, nil, 0, 0), 2, Limits{TimestampBeforeMs: 10, NowMs: 1000}, "none"},
		"append-time-claimed":               {one(1, nil, 5, attrLogAppendTime), 1, Limits{LogAppendTime: true}, "time"},
		"append-time-is-no-bit-of-format-0": {one(0, nil, 0, attrLogAppendTime), 2, Limits{LogAppendTime: true}, "none"},
		"append-time-dropped":               {one(1, nil, 5, attrLogAppendTime), 1, Limits{}, "none"},
		"too-large":                         {legacySet(0, None, 3), 2, Limits{MaxBatchBytes: 20}, "large"},
		"grown-too-large":                   {one(0, nil, 0, 0), 2, Limits{MaxBatchBytes: 60}, "large"},
		"transaction":                       {transactional.Bytes(), 1, Limits{}, "format"},
		"headers":                           {headed.Bytes(), 0, Limits{}, "format"},
		"zstd":                              {modern(Zstd), 1, Limits{}, "format"},
	} {
		var in Info
		b, err := Adapt(nil, c.set, Target{Magic: c.to, Codec: KeepCodec}, c.lim, &in)
		if codeless(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if err == nil && name == "append-time-dropped" && b[legacyAttr] != 0 {
			t.Errorf("%s: the claim is still there", name)
		}
	}
}

// Old clients send sets that end in the middle of a message; what is whole counts, and nothing whole is no error.
func TestAdaptDropsWhatIsCutOff(t *testing.T) {
	set := legacySet(1, None, 3)
	for cut := range len(set) {
		var in Info
		b, err := Adapt(nil, bytes.Clone(set[:cut]), Target{Magic: 2, Codec: KeepCodec}, Limits{}, &in)
		want := int32(cut / (len(set) / 3))
		if err != nil || in.Count != want || (len(b) > 0) != (want > 0) {
			t.Fatalf("%d of %d bytes: %d records, %d bytes, %v", cut, len(set), in.Count, len(b), err)
		}
	}
}

func FuzzAdapt(f *testing.F) {
	for magic := int8(0); magic <= 1; magic++ {
		for codec := None; codec <= LZ4; codec++ {
			f.Add(legacySet(magic, codec, 3), byte(2), byte(KeepCodec))
			f.Add(legacySet(magic, codec, 2), byte(magic), byte(Gzip))
		}
	}
	f.Add(modern(Zstd), byte(1), byte(None))
	codecs := NewCodecs()
	f.Fuzz(func(t *testing.T, set []byte, magic, codec byte) {
		if magic > 2 || (codec > 4 && codec != byte(KeepCodec)) {
			return
		}
		var in, again Info
		lim := Limits{Codecs: codecs, MaxDecompressed: 1 << 20}
		b, err := Adapt(nil, bytes.Clone(set), Target{Magic: int8(magic), Codec: Codec(codec)}, lim, &in) // which may patch the set
		if err != nil || len(b) == 0 {
			return
		}
		if int(in.Bytes) != len(b) {
			t.Fatalf("%d bytes, the info says %d", len(b), in.Bytes)
		}
		n := int32(0)
		if err := Iterate(b, func(Record) bool { n++; return true }); err != nil || n != in.Count {
			t.Fatalf("%d records, the info says %d: %v", n, in.Count, err)
		}
		if magic == 2 {
			if err := Validate(b, lim, &again); err != nil {
				t.Fatal(err)
			}
		}
	})
}
