package api

import (
	"errors"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/logstore"
)

// Lost lists, by topic and in order, the partitions of the last image that are placed here and cannot be served: their log directory has
// failed, or their log cannot be opened. One whose log is still being recovered is not lost. Any thread.
func (b *Broker) Lost() map[string][]int32 {
	route, id, out := b.route.Load(), b.Options().BrokerID, map[string][]int32{}
	for _, t := range route.Image.Topics {
		tr := route.topics[t.Name]
		for _, p := range t.Partitions {
			if p.Hosts(id) && b.lost(tr, t, p) {
				out[t.Name] = append(out[t.Name], p.Index)
			}
		}
	}
	return out
}

func (b *Broker) lost(tr *topicRoute, t *meta.Topic, p *meta.Partition) bool {
	if tr == nil { // of a topic that is being deleted no log is open
		return b.logs.Away(logstore.TopicPartition{Topic: t.Name, Partition: p.Index})
	}
	if h := tr.host(p.Index); h != nil {
		return h.Log.DirFailed()
	}
	return !tr.recovers(p.Index)
}

// dropDeleting removes what is on the disk of topics that are being deleted and were not open here: a stop came in between, or the directory
// had failed and is back.
func (b *Broker) dropDeleting(img *meta.Image) {
	for _, t := range img.Topics {
		if !t.Deleting {
			continue
		}
		for _, p := range t.Partitions {
			if b.hosts[hostKey{t.ID, t.Name, p.Index}] != nil {
				continue // dropGone does that
			}
			err := b.logs.Delete(logstore.TopicPartition{Topic: t.Name, Partition: p.Index})
			if err != nil && !errors.Is(err, logstore.ErrNotFound) && !errors.Is(err, logstore.ErrOffline) {
				b.log.Error("partition cannot be removed", "tp", t.Name, "partition", p.Index, "err", err.Error())
			}
		}
	}
}
