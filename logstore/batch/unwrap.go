package batch

// Unwrap appends the message set inside a wrapper message of formats 0 or 1 to dst.
func (it *Iterator) Unwrap(dst, b []byte) ([]byte, error) {
	if it.Codecs == nil {
		it.Codecs = NewCodecs()
	}
	if it.MaxDecompressed <= 0 {
		it.MaxDecompressed = DefaultMaxDecompressed
	}
	m, _, err := readMessage(b)
	if err != nil {
		return dst, err
	}
	s := it.Codecs.get()
	defer it.Codecs.put(s)
	inner, err := s.openWrapper(&m, it.MaxDecompressed)
	return append(dst, inner...), err
}
