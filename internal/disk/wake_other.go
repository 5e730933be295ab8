//go:build !linux

package disk

// Without an eventfd there is no descriptor to watch: WakeFD is -1 and the caller polls.
func newWake() (int, error) { return -1, nil }
func raiseWake(int)         {}
func drainWake(int)         {}
func closeWake(int)         {}
