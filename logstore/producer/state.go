package producer

// Window is how many batches of a producer are remembered, as many as a client may have in flight.
const Window = 5

// Batch is one remembered batch.
type Batch struct {
	FirstSeq, LastSeq int32
	LastOffset        int64
	OffsetDelta       int32 // LastOffset minus the batch's first offset
	Timestamp         int64
}

// FirstOffset is the offset that the batch was answered with.
func (b Batch) FirstOffset() int64 { return b.LastOffset - int64(b.OffsetDelta) }

// State is one producer as DescribeProducers shows it.
type State struct {
	ProducerID       int64
	Epoch            int16
	LastSequence     int32 // -1 when its last batch was a marker, or none is known
	LastTimestamp    int64
	CoordinatorEpoch int32
	TxnStart         int64 // first offset of its open transaction, -1 without one
}

// entry is what is known of one producer.
type entry struct {
	id          int64
	epoch       int16
	n           uint8 // batches remembered
	window      [Window]Batch
	coordEpoch  int32
	txnFirst    int64
	lastTime    int64 // of its last batch, as the batch says
	seenMs      int64 // wall time of its last append here, for the expiry
	pending     int32 // batches in the pending half
	pendEpoch   int16
	pendLastSeq int32
}

func (e *entry) lastSeq() int32 {
	if e.n == 0 {
		return -1
	}
	return e.window[e.n-1].LastSeq
}

// find returns the remembered batch with exactly these sequence numbers.
func (e *entry) find(first, last int32) (Batch, bool) {
	for i := int(e.n) - 1; i >= 0; i-- {
		if w := e.window[i]; w.FirstSeq == first && w.LastSeq == last {
			return w, true
		}
	}
	return Batch{}, false
}

func (e *entry) push(b Batch) {
	if e.n == Window {
		copy(e.window[:], e.window[1:])
		e.n--
	}
	e.window[e.n] = b
	e.n++
}

func (e *entry) state() State {
	return State{
		ProducerID: e.id, Epoch: e.epoch, LastSequence: e.lastSeq(), LastTimestamp: e.lastTime, CoordinatorEpoch: e.coordEpoch, TxnStart: e.txnFirst,
	}
}
