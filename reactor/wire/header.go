package wire

// Header is the head of a request. ClientID is a view into the frame, nil when null.
type Header struct {
	Key      int16
	Version  int16
	Corr     int32
	ClientID []byte
	// Flexible tells that the request and its response carry tagged fields.
	Flexible bool
}

// ParseHeader reads the head of a frame and returns the body behind it. flexibleFrom gives the
// first flexible version of a key, or a negative number for never; a key it does not know has
// its header read as the oldest form, so that the correlation id can be answered.
func ParseHeader(frame []byte, flexibleFrom func(key int16) int16) (h Header, body Reader, err error) {
	r := NewReader(frame)
	h.Key, h.Version, h.Corr = r.Int16(), r.Int16(), r.Int32()
	if r.err != nil {
		return h, r, r.err
	}
	if h.Key == ControlledShutdown && h.Version == 0 {
		return h, r, nil // the one header without a client id (protocol.md, key 7)
	}
	h.ClientID = r.String(false)
	from := flexibleFrom(h.Key)
	h.Flexible = from >= 0 && h.Version >= from
	r.Tags(h.Flexible, nil)
	return h, r, r.err
}

// ControlledShutdown is the key whose version 0 has a header without a client id.
const ControlledShutdown = 7
