//go:build !linux

package netpoll

// PinThread returns ErrUnsupported.
func PinThread(int) error { return ErrUnsupported }

// UsableCPUs is unknown.
func UsableCPUs() []int { return nil }
