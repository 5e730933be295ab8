package api

import (
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// adapts tells whether the records need more than a look before the log takes them: they may be of an old format, or the topic keeps
// another form than clients of today send.
func (part *producePart) adapts() bool {
	return part.req.version < 3 || part.topic.options.Target != (batch.Target{Magic: 2, Codec: batch.KeepCodec})
}

// adapt checks the records and brings them into the topic's form, in the pool or on the connection's shard.
func (part *producePart) adapt(records []byte, lim batch.Limits) {
	if part.req.version >= 3 {
		// Clients of these versions know one format only, and answers to them are as exact as if nothing were converted.
		lim.RefuseZstd = part.req.version < 7
		if err := batch.OneNewBatch(records); err != nil {
			part.info.Reset()
			part.fail(err)
			return
		}
	}
	b, err := batch.Adapt(part.adapted[:0], records, part.topic.options.Target, lim, &part.info)
	if err != nil {
		part.info.Reset()
		part.fail(err)
		return
	}
	part.append.Bytes = b
	if len(b) > 0 && &b[0] != &records[0] {
		part.adapted = b
		part.converted = int64(len(b))
	}
}

// countAdapted counts what was converted, on the connection's shard, and gives the memory back.
func (part *producePart) countAdapted(l *Local) {
	if part.converted > 0 {
		l.set.Add(perf.ProduceConvertedBytes, part.converted)
		part.converted = 0
	}
	l.spares.put(part.adapted)
	part.adapted = nil
}

// oldStorageError is the code for a log that cannot be reached in an answer to a client too old to know KAFKA_STORAGE_ERROR: it would give
// up, where a change of leader makes it ask again.
func oldStorageError(code int16, known bool) int16 {
	if code == int16(wire.KafkaStorageError) && !known {
		return int16(wire.NotLeaderOrFollower)
	}
	return code
}
