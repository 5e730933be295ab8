//go:build !linux

package disk

func tryNoWait(*Op) tristate { return no }
