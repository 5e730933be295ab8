// ListOffsets, versions 0 to 11.
//
//   - Version 0 answers a list: the offsets at which segments begin that were last written at the time asked for or before, newest first,
//     at most as many as asked for. -1 begins with the end of the log, -2 is the first offset alone.
//   - -1 latest (last stable offset for read_committed), -2 earliest, -3 offset of the largest timestamp (from 7),
//     -4 earliest local (from 8) = -2, -5 latest tiered (from 9) and -6 earliest to be tiered (from 11) = -1/-1 without tiered storage.
//   - Below the version that brought it, and when it never came, a negative value is UNSUPPORTED_VERSION for that partition (C-1).
//   - A time after the last record: offset -1 and timestamp -1, no error (C-2).
//   - The first record in log order whose timestamp is at least the asked one, found inside its batch (C-4).
//   - An isolation level that nobody knows is UNKNOWN_SERVER_ERROR for every partition.
//   - The same partition twice in one request is INVALID_REQUEST for both.

package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// Special timestamps of ListOffsets.
const (
	latestTimestamp        = -1
	earliestTimestamp      = -2
	maxTimestamp           = -3
	earliestLocalTimestamp = -4
	latestTieredTimestamp  = -5
	pendingUploadTimestamp = -6
)

func (b *Broker) listOffsets(r *Request) {
	req := r.Msg.(*kmsg.ListOffsetsRequest)
	resp := kmsg.NewPtrListOffsetsResponse()
	twice := listOffsetsTwice(req)
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for j := range t.Partitions {
			p := kmsg.NewListOffsetsResponseTopicPartition()
			p.Partition, p.Offset, p.Timestamp, p.LeaderEpoch = t.Partitions[j].Partition, -1, -1, -1
			switch {
			case req.ReplicaID == -1 && unknownIsolation(req.IsolationLevel):
				p.ErrorCode = int16(wire.UnknownServerError) // Kafka knows no better
			case r.Version > 0 && twice[fmt.Sprintf("%s-%d", t.Topic, p.Partition)] > 1:
				p.ErrorCode = int16(wire.InvalidRequest)
			default:
				b.listOffset(r.Version, req, t.Topic, &t.Partitions[j], &p)
			}
			rt.Partitions = append(rt.Partitions, p)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	r.Reply(resp)
}

func listOffsetsTwice(req *kmsg.ListOffsetsRequest) map[string]int {
	seen := map[string]int{}
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			seen[fmt.Sprintf("%s-%d", req.Topics[i].Topic, req.Topics[i].Partitions[j].Partition)]++
		}
	}
	return seen
}

// listOffset answers one partition; it waits for the owner's shard, and for the disk when the answer is not cached.
func (b *Broker) listOffset(version int16, req *kmsg.ListOffsetsRequest, topic string, q *kmsg.ListOffsetsRequestTopicPartition, p *kmsg.ListOffsetsResponseTopicPartition) {
	done := make(chan struct{})
	found := *p // the owner's until it is done
	find := &offsetSearch{version: version, committed: req.IsolationLevel == 1, consumer: req.ReplicaID == -1, query: q, answer: &found, done: done}
	b.On(topic, q.Partition, func(h *Hosted, err error) {
		if err != nil {
			found.ErrorCode = int16(b.missing(topic, q.Partition))
			close(done)
			return
		}
		find.host = h
		find.step()
	})
	select {
	case <-done:
		*p = found
	case <-b.stopped: // its shard will not answer any more
		p.ErrorCode = int16(wire.NotLeaderOrFollower)
	}
}

// missing is the code for a partition that is not open here.
func (b *Broker) missing(topic string, partition int32) wire.Code {
	t := b.route.Load().topics[topic]
	if t == nil {
		return wire.UnknownTopicOrPartition
	}
	return t.missing(partition, b.Options().BrokerID)
}

// offsetSearch is one lookup on the owner's shard, resumed when the disk has brought what it needs.
type offsetSearch struct {
	version   int16
	committed bool
	consumer  bool // not a replica
	host      *Hosted
	query     *kmsg.ListOffsetsRequestTopicPartition
	answer    *kmsg.ListOffsetsResponseTopicPartition
	done      chan struct{}
	op        disk.Op
	peek      logstore.Peek
}

func (s *offsetSearch) step() {
	h := s.host
	if s.version == 0 {
		s.old(h)
		close(s.done)
		return
	}
	if code := h.fence(s.query.CurrentLeaderEpoch); code != wire.None {
		s.answer.ErrorCode = int16(code)
		close(s.done)
		return
	}
	need, err := s.find(h.Log)
	switch {
	case err != nil:
		s.answer.ErrorCode = int16(codeOf(err))
	case s.peek.Waiting():
		if s.decompress(localOf(h.shard)) {
			return
		}
		s.answer.ErrorCode = int16(wire.NotLeaderOrFollower)
	case need.Len > 0:
		s.op = disk.Op{Kind: disk.ReadAhead, File: need.File, Off: need.Pos, ReadLen: need.Len, Owner: s}
		h.shard.Disk.Submit(&s.op)
		return
	}
	close(s.done)
}

// decompress looks at a compressed batch in the pool, then the search goes on; false: the broker is stopping.
func (s *offsetSearch) decompress(l *Local) bool {
	err := l.broker.checks.Do(func() {
		s.peek.Search(&batch.Iterator{})
		s.host.shard.Post(s)
	})
	l.shard.WokeGoroutine()
	return err == nil
}

// Deliver implements reactor.Message.
func (s *offsetSearch) Deliver(*reactor.Shard) {
	if s.host.gone {
		s.answer.ErrorCode = int16(wire.UnknownTopicOrPartition)
		close(s.done)
		return
	}
	s.step()
}

// diskDone implements diskOwner.
func (s *offsetSearch) diskDone(*Local) {
	if s.op.Err != nil {
		s.answer.ErrorCode = int16(wire.KafkaStorageError)
		close(s.done)
		return
	}
	s.step()
}

// diskOwner takes the completion of an operation that it submitted.
type diskOwner interface{ diskDone(l *Local) }

// readable is the offset below which this request may see records.
func (s *offsetSearch) readable(l *logstore.Log) int64 {
	if s.committed {
		return min(l.HighWatermark(), l.LastStable())
	}
	return l.HighWatermark()
}

func (s *offsetSearch) find(l *logstore.Log) (need logstore.Need, err error) {
	a := s.answer
	switch at := s.query.Timestamp; {
	case at == latestTimestamp:
		a.Offset, a.LeaderEpoch = s.readable(l), l.LatestEpoch()
	case at == earliestTimestamp, at == earliestLocalTimestamp && s.version >= 8:
		a.Offset, a.LeaderEpoch = l.Start(), l.EpochFor(l.Start())
	case at == maxTimestamp && s.version >= 7:
		a.Offset, a.Timestamp, a.LeaderEpoch, need, err = l.MaxTimestampBy(&s.peek)
	case at == latestTieredTimestamp && s.version >= 9, at == pendingUploadTimestamp && s.version >= 11:
		// no tiered storage: nothing is found
	case at < 0:
		a.ErrorCode = int16(wire.UnsupportedVersion)
	default:
		a.Offset, a.Timestamp, a.LeaderEpoch, need, err = l.LookupTimeBy(&s.peek, at)
	}
	if need.File == nil && err == nil && a.Timestamp >= 0 && a.Offset >= s.readable(l) {
		a.Offset, a.Timestamp, a.LeaderEpoch = -1, -1, -1
	}
	return need, err
}

// old answers version 0.
func (s *offsetSearch) old(h *Hosted) {
	if code := h.fence(-1); code != wire.None {
		s.answer.ErrorCode = int16(code)
		return
	}
	if s.query.Timestamp < earliestTimestamp {
		s.answer.ErrorCode = int16(wire.UnsupportedVersion)
		return
	}
	if s.query.MaxNumOffsets < 0 {
		s.answer.ErrorCode = int16(wire.UnknownServerError) // Kafka's answer
		return
	}
	offsets, err := h.Log.SegmentStarts(s.query.Timestamp)
	if err != nil {
		s.answer.ErrorCode = int16(codeOf(err))
		return
	}
	most, behind := h.Log.HighWatermark(), false
	for _, o := range offsets[:min(len(offsets), int(s.query.MaxNumOffsets))] {
		if o > most && s.consumer {
			behind = true
			continue
		}
		if behind {
			s.answer.OldStyleOffsets = append(s.answer.OldStyleOffsets, most)
			behind = false
		}
		s.answer.OldStyleOffsets = append(s.answer.OldStyleOffsets, o)
	}
	if behind {
		s.answer.OldStyleOffsets = append(s.answer.OldStyleOffsets, most)
	}
}

// fence compares the epoch that a client knows with the partition's, on the owner's shard.
func (h *Hosted) fence(epoch int32) wire.Code {
	if h.gone {
		return wire.UnknownTopicOrPartition
	}
	if h.Log.DirFailed() {
		return wire.KafkaStorageError // whoever leads by now
	}
	return codeOf(h.role.Fence(epoch))
}
