// DescribeLogDirs, versions 0 to 4.
//
//   - null means every partition; a list filters. Every directory is told, also one without a partition that was asked for.
//   - An offline directory carries KAFKA_STORAGE_ERROR and no partitions.
//   - Offset lag is how far a log's end lies behind its high watermark: never positive here but for -1 on errors. A partition that moves is told
//     of twice: in the directory that it goes to as a future one, whose lag is what is yet to be copied.
//   - Total and usable bytes (from 4) are those of the directory's file system.

package api

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/reactor/wire"
)

func (b *Broker) describeLogDirs(r *Request) {
	req := r.Msg.(*kmsg.DescribeLogDirsRequest)
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	byDir := b.logsByDir(req)
	for _, d := range b.logs.Dirs() {
		rd := kmsg.NewDescribeLogDirsResponseDir()
		rd.Dir, rd.TotalBytes, rd.UsableBytes = d.Path, d.Total, d.Free
		if d.Offline != nil {
			rd.ErrorCode, rd.TotalBytes, rd.UsableBytes = int16(wire.KafkaStorageError), -1, -1
		} else {
			rd.Topics = logDirTopics(byDir[d.Path], b.futuresIn(d.Path, req))
		}
		resp.Dirs = append(resp.Dirs, rd)
	}
	r.Reply(resp)
}

// logsByDir finds the logs that a request asks for, by their directory.
func (b *Broker) logsByDir(req *kmsg.DescribeLogDirsRequest) map[string][]*logstore.Log {
	wanted := map[logstore.TopicPartition]bool{}
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			wanted[logstore.TopicPartition{Topic: req.Topics[i].Topic, Partition: p}] = true
		}
	}
	byDir := map[string][]*logstore.Log{}
	for _, t := range b.route.Load().topics {
		for _, h := range t.hosts {
			if h != nil && (req.Topics == nil || wanted[h.Log.TopicPartition()]) {
				byDir[h.Log.Dir()] = append(byDir[h.Log.Dir()], h.Log)
			}
		}
	}
	return byDir
}

// futuresIn are the moves into a directory that a request asks about.
func (b *Broker) futuresIn(dir string, req *kmsg.DescribeLogDirsRequest) (moves []logstore.MoveInfo) {
	for _, mv := range b.logs.Moves() {
		wanted := req.Topics == nil
		for i := range req.Topics {
			wanted = wanted || req.Topics[i].Topic == mv.TopicPartition.Topic && slices.Contains(req.Topics[i].Partitions, mv.TopicPartition.Partition)
		}
		if wanted && mv.Dir == dir {
			moves = append(moves, mv)
		}
	}
	return moves
}

// logDirTopics tells of the logs in one directory and of those on their way into it.
func logDirTopics(logs []*logstore.Log, moves []logstore.MoveInfo) (topics []kmsg.DescribeLogDirsResponseDirTopic) {
	type entry struct {
		tp        logstore.TopicPartition
		size, lag int64
		future    bool
	}
	var all []entry
	for _, l := range logs {
		all = append(all, entry{l.TopicPartition(), l.SizeBytes(), max(0, l.HighWatermark()-l.End()), false})
	}
	for _, mv := range moves {
		all = append(all, entry{mv.TopicPartition, mv.Size, mv.Lag, true})
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.tp.Topic, b.tp.Topic), cmp.Compare(a.tp.Partition, b.tp.Partition))
	})
	for _, e := range all {
		if len(topics) == 0 || topics[len(topics)-1].Topic != e.tp.Topic {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = e.tp.Topic
			topics = append(topics, t)
		}
		p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.Partition, p.Size, p.OffsetLag, p.IsFuture = e.tp.Partition, e.size, e.lag, e.future
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return topics
}
