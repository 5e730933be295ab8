//go:build !giouring

package disk

func moreBackends() []backend { return nil }
