package reactor

import "github.com/zeebo/xxh3"

// Route is the shard of a partition. A topic begins at a shard that its name picks, and its partitions go round from there: they are
// spread as evenly as they can be, and every shard and every restart agrees.
func Route(topic string, partition int32, shards int) int {
	return int((xxh3.HashString(topic)%uint64(shards) + uint64(uint32(partition))) % uint64(shards))
}
