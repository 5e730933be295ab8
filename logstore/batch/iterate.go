package batch

// Record is one record of a batch of any format. Its slices point into the bytes given to Iterate, or into a buffer
// that is reused, so they are valid during the call only.
type Record struct {
	Batch     *Header // of the batch the record is in; valid during the call
	Offset    int64
	Timestamp int64
	Key       []byte // nil = null
	Value     []byte // nil = null
	Headers   []byte // the encoded headers of format 2, without their count
	NHeaders  int32
}

// Header is one record header.
type RecordHeader struct {
	Key   string
	Value []byte // nil = null
}

// DecodeHeaders returns the headers as values of their own.
func (r *Record) DecodeHeaders() []RecordHeader {
	if r.NHeaders <= 0 {
		return nil
	}
	out := make([]RecordHeader, 0, min(int(r.NHeaders), len(r.Headers)/2))
	rd := reader{b: r.Headers}
	for range r.NHeaders {
		k := rd.bytes()
		v := rd.bytes()
		if rd.bad {
			return out
		}
		h := RecordHeader{Key: string(k)}
		if v != nil {
			h.Value = append([]byte{}, v...)
		}
		out = append(out, h)
	}
	return out
}

// Marker is what a control record says: 0 aborts, 1 commits; others are not transaction markers.
func (r *Record) Marker() (kind int16, ok bool) {
	if r.Batch == nil || !r.Batch.IsControl() || len(r.Key) < 4 {
		return 0, false
	}
	return int16(r.Key[2])<<8 | int16(r.Key[3]), true
}

// CoordinatorEpoch is the epoch in a transaction marker's value, or -1.
func (r *Record) CoordinatorEpoch() int32 {
	if len(r.Value) < 6 {
		return -1
	}
	return int32(r.Value[2])<<24 | int32(r.Value[3])<<16 | int32(r.Value[4])<<8 | int32(r.Value[5])
}

// Iterator walks over record sets and reuses its buffers. The zero value with Codecs set is ready.
type Iterator struct {
	Codecs          *Codecs
	MaxDecompressed int64

	set []byte // memory of the messages that go into a wrapper
}

// Iterate calls fn for every record of a set of whole batches of any format, in order, until fn returns false.
// A batch that is cut off at the end is left out, as consumers do. The first fault ends it with a typed error.
func Iterate(b []byte, fn func(Record) bool) error {
	it := Iterator{}
	return it.Each(b, fn)
}

// Each is Iterate with the iterator's decoders.
func (it *Iterator) Each(b []byte, fn func(Record) bool) error {
	if it.Codecs == nil {
		it.Codecs = NewCodecs()
	}
	if it.MaxDecompressed <= 0 {
		it.MaxDecompressed = DefaultMaxDecompressed
	}
	for len(b) >= PrefixSize {
		size, magic, err := EntrySize(b)
		if err != nil {
			return err
		}
		if size > len(b) {
			return nil
		}
		more := true
		if magic == 2 {
			more, err = it.batch(b[:size], fn)
		} else {
			more, err = it.legacy(b[:size], fn)
		}
		if err != nil || !more {
			return err
		}
		b = b[size:]
	}
	return nil
}

// batch walks one whole batch of format 2.
func (it *Iterator) batch(b []byte, fn func(Record) bool) (bool, error) {
	h, err := ParseHeader(b)
	if err != nil {
		return false, err
	}
	plain := b[HeaderSize:]
	if h.Codec() != None {
		s := it.Codecs.get()
		defer it.Codecs.put(s)
		if plain, err = s.decompress(h.Codec(), plain, it.MaxDecompressed); err != nil {
			return false, err
		}
	}
	r := reader{b: plain}
	for n := range h.Count {
		rec, err := readRecord(&r, &h)
		if err != nil {
			return false, invalid(n, err.Error())
		}
		if !fn(rec) {
			return false, nil
		}
	}
	return true, nil
}

func readRecord(r *reader, h *Header) (Record, error) {
	length := r.varint32()
	if r.bad || length < 0 || int(length) > len(r.b)-r.i {
		return Record{}, errLength
	}
	end := r.i + int(length)
	in := reader{b: r.b[:end], i: r.i}
	in.skip(1)
	ts := h.FirstTimestamp + in.varint64()
	rec := Record{Batch: h, Offset: h.BaseOffset + int64(in.varint32()), Timestamp: ts}
	if h.IsLogAppendTime() {
		rec.Timestamp = h.MaxTimestamp
	}
	rec.Key = in.bytes()
	rec.Value = in.bytes()
	rec.NHeaders = in.varint32()
	if in.bad || rec.NHeaders < 0 || int(rec.NHeaders) > (end-in.i)/2 {
		return Record{}, errFields
	}
	rec.Headers = in.b[in.i:end:end]
	r.i = end
	return rec, nil
}
