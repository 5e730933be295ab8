package wire

// First flexible versions of the two hand-made APIs, and the first that names topics by id.
const (
	produceFlexible = 9
	produceTopicIDs = 13
	fetchFlexible   = 12
	fetchTopicIDs   = 13
)

// ProduceRequest is a decoded Produce request, versions 3 to 13. Names and records are views
// into the frame; the slices are reused by the next Parse.
type ProduceRequest struct {
	TransactionalID []byte
	Acks            int16
	TimeoutMs       int32
	Topics          []ProduceTopic
	Parts           []ProducePart
}

// ProduceTopic is one topic of a request: Parts[First:First+Count] are its partitions.
type ProduceTopic struct {
	Name  []byte
	ID    [16]byte
	First int
	Count int
}

// ProducePart is one partition's records.
type ProducePart struct {
	Topic   int
	Index   int32
	Records []byte
}

// Parse reads the body of a Produce request. Errors: ErrTruncated and the Reader's other faults.
func (p *ProduceRequest) Parse(r *Reader, version int16) error {
	flex := version >= produceFlexible
	p.Topics, p.Parts, p.TransactionalID = p.Topics[:0], p.Parts[:0], nil
	if version >= 3 {
		p.TransactionalID = r.String(flex)
	}
	p.Acks, p.TimeoutMs = r.Int16(), r.Int32()
	for range r.Array(flex, 2) {
		p.parseTopic(r, version, flex)
		if r.err != nil {
			return r.err
		}
	}
	r.Tags(flex, nil)
	return r.err
}

func (p *ProduceRequest) parseTopic(r *Reader, version int16, flex bool) {
	t := ProduceTopic{First: len(p.Parts)}
	if version >= produceTopicIDs {
		t.ID = r.UUID()
	} else {
		t.Name = r.String(flex)
	}
	t.Count = r.Array(flex, 5)
	for range t.Count {
		part := ProducePart{Topic: len(p.Topics), Index: r.Int32(), Records: r.Bytes(flex)}
		r.Tags(flex, nil)
		if r.err != nil {
			return
		}
		p.Parts = append(p.Parts, part)
	}
	r.Tags(flex, nil)
	p.Topics = append(p.Topics, t)
}

// ProduceResult is the answer for one partition.
type ProduceResult struct {
	Index           int32
	Err             int16
	BaseOffset      int64
	LogAppendTimeMs int64
	LogStart        int64
	// BadRecords is how many refused records the answer names (from version 8 on).
	BadRecords int
	// Message says why; "" is null on the wire.
	Message string
}

// ProduceHead appends the response header and the topic count behind four bytes for the size.
func ProduceHead(w *Writer, version int16, corr int32, topics int) {
	w.Int32(0)
	w.Int32(corr)
	flex := version >= produceFlexible
	w.Tags(flex)
	w.Array(flex, topics)
}

// ProduceTopicHead appends a topic and the count of its partitions.
func ProduceTopicHead(w *Writer, version int16, name []byte, id [16]byte, parts int) {
	flex := version >= produceFlexible
	if version >= produceTopicIDs {
		w.UUID(id)
	} else {
		w.String(flex, name)
	}
	w.Array(flex, parts)
}

// ProducePartition appends one partition's answer up to the count of its refused records; ProduceBadRecord follows for each of
// them, then ProducePartitionTail.
func ProducePartition(w *Writer, version int16, p *ProduceResult) {
	flex := version >= produceFlexible
	w.Int32(p.Index)
	w.Int16(p.Err)
	w.Int64(p.BaseOffset)
	if version >= 2 {
		w.Int64(p.LogAppendTimeMs)
	}
	if version >= 5 {
		w.Int64(p.LogStart)
	}
	if version >= 8 {
		w.Array(flex, p.BadRecords)
	}
}

// ProduceBadRecord appends one refused record: its place in the batch and why; nothing below version 8.
func ProduceBadRecord(w *Writer, version int16, index int32, message string) {
	if version < 8 {
		return
	}
	flex := version >= produceFlexible
	w.Int32(index)
	w.NullableString(flex, message)
	w.Tags(flex)
}

// ProducePartitionTail ends one partition's answer.
func ProducePartitionTail(w *Writer, version int16, p *ProduceResult) {
	flex := version >= produceFlexible
	if version >= 8 {
		w.NullableString(flex, p.Message)
	}
	w.Tags(flex)
}

// ProduceTopicTail ends a topic.
func ProduceTopicTail(w *Writer, version int16) { w.Tags(version >= produceFlexible) }

// ProduceTail ends the response and fills in the size at start.
func ProduceTail(w *Writer, version int16, throttleMs int32, start int) {
	if version >= 1 {
		w.Int32(throttleMs)
	}
	w.Tags(version >= produceFlexible)
	PatchSize(w.B[start:], len(w.B)-start-4)
}

// PatchSize writes the four size bytes at the start of a frame.
func PatchSize(frame []byte, size int) {
	frame[0], frame[1], frame[2], frame[3] = byte(size>>24), byte(size>>16), byte(size>>8), byte(size)
}
