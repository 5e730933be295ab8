// InitProducerId, versions 0 to 5, for idempotent producers.
//
//   - Ids come from blocks of 1000 that the broker reserves in /latest_producer_id_block; the epoch starts at 0.
//   - From version 3 a producer may bring its id and epoch: without a transactional id it gets a new id all the same. One without
//     the other is INVALID_REQUEST.
//   - A transactional id is COORDINATOR_NOT_AVAILABLE until transactions are served; an empty one is INVALID_REQUEST.

package api

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/reactor/wire"
)

// producerIDs hands out ids of the block that was reserved last.
type producerIDs struct {
	mu   sync.Mutex
	next int64
	left int32
}

// take returns an id, reserving a new block when the last one is used up.
func (p *producerIDs) take(reserve func(context.Context) (int64, int32, error)) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		start, n, err := reserve(context.Background())
		if err != nil {
			return -1, err
		}
		p.next, p.left = start, n
	}
	id := p.next
	p.next++
	p.left--
	return id, nil
}

func (b *Broker) initProducerID(r *Request) {
	req := r.Msg.(*kmsg.InitProducerIDRequest)
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if req.TransactionalID != nil {
		resp.ErrorCode = int16(wire.CoordinatorNotAvailable)
		if *req.TransactionalID == "" {
			resp.ErrorCode = int16(wire.InvalidRequest)
		}
		r.Reply(resp)
		return
	}
	if (req.ProducerID == -1) != (req.ProducerEpoch == -1) {
		resp.ErrorCode = int16(wire.InvalidRequest)
		r.Reply(resp)
		return
	}
	id, err := b.producerIDs.take(b.cluster.AllocateProducerIDs)
	if err != nil {
		b.log.Warn("no producer id could be reserved", "err", err.Error())
		resp.ErrorCode = int16(wire.CoordinatorLoadInProgress) // clients retry it, and Kafka answers the same
	} else {
		resp.ProducerID, resp.ProducerEpoch = id, 0
	}
	r.Reply(resp)
}
