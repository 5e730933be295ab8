//go:build !linux

package disk

import "golang.org/x/sys/unix"

func dataSync(fd int) error { return unix.Fsync(fd) }

func reserve(int, int64) error { return unix.EOPNOTSUPP }

func dropCache(int, int64, int64) error { return nil }

func adviseRandom(int) error { return nil }

func startWriteback(int) error { return nil }
