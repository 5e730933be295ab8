package wire

import (
	"encoding/binary"
	"runtime"
	"testing"
)

func TestReaderRefusesLies(t *testing.T) {
	tags := func(n int) []byte {
		b := binary.AppendUvarint(nil, uint64(n))
		for i := range n {
			b = binary.AppendUvarint(b, uint64(i))
			b = append(b, 0)
		}
		return b
	}
	for _, c := range []struct {
		name string
		read func(r *Reader)
		in   []byte
	}{
		{"array-count-beyond-frame", func(r *Reader) { r.Array(false, 5) }, []byte{0x7f, 0xff, 0xff, 0xff, 1, 2}},
		{"array-count-negative", func(r *Reader) { r.Array(false, 5) }, []byte{0x80, 0, 0, 0}},
		{"bytes-beyond-frame", func(r *Reader) { r.Bytes(true) }, []byte{200, 1, 3}},
		{"bytes-negative", func(r *Reader) { r.Bytes(false) }, []byte{0xff, 0xff, 0xff, 0xfe}},
		{"string-beyond-frame", func(r *Reader) { r.String(false) }, []byte{0, 9, 'a'}},
		{"varint-too-long", func(r *Reader) { r.Uvarint() }, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
		{"tag-flood", func(r *Reader) { r.Tags(true, nil) }, tags(MaxTags + 1)},
		{"tags-out-of-order", func(r *Reader) { r.Tags(true, nil) }, []byte{2, 5, 0, 5, 0}},
		{"tag-beyond-frame", func(r *Reader) { r.Tags(true, nil) }, []byte{1, 0, 100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReader(c.in)
			c.read(&r)
			if r.Err() == nil {
				t.Fatal("no error")
			}
			if r.Int64() != 0 || r.Take(1) != nil {
				t.Fatal("the reader goes on after a fault")
			}
		})
	}
	r := NewReader(tags(MaxTags))
	if r.Tags(true, nil); r.Err() != nil {
		t.Fatalf("%d tags are allowed: %v", MaxTags, r.Err())
	}
}

func FuzzFetchRequest(f *testing.F) {
	f.Add(int16(12), []byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 'a', 2})
	f.Add(int16(17), make([]byte, 60))
	var req FetchRequest
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if version < 0 || version > 18 {
			return
		}
		r := NewReader(body)
		err := req.Parse(&r, version)
		boundDecoded(t, len(body), len(req.Topics)+len(req.Parts)+len(req.Forgotten), err)
	})
}

func FuzzProduceRequest(f *testing.F) {
	f.Add(int16(9), []byte{0, 0, 1, 0, 0, 0, 9, 2, 2, 'a', 2, 0, 0, 0, 0, 3, 'x', 'y', 0, 0, 0})
	var req ProduceRequest
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if version < 0 || version > 13 {
			return
		}
		r := NewReader(body)
		err := req.Parse(&r, version)
		boundDecoded(t, len(body), len(req.Topics)+len(req.Parts), err)
	})
}

// boundDecoded holds a decoder to its promise: elements cost bytes on the wire.
func boundDecoded(t *testing.T, bytes, elements int, err error) {
	if elements > bytes {
		t.Fatalf("%d elements out of %d bytes (err %v)", elements, bytes, err)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte{0, 18, 0, 3, 0, 0, 0, 1, 0, 1, 'a', 0})
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, body, err := ParseHeader(frame, func(key int16) int16 { return key % 12 })
		if err == nil && body.Left() > len(frame) {
			t.Fatalf("header %+v leaves %d of %d bytes", h, body.Left(), len(frame))
		}
	})
}

func TestParsersAllocateNothing(t *testing.T) {
	body := []byte{0, 0, 1, 0, 0, 0, 9, 2, 2, 'a', 2, 0, 0, 0, 0, 3, 'x', 'y', 0, 0, 0}
	var req ProduceRequest
	if n := testing.AllocsPerRun(100, func() {
		r := NewReader(body)
		if err := req.Parse(&r, 9); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Fatalf("a produce request allocates %v times", n)
	}
	runtime.KeepAlive(req)
}
