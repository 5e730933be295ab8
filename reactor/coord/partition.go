package coord

import (
	"math"
	"unicode/utf16"
)

// PartitionFor is the partition of __consumer_offsets that holds a group: Java's hash of its id, as Kafka takes it.
func PartitionFor(group string, partitions int32) int32 {
	if partitions <= 0 {
		return 0
	}
	var h int32
	for _, r := range group {
		if r <= 0xFFFF {
			h = 31*h + r
			continue
		}
		hi, lo := utf16.EncodeRune(r)
		h = 31*(31*h+hi) + lo
	}
	// Kafka's abs: the least int has no positive and counts as 0.
	if h == math.MinInt32 {
		return 0
	}
	return max(h, -h) % partitions
}
