package broker

import "github.com/pelton-broker/pelton/reactor"

// Counters are what each shard has done up to now, taken on the shards themselves: Stats would be up to a second old.
func (b *Broker) Counters() []reactor.Stats {
	var out []reactor.Stats
	for _, s := range b.server.Shards() {
		c := make(chan reactor.Stats, 1)
		s.Post(counted(c))
		out = append(out, <-c)
	}
	return out
}

// counted brings a shard's counters to a test.
type counted chan reactor.Stats

// Deliver implements reactor.Message.
func (c counted) Deliver(s *reactor.Shard) { c <- s.Counters() }
