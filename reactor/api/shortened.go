package api

// Shortened lists the partitions, by topic, whose logs lost a torn or damaged end when they were opened, and which this broker leads. Their
// next records take offsets that somebody may have seen, so they need a new leader epoch before they take any (C-65).
func (b *Broker) Shortened() map[string][]int32 {
	out := map[string][]int32{}
	for name, t := range b.route.Load().topics {
		for i, h := range t.hosts {
			if h != nil && h.Log.CutBytes() > 0 && t.topic.Partitions[i].Leader == b.Options().BrokerID {
				out[name] = append(out[name], h.Partition)
			}
		}
	}
	return out
}
