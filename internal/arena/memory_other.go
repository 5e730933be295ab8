//go:build !linux || race

package arena

// mapMemory returns n bytes of Go memory. The Go collector does not move heap memory, and the arena keeps the slice reachable for as long as
// the kernel may write into it; the race detector sees it, which it does not with mapped memory.
func mapMemory(n int, _ bool) ([]byte, error) { return make([]byte, n), nil }

// unmapMemory leaves the rest to the collector.
func unmapMemory([]byte) {}
