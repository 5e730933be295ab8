package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// KeepCodec as a Target's codec leaves records compressed as they came.
const KeepCodec Codec = 0xff

// Target is the form in which a topic keeps what clients send: compression.type and the format of its message.format.version.
type Target struct {
	Magic int8
	Codec Codec
	Level int // of the codec, which KeepCodec does not look at; 0 = its default
}

// Adapt checks a client's record set of any format and brings it into the form of a topic. It returns the set itself, patched, when it may
// stay as it is, else what it appended to dst; nothing for a set without a whole message, which is no error in the old formats. As Kafka
// does, it drops a last message that is cut off, takes a wrapper only alone, and gives all records of a plain old set to one new batch.
func Adapt(dst, set []byte, to Target, lim Limits, out *Info) ([]byte, error) {
	out.Reset()
	if lim.Codecs == nil {
		lim.Codecs = NewCodecs()
	}
	if lim.MaxDecompressed <= 0 {
		lim.MaxDecompressed = DefaultMaxDecompressed
	}
	a := adaption{to: to, lim: lim, out: out, expected: true}
	a.check = check{lim: lim, out: out}
	a.check.setBounds()
	set, err := a.scan(set)
	if err != nil || len(set) == 0 {
		return nil, err
	}
	if a.magic == 2 {
		return a.newer(dst, set)
	}
	return a.older(dst, set)
}

// adaption is one run of Adapt.
type adaption struct {
	to     Target
	lim    Limits
	out    *Info
	check  check
	magic  int8  // of the first entry
	source Codec // None unless an entry is compressed
	count  int32
	newest int64
	// expected: the offsets inside a wrapper are those that a log wants, 0 and on.
	expected bool
	// keeps: the set stays as it is.
	keeps bool
	batch *Builder // of the new format
	set   []byte   // of an old one: the messages, or those inside a wrapper
}

// scan looks at the entries from outside and cuts off a last one that is not whole.
func (a *adaption) scan(set []byte) ([]byte, error) {
	pos, mixed := 0, false
	for n := 0; len(set)-pos >= PrefixSize; n++ {
		rest := set[pos:]
		size := int(int32(binary.BigEndian.Uint32(rest[8:]))) + LogOverhead
		switch {
		case size < LogOverhead+minLegacySize:
			return nil, ErrTruncated
		case rest[legacyMagic] > 2:
			return nil, ErrMagic
		case size > len(rest):
			rest = nil
		}
		if rest == nil {
			break
		}
		magic := int8(rest[legacyMagic])
		if n == 0 {
			a.magic = magic
		}
		mixed = mixed || magic != a.magic
		codec, err := a.entryCodec(rest[:size], magic)
		if err != nil {
			return nil, err
		}
		if codec != None {
			a.source = codec
		}
		pos += size
		if n > 0 && (a.magic == 2 || a.source != None) {
			return nil, notOneBatch("a compressed message must be alone in its set")
		}
	}
	if mixed {
		return nil, invalid(-1, "messages of different formats in one set")
	}
	return set[:pos], nil
}

// entryCodec checks the outside of one entry and tells its compression.
func (a *adaption) entryCodec(b []byte, magic int8) (Codec, error) {
	if a.lim.MaxBatchBytes > 0 && len(b) > int(a.lim.MaxBatchBytes) {
		return None, ErrTooLarge
	}
	if !CheckEntryCRC(b) {
		return None, ErrCRC
	}
	if magic == 2 {
		return Codec(b[posAttributes+1] & attrCodec), nil
	}
	codec := Codec(b[legacyAttr] & attrCodec)
	switch {
	case codec > Zstd:
		return None, ErrCodec
	case codec > LZ4:
		return None, invalid(-1, "a wrapper message of a compression type that its format does not have")
	}
	return codec, nil
}

// codec is the compression that the topic wants for this set.
func (a *adaption) codec() Codec {
	if a.to.Codec == KeepCodec {
		return a.source
	}
	return a.to.Codec
}

// level is how hard the topic wants it compressed.
func (a *adaption) level() int {
	if a.to.Codec == KeepCodec {
		return 0
	}
	return a.to.Level
}

// newer brings a batch of format 2 into the topic's form.
func (a *adaption) newer(dst, set []byte) ([]byte, error) {
	if err := Validate(set, a.lim, a.out); err != nil {
		return nil, err
	}
	h := a.out.Batches[0].Header
	if a.to.Magic == 2 && a.codec() == h.Codec() {
		return set, nil
	}
	if a.to.Magic < 2 && (h.IsTransactional() || h.ProducerID >= 0) {
		return nil, fmt.Errorf("%w: producer ids", ErrNeedsNewFormat)
	}
	a.out.Reset()
	a.begin()
	if bd := a.batch; bd != nil {
		bd.ProducerID, bd.ProducerEpoch, bd.BaseSequence, bd.Transactional = h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.IsTransactional()
	}
	var headers error
	it := Iterator{Codecs: a.lim.Codecs, MaxDecompressed: a.lim.MaxDecompressed}
	err := it.Each(set, func(r Record) bool {
		if a.batch != nil {
			a.batch.Copy(&r)
			return true
		}
		if r.NHeaders > 0 {
			headers = fmt.Errorf("%w: record headers", ErrNeedsNewFormat)
			return false
		}
		a.add(r.Timestamp, r.Key, r.Value)
		return true
	})
	if err = errors.Join(err, headers); err != nil {
		return nil, err
	}
	return a.finish(dst)
}

// older brings messages of formats 0 and 1 into the topic's form.
func (a *adaption) older(dst, set []byte) ([]byte, error) {
	a.keeps = a.magic == a.to.Magic && a.codec() == a.source && (a.source == None || a.magic == 1)
	a.begin()
	for rest := set; len(rest) > 0; {
		m, size, err := readMessage(rest)
		if err != nil {
			return nil, err
		}
		if a.source != None {
			err = a.wrapper(&m)
		} else {
			a.record(&m, m.timestamp, m.magic == 1 && m.attr&attrLogAppendTime != 0)
			if a.keeps {
				a.noteKept(rest[:size], len(set)-len(rest), m.timestamp, 1)
			}
		}
		if err != nil {
			return nil, err
		}
		rest = rest[size:]
	}
	if err := a.check.refused(); err != nil {
		return nil, err
	}
	if a.keeps && a.source != None {
		if a.keeps = a.expected; a.keeps {
			a.noteKept(set, 0, a.newest, a.count)
		} else if err := a.again(set); err != nil {
			return nil, err
		}
	}
	if a.keeps {
		return set, nil
	}
	return a.finish(dst)
}

// again reads a wrapper once more whose inner offsets turned out to be others than a log wants.
func (a *adaption) again(set []byte) error {
	m, _, err := readMessage(set)
	if err != nil {
		return err
	}
	a.count, a.newest = 0, NoTimestamp
	return a.wrapper(&m)
}

// wrapper takes the messages inside a compressed one.
func (a *adaption) wrapper(w *message) error {
	if w.value == nil {
		return invalid(-1, "a wrapper message without a value")
	}
	s := a.lim.Codecs.get()
	defer a.lim.Codecs.put(s)
	inner, err := s.openWrapper(w, a.lim.MaxDecompressed)
	if err != nil {
		return err
	}
	appended := w.magic == 1 && w.attr&attrLogAppendTime != 0
	last := int64(-1)
	for len(inner) > 0 {
		m, size, err := innerMessage(inner, w.magic, a.count)
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		last = m.offset
		a.expected = a.expected && m.offset == int64(a.count)
		ts := m.timestamp
		if appended {
			ts = w.timestamp
		}
		a.record(&m, ts, appended)
		inner = inner[size:]
	}
	switch {
	case a.count == 0:
		return invalid(-1, "an empty wrapper message")
	case w.magic == 1 && w.offset != 0 && w.offset < last:
		return invalid(-1, "a wrapper's offset lies below that of its last message")
	case w.magic == 1 && w.offset != 0 && w.offset != last:
		a.expected = false
	}
	return nil
}

// innerMessage reads a message inside a wrapper; size 0 means that the rest is cut off.
func innerMessage(b []byte, magic int8, index int32) (m message, size int, err error) {
	if len(b) < PrefixSize {
		return m, 0, nil
	}
	if size = int(int32(binary.BigEndian.Uint32(b[8:]))) + LogOverhead; size < LogOverhead+minLegacySize {
		return m, 0, ErrTruncated
	}
	if size > len(b) {
		return m, 0, nil
	}
	if int8(b[legacyMagic]) != magic || Codec(b[legacyAttr]&attrCodec) != None {
		return m, 0, invalid(index, "a message inside a wrapper is of another format or compressed itself")
	}
	if !CheckEntryCRC(b[:size]) {
		return m, 0, ErrCRC
	}
	return readMessage(b)
}

// record checks one record of an old set and takes it over.
func (a *adaption) record(m *message, ts int64, appended bool) {
	w := &a.check.walk
	keyed := m.key != nil
	switch {
	case appended && (a.lim.LogAppendTime || ts == NoTimestamp):
		const msg = "the message claims the time at which it was appended"
		if len(w.badTimes) < maxRecordErrors {
			w.badTimes = append(w.badTimes, RecordError{Index: a.count, Msg: msg})
		}
	case ts < w.low || ts > w.high || (w.requireKeys && !keyed):
		w.refuse(a.count, ts, keyed)
	}
	a.add(ts, m.key, m.value)
}
