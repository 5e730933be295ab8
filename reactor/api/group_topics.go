package api

import (
	"slices"

	"github.com/pelton-broker/pelton/controller/group"
)

// vanished lists the topics of one route that are not in the next, or are others under the same name.
func (r *Route) vanished(next *Route) []string {
	var names []string
	for name, t := range r.topics {
		if n := next.topics[name]; n == nil || n.topic.ID != t.topic.ID {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// forgetOffsets tells every coordinator here that topics are gone: what was committed for them goes too.
func (b *Broker) forgetOffsets(names []string) {
	t := b.route.Load().topics[offsetsTopic]
	if len(names) == 0 || t == nil {
		return
	}
	for _, h := range t.hosts {
		if h == nil {
			continue
		}
		b.On(h.Topic, h.Partition, func(h *Hosted, err error) {
			if err == nil && h.coord != nil {
				h.coord.Do(&group.TopicsDeleted{Topics: names})
			}
		})
	}
}
