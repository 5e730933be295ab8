package batch

import (
	"math"
)

// Limits is what a caller allows in a record set. The zero value allows one batch of format 2 of any size from a client.
type Limits struct {
	MaxBatchBytes   int32 // largest batch, header included; 0 = no limit
	MaxDecompressed int64 // most bytes that the records of one batch may decompress to; 0 = DefaultMaxDecompressed
	RequireKeys     bool  // compacted topic: a record without a key is refused
	AllowControl    bool  // control batches are written by coordinators, never by clients
	AllowMany       bool  // several batches: replication, and old clients
	AllowOffsets    bool  // base offsets other than 0: replication
	RefuseZstd      bool  // the request's version does not know zstd
	LogAppendTime   bool  // the topic's timestamps are the broker's: those of the client are not looked at

	// With LogAppendTime unset a record's timestamp must lie in [NowMs-TimestampBeforeMs, NowMs+TimestampAfterMs]; 0 = no bound.
	TimestampBeforeMs, TimestampAfterMs int64
	NowMs                               int64

	// Codecs holds the decoders and buffers used for compressed batches. One per process is enough; nil makes new ones for each call.
	Codecs *Codecs
}

// DefaultMaxDecompressed is the cap used when Limits names none.
const DefaultMaxDecompressed int64 = 128 << 20

// maxRecordErrors bounds how many refused records one answer names.
const maxRecordErrors = 1000

// BatchInfo is what the check found in one batch.
type BatchInfo struct {
	Header
	Pos               int32 // in the record set
	Bytes             int32
	MaxTimestampDelta int32 // offset delta of the first record that has MaxTimestamp
}

// Info is what Validate found. It is reused: every call overwrites it.
type Info struct {
	Batches []BatchInfo
	Count   int32 // records of all batches
	Bytes   int32 // of all batches
	// MaxTimestamp is the largest of all records, MaxTimestampIndex that record's place from the first one; NoTimestamp and -1 when there is none.
	MaxTimestamp      int64
	MaxTimestampIndex int32
	// HasProducer is true when some batch carries a producer id.
	HasProducer bool
}

// Reset empties the info and keeps its memory.
func (in *Info) Reset() {
	*in = Info{Batches: in.Batches[:0], MaxTimestamp: NoTimestamp, MaxTimestampIndex: -1}
}

// Validate checks a record set of format 2 wholly: sizes, CRC-32C, every field of every record, and what the topic demands.
// It writes to records in one case only, Kafka's own: a batch whose max timestamp is not that of its records gets the right one.
// Without compression a right set costs no allocation.
func Validate(records []byte, lim Limits, out *Info) error {
	out.Reset()
	if len(records) == 0 {
		return notOneBatch("no record batch")
	}
	c := check{lim: lim, out: out}
	c.setBounds()
	for pos := 0; pos < len(records); {
		if pos > 0 && !lim.AllowMany {
			return notOneBatch("more than one record batch")
		}
		n, err := c.one(records[pos:], pos)
		if err != nil {
			return err
		}
		pos += n
	}
	return c.refused()
}

// check is one run of Validate.
type check struct {
	lim  Limits
	out  *Info
	walk walk
}

func (c *check) setBounds() {
	c.walk.low, c.walk.high = math.MinInt64, math.MaxInt64
	c.walk.requireKeys = c.lim.RequireKeys
	if c.lim.LogAppendTime {
		return
	}
	if c.lim.TimestampBeforeMs > 0 && c.lim.TimestampBeforeMs < c.lim.NowMs {
		c.walk.low = c.lim.NowMs - c.lim.TimestampBeforeMs
	}
	if c.lim.TimestampAfterMs > 0 && c.lim.TimestampAfterMs < math.MaxInt64-c.lim.NowMs {
		c.walk.high = c.lim.NowMs + c.lim.TimestampAfterMs
	}
}

// one checks the batch at the start of b and returns its size.
func (c *check) one(b []byte, pos int) (int, error) {
	h, err := c.parse(b)
	if err != nil {
		return 0, err
	}
	if c.lim.MaxBatchBytes > 0 && h.Size() > int(c.lim.MaxBatchBytes) {
		return 0, ErrTooLarge
	}
	b = b[:h.Size()]
	if !CheckCRC(b) {
		return 0, ErrCRC
	}
	if err := c.header(&h); err != nil {
		return 0, err
	}
	if err := c.records(b, &h); err != nil {
		return 0, err
	}
	c.clearAppendTime(b, &h)
	if !h.IsLogAppendTime() && c.walk.maxTimestamp != h.MaxTimestamp && !h.IsControl() && h.Count > 0 {
		h.MaxTimestamp = c.walk.maxTimestamp
		patchMaxTimestamp(b, h.MaxTimestamp)
	}
	c.note(&h, pos)
	return len(b), nil
}

// appendTimeClaimed refuses every record of a batch that says of itself what only the broker can: when it was appended. On a topic whose
// timestamps are the client's the claim is dropped instead; Kafka makes the same difference.
func appendTimeClaimed(count int32) error {
	const msg = "the batch claims the time at which it was appended"
	e := &InvalidTimestampError{Msg: msg}
	for i := range min(count, maxRecordErrors) {
		e.Records = append(e.Records, RecordError{Index: i, Msg: msg})
	}
	return e
}

// clearAppendTime takes away a client's claim that its timestamps are the broker's: they are the records' own.
func (c *check) clearAppendTime(b []byte, h *Header) {
	if h.IsLogAppendTime() && !c.lim.AllowOffsets {
		h.Attributes &^= attrLogAppendTime
		b[posAttributes+1] &^= attrLogAppendTime
		SealCRC(b)
	}
}

// OneNewBatch reports what is wrong when a record set is not exactly one whole batch of format 2.
func OneNewBatch(records []byte) error {
	if len(records) == 0 {
		return notOneBatch("no record batch")
	}
	var c check
	h, err := c.parse(records)
	if err == nil && len(records) > h.Size() {
		err = notOneBatch("more than one record batch")
	}
	return err
}

// parse reads the header of a batch that is whole.
func (c *check) parse(b []byte) (Header, error) {
	if len(b) < PrefixSize {
		return Header{}, notOneBatch("the batch is cut off", ErrTruncated)
	}
	size, magic, err := EntrySize(b)
	switch {
	case err != nil:
		return Header{}, err
	case size > len(b):
		return Header{}, notOneBatch("the batch is cut off", ErrTruncated)
	case magic < 2:
		return Header{}, notOneBatch("the batch is of an older format", ErrMagic)
	}
	return ParseHeader(b)
}

// header checks the fields that need no record.
func (c *check) header(h *Header) error {
	if !c.lim.AllowOffsets && h.BaseOffset != 0 {
		return invalid(-1, "the base offset of a batch must be 0")
	}
	// Only compaction makes batches with fewer records than offsets, so a client's has as many.
	gaps := c.lim.AllowOffsets
	if h.Count < 0 || h.LastOffsetDelta < 0 || (!gaps && (h.Count == 0 || h.LastOffsetDelta != h.Count-1)) {
		return invalid(-1, "the count of records does not fit the offsets")
	}
	if h.IsControl() && !c.lim.AllowControl {
		return invalid(-1, "control records are written by coordinators only")
	}
	if h.ProducerID >= 0 && !h.IsControl() && h.BaseSequence < 0 {
		return invalid(-1, "a batch with a producer id needs a sequence number")
	}
	if h.ProducerID >= 0 && !h.IsControl() && h.ProducerEpoch < 0 {
		return ErrEpoch
	}
	if h.ProducerID < 0 && (h.IsTransactional() || h.IsControl()) {
		return invalid(-1, "a transactional batch needs a producer id")
	}
	if h.IsLogAppendTime() && c.lim.LogAppendTime && !c.lim.AllowOffsets {
		return appendTimeClaimed(h.Count)
	}
	if h.Codec() > Zstd || (h.Codec() == Zstd && c.lim.RefuseZstd) {
		return ErrCodec
	}
	return nil
}

// records walks the records of a batch whose header and CRC are right.
func (c *check) records(b []byte, h *Header) error {
	c.walk.begin(h, c.out.Count)
	if h.Codec() == None {
		return c.walk.run(b[HeaderSize:])
	}
	codecs := c.lim.Codecs
	if codecs == nil {
		codecs = NewCodecs()
	}
	most := c.lim.MaxDecompressed
	if most <= 0 {
		most = DefaultMaxDecompressed
	}
	s := codecs.get()
	defer codecs.put(s)
	plain, err := s.decompress(h.Codec(), b[HeaderSize:], most)
	if err != nil {
		return err
	}
	return c.walk.run(plain)
}

// note adds a right batch to the info.
func (c *check) note(h *Header, pos int) {
	out := c.out
	bi := BatchInfo{Header: *h, Pos: int32(pos), Bytes: int32(h.Size()), MaxTimestampDelta: c.walk.maxDelta}
	if h.IsLogAppendTime() {
		bi.MaxTimestampDelta = h.LastOffsetDelta
	}
	out.Batches = append(out.Batches, bi)
	if h.MaxTimestamp > out.MaxTimestamp {
		out.MaxTimestamp, out.MaxTimestampIndex = h.MaxTimestamp, out.Count+bi.MaxTimestampDelta
	}
	out.Count += h.Count
	out.Bytes += bi.Bytes
	out.HasProducer = out.HasProducer || h.ProducerID >= 0
}

// refused answers for records that were well formed but not wanted.
func (c *check) refused() error {
	if len(c.walk.badTimes) > 0 {
		all := append(c.walk.badTimes, c.walk.badKeys...)
		return &InvalidTimestampError{Index: all[0].Index, Msg: "records have timestamps that the topic does not take", Records: all}
	}
	if len(c.walk.badKeys) > 0 {
		return &InvalidRecordError{Index: c.walk.badKeys[0].Index, Msg: "records have no key, which a compacted topic needs", Records: c.walk.badKeys}
	}
	return nil
}
