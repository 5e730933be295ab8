// FindCoordinator, versions 0 to 6.
//
//   - The coordinator of a group is the leader of its partition of __consumer_offsets. While that topic is not there it is
//     created and the answer is COORDINATOR_NOT_AVAILABLE: clients ask again.
//   - Transactions have no coordinator yet: what Kafka answers before its topic is there.
//   - From version 4 on several keys, each with an error of its own. Share coordinators (6) are refused as Kafka 3.9.1 does,
//     before that version as an invalid request.
//   - A key type that does not exist is INVALID_REQUEST.

package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/reactor/coord"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// Kinds of keys that FindCoordinator knows.
const (
	coordinatorGroup = 0
	coordinatorTxn   = 1
	coordinatorShare = 2
)

// Sentences for the codes of this answer. noError stands where some answers carry a message beside success.
const (
	noError                 = "NONE"
	coordinatorNotAvailable = "no coordinator is ready; ask again"
	coordinatorBadRequest   = "this broker has no coordinator for keys of that type"
)

func (b *Broker) findCoordinator(r *Request) {
	req := r.Msg.(*kmsg.FindCoordinatorRequest)
	resp := kmsg.NewPtrFindCoordinatorResponse()
	if r.Version < 4 {
		c := b.coordinatorFor(r.Version, req.CoordinatorType, req.CoordinatorKey)
		resp.ErrorCode, resp.NodeID, resp.Host, resp.Port = c.ErrorCode, c.NodeID, c.Host, c.Port
		message := coordinatorMessage(wire.Code(c.ErrorCode))
		resp.ErrorMessage = &message
		r.Reply(resp)
		return
	}
	for _, key := range req.CoordinatorKeys {
		c := b.coordinatorFor(r.Version, req.CoordinatorType, key)
		message := ""
		if req.CoordinatorType < coordinatorGroup || req.CoordinatorType > coordinatorShare {
			message = coordinatorMessage(wire.Code(c.ErrorCode))
		}
		c.Key, c.ErrorMessage = key, &message
		resp.Coordinators = append(resp.Coordinators, c)
	}
	r.Reply(resp)
}

func coordinatorMessage(code wire.Code) string {
	switch code {
	case wire.None:
		return noError
	case wire.CoordinatorNotAvailable:
		return coordinatorNotAvailable
	default:
		return coordinatorBadRequest
	}
}

func (b *Broker) coordinatorFor(version int16, kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.NodeID, c.Port = -1, -1
	switch {
	case kind == coordinatorTxn, kind == coordinatorShare && version >= 6:
		c.ErrorCode = int16(wire.CoordinatorNotAvailable)
		return c
	case kind != coordinatorGroup:
		c.ErrorCode = int16(wire.InvalidRequest)
		return c
	}
	c.ErrorCode = int16(wire.CoordinatorNotAvailable)
	route := b.route.Load()
	t := route.topics[offsetsTopic]
	if t == nil {
		b.makeOffsetsTopic()
		return c
	}
	p := t.topic.Partitions[coord.PartitionFor(key, int32(len(t.topic.Partitions)))]
	if t.leaderless(route.Image, p, b.Options().BrokerID) {
		return c
	}
	if e := b.endpoint(route.Image.Brokers[p.Leader]); e != nil {
		c.ErrorCode, c.NodeID, c.Host, c.Port = int16(wire.None), p.Leader, e.Host, e.Port
	}
	return c
}

// makeOffsetsTopic creates __consumer_offsets off the shards, once at a time.
func (b *Broker) makeOffsetsTopic() {
	if !b.makingOffsets.CompareAndSwap(false, true) {
		return
	}
	err := b.pool.Do(func() {
		defer b.makingOffsets.Store(false)
		_, err := b.cluster.CreateTopic(context.Background(), b.autoTopic(offsetsTopic))
		if err != nil && !errors.Is(err, run.ErrTopicExists) {
			b.log.Warn("the topic of committed offsets could not be created", "tp", offsetsTopic, "err", err.Error())
		}
	})
	if err != nil {
		b.makingOffsets.Store(false) // the broker is stopping
	}
}
