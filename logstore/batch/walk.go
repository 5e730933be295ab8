package batch

import "fmt"

// walk reads every record of one batch without keeping any.
//
// It is the broker's cost per record, so the common shape (varints of one or two bytes, no headers) is read in
// line with one bounds check per record head, and everything else goes to the slow path, which is complete by itself.
type walk struct {
	// set for the whole run
	low, high   int64 // bounds of a client's timestamps
	requireKeys bool
	// set per batch
	first     int64 // the header's first timestamp
	count     int32
	lastDelta int32
	gaps      bool  // offset deltas may jump (compacted batches)
	base      int32 // records before this batch, for the errors
	noTimes   bool
	// found
	maxTimestamp int64
	maxDelta     int32
	badKeys      []RecordError
	badTimes     []RecordError
}

// headRoom is how many bytes must be left for the fast path: length 2, attributes 1, timestamp 3, offset 3, key length 2.
const headRoom = 16

func (w *walk) begin(h *Header, base int32) {
	w.first, w.count, w.lastDelta, w.base = h.FirstTimestamp, h.Count, h.LastOffsetDelta, base
	w.gaps = h.LastOffsetDelta != h.Count-1
	w.maxTimestamp, w.maxDelta = NoTimestamp, 0
	w.noTimes = h.IsControl()
}

// run checks that b is exactly count records.
func (w *walk) run(b []byte) error {
	i, prev := 0, int32(-1)
	for n := int32(0); n < w.count; n++ {
		if n, i, prev = w.common(b, n, i, prev); n == w.count {
			break
		}
		end, delta, ts, keyed, err := slowRecord(b, i)
		if err != nil {
			return w.fault(n, err)
		}
		if delta != prev+1 && (!w.gaps || delta <= prev) {
			return invalid(w.base+n, "offset deltas are not consecutive")
		}
		prev, i = delta, end
		ts += w.first
		if ts > w.maxTimestamp {
			w.maxTimestamp, w.maxDelta = ts, delta
		}
		if ts < w.low || ts > w.high || (w.requireKeys && !keyed) {
			w.refuse(n, ts, keyed)
		}
	}
	if i != len(b) {
		return invalid(-1, "bytes are left over behind the last record")
	}
	if prev > w.lastDelta {
		return invalid(-1, "an offset delta is above the last one of the batch")
	}
	return nil
}

// common reads records as long as they have the common shape and nothing about them asks for more than a glance: varints of one or two
// bytes (the timestamp's up to three), no headers, the next offset, a timestamp and a key that the topic takes. It stops before the first
// other one, right or wrong. A varint that goes on behind its last byte here has that byte's top bit left in it. n, i and prev are the record's number, its place, and the offset delta before it.
func (w *walk) common(b []byte, n int32, i int, prev int32) (int32, int, int32) {
	low, high, first, newest := w.low, w.high, w.first, w.maxTimestamp
	odd := uint32(0x4001) // bits that a length must not have: negative, or a varint of more than two bytes
	keyOdd := odd
	if !w.requireKeys {
		keyOdd = 0x4000 // a null key is fine: its length reads as 1
	}
	for n < w.count && len(b)-i >= headRoom {
		h := (*[headRoom]byte)(b[i:])
		length, j := short2(h, 0)
		end := i + j + int(length>>1)
		t, j := short3(h, j+1) // behind the attributes, of which no bit has a meaning yet
		o, j := short3(h, j)
		k, j := short2(h, j)
		ts := first + (int64(t>>1) ^ -int64(t&1))
		if length&odd|k&keyOdd != 0 || t|o >= 1<<21 || o != uint32(prev+1)<<1 || end > len(b) || ts < low || ts > high || !fastBody(b, i+j, end, k) {
			break
		}
		if ts > newest {
			newest = ts
			w.maxTimestamp, w.maxDelta = ts, prev+1
		}
		prev, i = prev+1, end
		n++
	}
	return n, i, prev
}

// short2 reads an unsigned varint of at most two bytes at j of a record's head, and tells where the next field begins. One that goes on has
// the top bit of its last byte here, 0x4000, left in it. It is small, so that it is read in line.
func short2(h *[headRoom]byte, j int) (v uint32, next int) {
	v = uint32(h[j&15])
	j++
	if v >= 0x80 {
		v = v&0x7f | uint32(h[j&15])<<7
		j++
	}
	return v, j
}

// short3 is the same for three bytes, and 1<<21.
func short3(h *[headRoom]byte, j int) (v uint32, next int) {
	if v, j = short2(h, j); v >= 0x4000 {
		v = v&0x3fff | uint32(h[j&15])<<14
		j++
	}
	return v, j
}

// fastBody is the rest of a record of the common shape: key (k is its length as it was read), value, and no headers, exactly up to end.
func fastBody(b []byte, j, end int, k uint32) bool {
	if k&1 == 0 {
		j += int(k >> 1)
	} else if k != 1 {
		return false
	}
	if j+3 > end { // room for a value length of two bytes and a header count: a smaller record is slow
		return false
	}
	v := uint32(b[j])
	j++
	if v >= 0x80 {
		c := uint32(b[j])
		j++
		if c >= 0x80 {
			return false
		}
		v = v&0x7f | c<<7
	}
	j += int(v >> 1)
	return v&1 == 0 && j+1 == end && b[j] == 0
}

// slowRecord reads any record, or says what is wrong with it.
func slowRecord(b []byte, i int) (end int, delta int32, ts int64, keyed bool, err error) {
	r := reader{b: b, i: i}
	length := r.varint32()
	if r.bad || length < 0 || int(length) > len(b)-r.i {
		return 0, 0, 0, false, errLength
	}
	end = r.i + int(length)
	r.b = b[:end]
	r.skip(1)
	ts = r.varint64()
	delta = r.varint32()
	keyed = r.field()
	r.field()
	headers := r.varint32()
	if headers < 0 || int(headers) > (end-r.i)/2 { // two bytes are the least that a header takes
		return 0, 0, 0, false, errHeaders
	}
	for ; headers > 0; headers-- {
		if !r.field() { // a header's key is never null
			r.bad = true
		}
		r.field()
	}
	if r.bad || r.i != end {
		return 0, 0, 0, false, errFields
	}
	return end, delta, ts, keyed, nil
}

// fault makes the error of record n of this batch.
func (w *walk) fault(n int32, err error) error { return invalid(w.base+n, err.Error()) }

// refuse notes a record that the topic does not want.
func (w *walk) refuse(n int32, ts int64, keyed bool) {
	if w.noTimes {
		return
	}
	if (ts < w.low || ts > w.high) && ts != NoTimestamp && len(w.badTimes) < maxRecordErrors {
		msg := fmt.Sprintf("record %d: its timestamp %d lies outside %d to %d", w.base+n, ts, w.low, w.high)
		w.badTimes = append(w.badTimes, RecordError{Index: w.base + n, Msg: msg})
	}
	if w.requireKeys && !keyed && len(w.badKeys) < maxRecordErrors {
		w.badKeys = append(w.badKeys, RecordError{Index: w.base + n, Msg: "a record of a compacted topic needs a key"})
	}
}
