package api

import "github.com/pelton-broker/pelton/controller/group"

// LogView is what a hosted log tells every thread.
type LogView struct {
	Topic                                 string
	Partition                             int32
	Start, End, DurableEnd, HighWatermark int64
	Bytes, Segments, IndexDoubts          int64
	Dir                                   string
	Uncleanable                           error // why it is not compacted any more; nil while it is
	Dirty                                 int64 // bytes that this leaves
}

// EachLog shows every log that is open here, in the order of names; from any goroutine. The view is reused by the next call of fn.
func (b *Broker) EachLog(fn func(v *LogView)) {
	route := b.route.Load()
	var v LogView
	for _, name := range route.Image.TopicNames {
		t := route.topics[name]
		if t == nil {
			continue
		}
		for _, h := range t.hosts {
			if h == nil {
				continue
			}
			l := h.Log
			v = LogView{Topic: name, Partition: h.Partition, Start: l.Start(), End: l.End(), DurableEnd: l.DurableEnd(),
				HighWatermark: l.HighWatermark(), Bytes: l.SizeBytes(), Segments: l.Segments(), IndexDoubts: l.IndexDoubts(), Dir: l.Dir()}
			v.Uncleanable, v.Dirty = l.Uncleanable()
			fn(&v)
		}
	}
}

// GroupCounts sums up the coordinators of all shards; from any goroutine. A shard that has not told when done closes is left out.
func (b *Broker) GroupCounts(done <-chan struct{}) group.Counts {
	sum := group.Counts{States: map[string]int{}}
	shards := b.server.Shards()
	told := make(chan group.Counts, len(shards))
	for _, s := range shards {
		s.Post(call(func() { told <- localOf(s).groupCounts() }))
	}
	for range shards {
		select {
		case c := <-told:
			sum.Members += c.Members
			sum.Offsets += c.Offsets
			for state, n := range c.States {
				sum.States[state] += n
			}
		case <-done:
			return sum
		}
	}
	return sum
}

func (l *Local) groupCounts() group.Counts {
	sum := group.Counts{States: map[string]int{}}
	for _, h := range l.hosts {
		if h.coord == nil {
			continue
		}
		c := h.coord.Counts()
		sum.Members += c.Members
		sum.Offsets += c.Offsets
		for state, n := range c.States {
			sum.States[state] += n
		}
	}
	return sum
}
