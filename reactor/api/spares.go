package api

// spares are buffers for converted records that a shard uses again: fresh memory of megabytes costs more than the conversion.
type spares struct{ kept [][]byte }

// Bounds of what a shard keeps.
const (
	sparesMost   = 8
	spareLargest = 5 << 20
)

// take gives an empty buffer, nil when there is none.
func (s *spares) take() []byte {
	last := len(s.kept) - 1
	if last < 0 {
		return nil
	}
	b := s.kept[last]
	s.kept[last] = nil
	s.kept = s.kept[:last]
	return b[:0]
}

// put keeps a buffer for the next one who asks.
func (s *spares) put(b []byte) {
	if len(s.kept) < sparesMost && cap(b) > 0 && cap(b) <= spareLargest {
		s.kept = append(s.kept, b)
	}
}
