// AlterReplicaLogDirs, versions 0 to 2: where partitions of this broker are to lie.
//
//   - It answers at once; a partition that lies elsewhere is then copied in the background, and DescribeLogDirs shows how far that is.
//   - The directory where a partition is ends its move; another one while it moves begins anew.
//   - A partition of another broker is REPLICA_NOT_AVAILABLE, one that is not there UNKNOWN_TOPIC_OR_PARTITION; it is made in that directory when it
//     comes.
//   - A directory that is none of this broker's is LOG_DIR_NOT_FOUND. One that is offline, an offline partition, and any new move while some
//     directory is offline are KAFKA_STORAGE_ERROR.
//   - The same partition twice: the last entry counts, and it is answered once.

package api

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/reactor/wire"
)

func (b *Broker) alterReplicaLogDirs(r *Request) {
	req := r.Msg.(*kmsg.AlterReplicaLogDirsRequest)
	resp := kmsg.NewPtrAlterReplicaLogDirsResponse()
	wanted := map[logstore.TopicPartition]string{}
	var order []logstore.TopicPartition
	for i := range req.Dirs {
		for j := range req.Dirs[i].Topics {
			t := &req.Dirs[i].Topics[j]
			for _, p := range t.Partitions {
				tp := logstore.TopicPartition{Topic: t.Topic, Partition: p}
				if _, ok := wanted[tp]; !ok {
					order = append(order, tp)
				}
				wanted[tp] = req.Dirs[i].Dir
			}
		}
	}
	place := map[string]int{}
	for _, tp := range order {
		at, ok := place[tp.Topic]
		if !ok {
			at = len(resp.Topics)
			place[tp.Topic] = at
			t := kmsg.NewAlterReplicaLogDirsResponseTopic()
			t.Topic = tp.Topic
			resp.Topics = append(resp.Topics, t)
		}
		p := kmsg.NewAlterReplicaLogDirsResponseTopicPartition()
		p.Partition, p.ErrorCode = tp.Partition, int16(b.moveReplica(tp, wanted[tp]))
		resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, p)
	}
	r.Reply(resp)
}

// moveReplica has one partition go to a directory.
func (b *Broker) moveReplica(tp logstore.TopicPartition, dir string) wire.Code {
	b.planning.Lock()
	defer b.planning.Unlock()
	mv, changed, err := b.logs.PlanMove(tp, dir)
	if changed {
		// Without its host the partition is being deleted, and the move with it.
		_ = b.Wait(tp.Topic, tp.Partition, func(h *Hosted) { h.Log.Redirect(mv) })
	}
	if errors.Is(err, logstore.ErrNotFound) {
		p := b.Image().Partition(tp.Topic, tp.Partition)
		switch {
		case p == nil:
			return wire.UnknownTopicOrPartition
		case p.Hosts(b.Options().BrokerID) && b.logs.Missing(tp) != nil:
			return wire.KafkaStorageError
		}
	}
	return codeOf(err)
}
