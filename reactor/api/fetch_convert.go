package api

import (
	"errors"
	"io"
	"slices"

	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// Bounds of one converted answer: what does not fit comes with the next fetch. The smaller one holds while the shard's sockets have more
// than convertedRoom waiting, so that readers that stand still cost little each.
const (
	convertedMost  = 4 << 20
	convertedLeast = 256 << 10
	convertedRoom  = 64 << 20
	// convertChunk is how much of a file is read at a time.
	convertChunk = 256 << 10
)

// noConversion is fetchPart.down of records that leave as they are.
const noConversion int8 = -1

// older works out what a consumer below version 10 may not see as it is. As in Kafka the topic's settings decide, not the records: those
// of a topic that keeps an old format are taken to be of it.
func (p *fetchPart) older(version int16, o *TopicOptions) wire.Code {
	switch {
	case o.Target.Codec == batch.Zstd:
		return wire.UnsupportedCompressionType
	case version <= 1 && o.Target.Magic > 0:
		p.down = 0
	case version <= 3 && o.Target.Magic > 1:
		p.down = 1
	}
	if p.down != noConversion && !o.DownConvert {
		return wire.UnsupportedVersion
	}
	return wire.None
}

// converts tells whether records must be converted before the request can be answered.
func (f *fetch) converts() bool {
	if f.version > 3 || f.converted {
		return false
	}
	for i := range f.parts {
		if p := &f.parts[i]; p.has && p.down != noConversion {
			return true
		}
	}
	return false
}

// convert has the pool convert what the request found. The request and its parts are the pool's until Deliver.
func (f *fetch) convert() {
	f.converting = true
	f.room = convertedMost
	if f.local.convertedHeld > convertedRoom {
		f.room = convertedLeast
	}
	f.room = min(f.room, int(max(f.req.MaxBytes, 1)), int(f.local.broker.Options().FetchMaxBytes))
	if f.made == nil {
		f.made = f.local.spares.take()
	}
	if err := f.local.broker.checks.Do(func() {
		f.convertParts()
		f.local.shard.Post((*convertedFetch)(f))
	}); err != nil { // the broker is stopping
		f.converting = false
		f.sess.conn.Close(err)
		f.answer()
		return
	}
	f.local.shard.WokeGoroutine()
}

// convertedFetch is a fetch on its way back from the pool.
type convertedFetch fetch

// Deliver implements reactor.Message on the connection's shard.
func (c *convertedFetch) Deliver(*reactor.Shard) {
	f := (*fetch)(c)
	f.converting = false
	f.local.set.Add(perf.FetchConvertedBytes, int64(len(f.made)))
	if len(f.made) == 0 && !f.expired && !f.sess.closed && !f.failed() && f.skipEmpty() {
		f.wait(int64(f.req.MinBytes)) // only markers, which this consumer does not know: it waits on, for records behind them
		return
	}
	f.converted = true
	f.local.held(int64(cap(f.made)))
	f.answer()
}

// skipEmpty moves the parts whose records all vanished in the conversion behind them.
func (f *fetch) skipEmpty() (moved bool) {
	for i := range f.parts {
		if p := &f.parts[i]; p.has && p.down != noConversion && p.next > p.offset {
			p.offset, moved = p.next, true
			p.span.Len = 0 // what was skipped does not count towards what the consumer waits for
		}
	}
	return moved
}

// held counts memory for converted records.
func (l *Local) held(n int64) {
	l.convertedHeld += n
	l.set.SetGauge(perf.FetchConvertedHeld, l.convertedHeld)
}

// dropConverted gives up the converted records of an answer that has gone.
func (f *fetch) dropConverted() {
	if f.converted {
		f.local.held(-int64(cap(f.made)))
		f.converted = false
	}
	f.local.spares.put(f.made)
	f.made = nil
}

// convertParts converts part after part until the answer is full, in the pool.
func (f *fetch) convertParts() {
	f.made = f.made[:0]
	c, _ := f.local.broker.converters.Get().(*converter)
	if c == nil {
		c = &converter{it: batch.Iterator{Codecs: f.local.broker.codecs}}
	}
	for i := range f.parts {
		p := &f.parts[i]
		if !p.has || p.down == noConversion {
			continue
		}
		p.from, p.to, p.next = len(f.made), len(f.made), p.offset
		if len(f.made) > 0 && len(f.made) >= f.room {
			continue
		}
		made, code := c.part(f.made, p, f.room)
		if len(made) == p.from && code != wire.None {
			p.res.Err = int16(code)
			p.res.HighWatermark, p.res.LastStable, p.res.LogStart = -1, -1, -1
		}
		if most := p.from + int(max(p.max, 0)); f.version <= 2 && len(made) > most {
			made = made[:most] // these versions take the bound at its word, and a message that is cut off for the sign of one that is too large
		}
		f.made, p.to = made, len(made)
	}
	f.local.broker.converters.Put(c)
}

// converter is the memory of one conversion.
type converter struct {
	it  batch.Iterator
	raw []byte
}

// part appends the records of a part, as far as there is room but one batch at least. The code counts when nothing was appended.
func (c *converter) part(made []byte, p *fetchPart, room int) ([]byte, wire.Code) {
	begin := len(made)
	pos, end := p.span.Pos, p.span.Pos+p.span.Len
	// The old form is a little larger; small records, of which it is much larger, cost a second growth.
	made = slices.Grow(made, int(min(p.span.Len, int64(room)))*17/16)
	for pos < end && (len(made) == begin || len(made) < room) {
		b, err := c.read(&p.span, pos, end)
		if err != nil {
			return made, convertCode(err)
		}
		var n int
		made, n, p.next, err = c.chunk(made, b, p, room)
		if pos += int64(n); err != nil {
			return made, convertCode(err)
		}
	}
	return made, wire.None
}

// chunk converts the whole batches of b until there is no more room, and tells how many bytes of b that were and the offset behind them.
func (c *converter) chunk(made, b []byte, p *fetchPart, room int) ([]byte, int, int64, error) {
	begin, done, next := p.from, 0, p.next
	for len(b)-done >= batch.PrefixSize && (len(made) == begin || len(made) < room) {
		e, err := batch.ParseEntry(b[done:])
		if err != nil {
			return made, done, next, err
		}
		if e.Size > len(b)-done {
			break
		}
		if made, err = c.it.DownConvert(made, b[done:done+e.Size], p.down, p.offset); err != nil {
			return made, done, next, err
		}
		done, next = done+e.Size, e.Last+1
	}
	return made, done, next, nil
}

// read brings whole batches from pos on into memory: one at least, however large.
func (c *converter) read(s *logstore.Span, pos, end int64) ([]byte, error) {
	want := min(int64(convertChunk), end-pos)
	if pos == s.Pos {
		want = min(max(want, s.FirstLen), end-pos)
	}
	for {
		if int64(cap(c.raw)) < want {
			c.raw = make([]byte, want)
		}
		b := c.raw[:want]
		if n, err := s.File.ReadAt(b, pos); n < len(b) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if len(b) < batch.PrefixSize {
			return nil, batch.ErrTruncated
		}
		size, _, err := batch.EntrySize(b)
		if err != nil || size <= len(b) {
			return b, err
		}
		if int64(size) > end-pos {
			return nil, batch.ErrTruncated
		}
		want = int64(size)
	}
}

// oldErrors puts codes in place that consumers of these versions know.
func (f *fetch) oldErrors() {
	for i := range f.parts {
		f.parts[i].res.Err = oldStorageError(f.parts[i].res.Err, false)
	}
}

// convertCode is what a partition's answer says when its records cannot be converted.
func convertCode(err error) wire.Code {
	switch {
	case errors.Is(err, batch.ErrCodec), errors.Is(err, batch.ErrNeedsNewFormat):
		return wire.UnsupportedCompressionType
	case codeOf(err) != wire.UnknownServerError:
		return codeOf(err)
	}
	return wire.KafkaStorageError
}
