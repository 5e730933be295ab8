package batch

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"testing"
)

func set(codec Codec, n, size int) []byte {
	bd := NewBuilder(codec)
	v := bytes.Repeat([]byte("abcdefgh"), size/8+1)[:size]
	for i := range n {
		bd.Add(int64(1000+i%7), []byte(fmt.Sprintf("key-%d", i)), v)
	}
	return bd.Bytes()
}

func TestValidateTakesWhatTheBuilderMakes(t *testing.T) {
	for _, codec := range []Codec{None, Gzip, Snappy, LZ4, Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			bd := NewBuilder(codec)
			bd.ProducerID, bd.ProducerEpoch, bd.BaseSequence = 9, 1, 0x7ffffffe
			bd.Add(50, nil, []byte("v"))
			bd.Add(90, []byte("k"), nil, RecordHeader{"h", nil}, RecordHeader{"", []byte("x")})
			bd.Add(70, []byte{}, []byte{})
			bd.Add(-5, []byte("k"), bytes.Repeat([]byte("z"), 100_000))
			b := bd.Bytes()
			var in Info
			if err := Validate(b, Limits{}, &in); err != nil {
				t.Fatal(err)
			}
			if in.Count != 4 || in.MaxTimestamp != 90 || in.MaxTimestampIndex != 1 || !in.HasProducer || int(in.Bytes) != len(b) {
				t.Fatalf("%+v", in)
			}
			if got := in.Batches[0].LastSequence(); got != 1 {
				t.Fatalf("last sequence %d, want 1 behind the wrap", got)
			}
			checkRecords(t, b)
		})
	}
}

func checkRecords(t *testing.T, b []byte) {
	t.Helper()
	var got []string
	err := Iterate(b, func(r Record) bool {
		got = append(got, fmt.Sprintf("%d@%d %q/%v=%d/%v %v", r.Offset, r.Timestamp, r.Key, r.Key == nil, len(r.Value), r.Value == nil, r.DecodeHeaders()))
		return true
	})
	want := `[0@50 ""/true=1/false [] 1@90 "k"/false=0/true [{h []} { [120]}] 2@70 ""/false=0/false [] 3@-5 "k"/false=100000/false []]`
	if err != nil || fmt.Sprint(got) != want {
		t.Fatalf("%v\n got %v\nwant %v", err, got, want)
	}
}

func TestValidateRefuses(t *testing.T) {
	good := func() []byte { return set(None, 5, 100) }
	reseal := func(f func(b []byte)) []byte { b := good(); f(b); SealCRC(b); return b }
	var rec *InvalidRecordError
	cases := []struct {
		name string
		b    []byte
		lim  Limits
		want error // nil: any InvalidRecordError
	}{
		{"empty", nil, Limits{}, nil},
		{"cut-off", good()[:200], Limits{}, ErrTruncated},
		{"length-lie", reseal(func(b []byte) { b[8] = 0x7f }), Limits{}, ErrTruncated},
		{"negative-length", reseal(func(b []byte) { b[8] = 0xff }), Limits{}, ErrTruncated},
		{"bit-flip", func() []byte { b := good(); b[len(b)-1] ^= 1; return b }(), Limits{}, ErrCRC},
		{"magic-3", reseal(func(b []byte) { b[16] = 3 }), Limits{}, ErrMagic},
		{"too-large", good(), Limits{MaxBatchBytes: 100}, ErrTooLarge},
		{"two-batches", append(good(), good()...), Limits{}, nil},
		{"count-high", reseal(func(b []byte) { b[60] = 6; b[26] = 5 }), Limits{}, nil},
		{"count-low", reseal(func(b []byte) { b[60] = 4; b[26] = 3 }), Limits{}, nil},
		{"count-without-offsets", reseal(func(b []byte) { b[60] = 4 }), Limits{}, nil},
		{"count-huge", reseal(func(b []byte) { b[57], b[23] = 0x7f, 0x7f }), Limits{}, nil},
		{"control", reseal(func(b []byte) { b[22] |= attrControl }), Limits{}, nil},
		{"offset", reseal(func(b []byte) { b[7] = 9 }), Limits{}, nil},
		{"codec-7", reseal(func(b []byte) { b[22] |= 7 }), Limits{}, ErrCodec},
		{"zstd-refused", set(Zstd, 3, 10), Limits{RefuseZstd: true}, ErrCodec},
		{"not-gzip", reseal(func(b []byte) { b[22] |= 1 }), Limits{}, ErrDecompress},
		{"not-snappy", reseal(func(b []byte) { b[22] |= 2 }), Limits{}, ErrDecompress},
		{"not-lz4", reseal(func(b []byte) { b[22] |= 3 }), Limits{}, ErrDecompress},
		{"not-zstd", reseal(func(b []byte) { b[22] |= 4 }), Limits{}, ErrDecompress},
		{"producer-without-sequence", reseal(func(b []byte) { copy(b[43:51], make([]byte, 8)) }), Limits{}, nil},
		{"producer-without-epoch", reseal(func(b []byte) { copy(b[43:51], make([]byte, 8)); copy(b[53:57], make([]byte, 4)) }), Limits{}, ErrEpoch},
		{"none-is-not-one", nil, Limits{}, ErrNotOneBatch},
		{"cut-off-is-not-one", good()[:40], Limits{}, ErrNotOneBatch},
		{"two-are-not-one", append(good(), good()...), Limits{}, ErrNotOneBatch},
		{"old-format-is-not-one", reseal(func(b []byte) { b[16] = 1 }), Limits{}, ErrNotOneBatch},
		{"old-format", reseal(func(b []byte) { b[16] = 0 }), Limits{}, ErrMagic},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var in Info
			err := Validate(c.b, c.lim, &in)
			if c.want == nil && !errors.As(err, &rec) || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestValidateNamesTheRecord(t *testing.T) {
	bd := NewBuilder(None)
	bd.Add(100, []byte("k"), nil)
	bd.Add(101, nil, []byte("v"))
	bd.Add(102, nil, []byte("v"))
	var in Info
	var rec *InvalidRecordError
	if err := Validate(bd.Bytes(), Limits{RequireKeys: true}, &in); !errors.As(err, &rec) || rec.Index != 1 || len(rec.Records) != 2 {
		t.Fatalf("null keys: %v %+v", err, rec)
	}
	var when *InvalidTimestampError
	if err := Validate(bd.Bytes(), Limits{NowMs: 110, TimestampBeforeMs: 8}, &in); !errors.As(err, &when) || when.Index != 0 || len(when.Records) != 2 {
		t.Fatalf("early: %v", err)
	}
	if err := Validate(bd.Bytes(), Limits{NowMs: 100, TimestampAfterMs: 1}, &in); !errors.As(err, &when) || when.Index != 2 {
		t.Fatalf("late: %v", err)
	}
	if err := Validate(bd.Bytes(), Limits{NowMs: 1 << 40, TimestampBeforeMs: 8, LogAppendTime: true}, &in); err != nil {
		t.Fatalf("log append time looks at no client's timestamp: %v", err)
	}
}

func TestValidateCorrectsTheMaxTimestamp(t *testing.T) {
	for _, codec := range []Codec{None, Zstd} {
		b := set(codec, 10, 10)
		patchMaxTimestamp(b, 5)
		var in Info
		if err := Validate(b, Limits{}, &in); err != nil {
			t.Fatal(err)
		}
		h, _ := ParseHeader(b)
		if h.MaxTimestamp != 1006 || !CheckCRC(b) || in.MaxTimestamp != 1006 || in.MaxTimestampIndex != 6 {
			t.Fatalf("%s: max %d, info %+v", codec, h.MaxTimestamp, in)
		}
	}
}

func TestValidateStopsBombs(t *testing.T) {
	zeros := make([]byte, 8<<20)
	for _, codec := range []Codec{Gzip, Snappy, LZ4, Zstd} {
		bd := NewBuilder(codec)
		bd.Add(1, nil, zeros)
		b := bd.Bytes()
		var in Info
		if err := Validate(b, Limits{MaxDecompressed: 1 << 20}, &in); !errors.Is(err, ErrBomb) {
			t.Errorf("%s: %d bytes of %d: %v", codec, len(b), len(zeros), err)
		}
		if err := Validate(b, Limits{MaxDecompressed: 9 << 20}, &in); err != nil {
			t.Errorf("%s below the cap: %v", codec, err)
		}
	}
}

func TestFastAndSlowWalkAgree(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	sizes := []int{0, 1, 5, 62, 63, 64, 65, 127, 128, 8190, 8191, 8192, 20000}
	fast := 0
	for range 3000 {
		bd := NewBuilder(None)
		delta := int32(rng.Intn(3)) * 8190
		var key []byte
		if rng.Intn(3) > 0 {
			key = make([]byte, sizes[rng.Intn(len(sizes))])
		}
		var hs []RecordHeader
		if rng.Intn(4) == 0 {
			hs = append(hs, RecordHeader{"a", nil})
		}
		bd.AddAt(0, 0, nil, []byte("value"))
		bd.AddAt(delta+1, rng.Int63n(1<<uint(1+rng.Intn(40)))-1<<10, key, make([]byte, sizes[rng.Intn(len(sizes))]), hs...)
		b := append(bd.records, make([]byte, rng.Intn(30))...)
		w := walk{low: math.MinInt64, high: math.MaxInt64, count: 2, lastDelta: 2 + delta, gaps: delta > 0, maxTimestamp: NoTimestamp, first: 5}
		n, i, prev := w.common(b, 0, 0, -1)
		slow := w
		slow.maxTimestamp, slow.maxDelta = NoTimestamp, 0
		at, last := 0, int32(-1)
		for range n {
			end, d, ts, _, err := slowRecord(b, at)
			if err != nil {
				t.Fatal(err)
			}
			if at, last = end, d; ts+5 > slow.maxTimestamp {
				slow.maxTimestamp, slow.maxDelta = ts+5, d
			}
		}
		if at != i || last != prev || slow.maxTimestamp != w.maxTimestamp || slow.maxDelta != w.maxDelta {
			t.Fatalf("fast walked to %d, delta %d, time %d; slow to %d, delta %d, time %d", i, prev, w.maxTimestamp, at, last, slow.maxTimestamp)
		}
		fast += int(n)
	}
	if fast < 2000 {
		t.Fatalf("the fast path took %d of 6000 records", fast)
	}
}

func TestValidateAllocatesNothing(t *testing.T) {
	b := set(None, 1000, 100)
	var in Info
	if n := testing.AllocsPerRun(100, func() {
		if err := Validate(b, Limits{RequireKeys: true, NowMs: 5000, TimestampAfterMs: 1}, &in); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestAddSequenceWraps(t *testing.T) {
	for _, c := range [][3]int32{{0, 0, 0}, {5, 3, 8}, {0x7fffffff, 0, 0x7fffffff}, {0x7fffffff, 1, 0}, {0x7ffffffd, 5, 2}} {
		if got := AddSequence(c[0], c[1]); got != c[2] {
			t.Errorf("%d + %d = %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	for _, size := range []int{100, 1000} {
		for _, part := range []string{"memcpy+crc", "validate", "walk"} {
			b.Run(fmt.Sprintf("%s-%d", part, size), func(b *testing.B) {
				rec := set(None, 1_000_000/(size+20), size)
				dst := make([]byte, len(rec))
				var in Info
				h, _ := ParseHeader(rec)
				b.SetBytes(int64(len(rec)))
				for b.Loop() {
					switch part {
					case "memcpy+crc":
						copy(dst, rec)
						if !CheckCRC(rec) {
							b.Fatal("crc")
						}
					case "walk":
						c := check{out: &in}
						c.setBounds()
						c.walk.begin(&h, 0)
						if err := c.walk.run(rec[HeaderSize:]); err != nil {
							b.Fatal(err)
						}
					default:
						if err := Validate(rec, Limits{}, &in); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(in.Count), "records")
			})
		}
	}
}

// A client may not say when its records were appended: the claim is dropped where the times are the client's, refused where they are not.
func TestValidateDropsTheClaimOfAppendTime(t *testing.T) {
	claim := func() []byte { b := set(None, 5, 100); b[22] |= attrLogAppendTime; SealCRC(b); return b }
	var in Info
	b := claim()
	if err := Validate(b, Limits{}, &in); err != nil || b[22]&attrLogAppendTime != 0 || !CheckCRC(b) || in.Batches[0].IsLogAppendTime() {
		t.Fatalf("%v, attributes %x, crc right: %v", err, b[22], CheckCRC(b))
	}
	var stamp *InvalidTimestampError
	if err := Validate(claim(), Limits{LogAppendTime: true}, &in); !errors.As(err, &stamp) || len(stamp.Records) != 5 || stamp.Records[4].Index != 4 {
		t.Fatalf("on a topic with append times: %v", err)
	}
	b = claim()
	if err := Validate(b, Limits{AllowOffsets: true}, &in); err != nil || b[22]&attrLogAppendTime == 0 {
		t.Fatalf("a replica keeps it: %v %x", err, b[22])
	}
}
