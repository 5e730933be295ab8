// DescribeLogDirs, versions 0 to 4.
//
//   - null means every partition; a list filters. Every directory is told, also one without a partition that was asked for.
//   - An offline directory carries KAFKA_STORAGE_ERROR and no partitions.
//   - Offset lag is how far a log's end lies behind its high watermark: never positive here but for -1 on errors.
//   - Total and usable bytes (from 4) are those of the directory's file system.

package api

import (
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
			rd.Topics = logDirTopics(byDir[d.Path])
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

func logDirTopics(logs []*logstore.Log) (topics []kmsg.DescribeLogDirsResponseDirTopic) {
	slices.SortFunc(logs, func(x, y *logstore.Log) int {
		a, b := x.TopicPartition(), y.TopicPartition()
		switch {
		case a.Topic < b.Topic:
			return -1
		case a.Topic > b.Topic:
			return 1
		}
		return int(a.Partition - b.Partition)
	})
	for _, l := range logs {
		tp := l.TopicPartition()
		if len(topics) == 0 || topics[len(topics)-1].Topic != tp.Topic {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = tp.Topic
			topics = append(topics, t)
		}
		p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.Partition, p.Size, p.OffsetLag = tp.Partition, l.SizeBytes(), max(0, l.HighWatermark()-l.End())
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return topics
}
