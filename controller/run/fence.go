package run

import (
	"slices"

	"github.com/pelton-broker/pelton/controller/meta"
)

// fence publishes that we lead nothing: without our registration nobody owes us anything, and another broker may have been elected. The next
// reading of the topics says what we lead again, once we are registered.
func (l *loop) fence() {
	if l.published == nil {
		return
	}
	l.update(func(b *meta.Builder) {
		for _, name := range l.cur.TopicNames {
			if t := leaderless(l.cur.Topics[name], l.c.id); t != nil {
				b.SetTopic(t)
			}
		}
	})
	l.publish()
}

// leaderless is the topic without the partitions' leader id; nil when it leads none of them.
func leaderless(t *meta.Topic, id int32) *meta.Topic {
	if !slices.ContainsFunc(t.Partitions, func(p *meta.Partition) bool { return p.Leader == id }) {
		return nil
	}
	clone := *t
	clone.Partitions = slices.Clone(t.Partitions)
	for i, p := range clone.Partitions {
		if p.Leader == id {
			without := *p
			without.Leader = meta.NoLeader
			clone.Partitions[i] = &without
		}
	}
	return &clone
}
