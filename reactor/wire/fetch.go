package wire

// Aborted is a transaction whose records a read_committed reader must drop.
type Aborted struct {
	ProducerID  int64
	FirstOffset int64
}

// FetchResult is the answer for one partition. The records themselves are not here: they go
// between FetchPartitionHead and FetchPartitionTail as a file span.
type FetchResult struct {
	Index         int32
	Err           int16
	HighWatermark int64
	LastStable    int64
	LogStart      int64
	// Aborted is written as null unless HasAborted.
	Aborted    []Aborted
	HasAborted bool
	// DivergingEpoch and DivergingEnd are -1 unless a follower's log has left the leader's.
	DivergingEpoch int32
	DivergingEnd   int64
	// LeaderID and LeaderEpoch tell a client that came to the wrong broker; -1 otherwise.
	LeaderID    int32
	LeaderEpoch int32
	Records     int64 // bytes
}

// FetchHead appends the response header and the topic count behind four bytes for the size.
func FetchHead(w *Writer, version int16, corr, throttleMs int32, code int16, session int32, topics int) {
	flex := version >= fetchFlexible
	w.Int32(0)
	w.Int32(corr)
	w.Tags(flex)
	if version >= 1 {
		w.Int32(throttleMs)
	}
	if version >= 7 {
		w.Int16(code)
		w.Int32(session)
	}
	w.Array(flex, topics)
}

// FetchTopicHead appends a topic and the count of its partitions.
func FetchTopicHead(w *Writer, version int16, name string, id [16]byte, parts int) {
	flex := version >= fetchFlexible
	switch {
	case version >= fetchTopicIDs:
		w.UUID(id)
	case flex:
		w.Uvarint(uint32(len(name) + 1))
		w.B = append(w.B, name...)
	default:
		w.Int16(int16(len(name)))
		w.B = append(w.B, name...)
	}
	w.Array(flex, parts)
}

// FetchPartitionHead appends everything of a partition that stands before its records, their length included.
func FetchPartitionHead(w *Writer, version int16, p *FetchResult) {
	flex := version >= fetchFlexible
	w.Int32(p.Index)
	w.Int16(p.Err)
	w.Int64(p.HighWatermark)
	if version >= 4 {
		w.Int64(p.LastStable)
	}
	if version >= 5 {
		w.Int64(p.LogStart)
	}
	if version >= 4 {
		fetchAborted(w, flex, p)
	}
	if version >= 11 {
		w.Int32(-1) // preferred read replica
	}
	if flex {
		w.Uvarint(uint32(p.Records + 1))
	} else {
		w.Int32(int32(p.Records))
	}
}

func fetchAborted(w *Writer, flex bool, p *FetchResult) {
	if !p.HasAborted {
		w.NullArray(flex)
		return
	}
	w.Array(flex, len(p.Aborted))
	for i := range p.Aborted {
		w.Int64(p.Aborted[i].ProducerID)
		w.Int64(p.Aborted[i].FirstOffset)
		w.Tags(flex)
	}
}

// FetchPartitionTail appends what stands behind a partition's records.
func FetchPartitionTail(w *Writer, version int16, p *FetchResult) {
	if version < fetchFlexible {
		return
	}
	diverging := p.DivergingEpoch != -1 || p.DivergingEnd != -1
	leader := p.LeaderID != -1 || p.LeaderEpoch != -1
	n := uint32(0)
	if diverging {
		n++
	}
	if leader {
		n++
	}
	w.Uvarint(n)
	if diverging {
		w.B = append(w.B, 0, 13)
		w.Int32(p.DivergingEpoch)
		w.Int64(p.DivergingEnd)
		w.B = append(w.B, 0)
	}
	if leader {
		w.B = append(w.B, 1, 9)
		w.Int32(p.LeaderID)
		w.Int32(p.LeaderEpoch)
		w.B = append(w.B, 0)
	}
}

// FetchTopicTail ends a topic.
func FetchTopicTail(w *Writer, version int16) { w.Tags(version >= fetchFlexible) }

// FetchTail ends the response. The size, records included, is patched by the caller, who knows the spans.
func FetchTail(w *Writer, version int16) { w.Tags(version >= fetchFlexible) }

// FetchFrameOverhead is an upper bound for the bytes of one partition in a response besides its
// records and aborted transactions, used to bound an answer before it is built.
const FetchFrameOverhead = 96
