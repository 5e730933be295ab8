package producer

// State is one producer as DescribeProducers shows it.
type State struct {
	ProducerID       int64
	Epoch            int16
	LastSequence     int32
	LastTimestamp    int64
	CoordinatorEpoch int32
	TxnStart         int64 // first offset of its open transaction, -1 without one
}
