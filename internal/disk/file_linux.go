package disk

import "golang.org/x/sys/unix"

func dataSync(fd int) error { return unix.Fdatasync(fd) }

func reserve(fd int, n int64) error { return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, n) }

func dropCache(fd int, off, n int64) error {
	return unix.Fadvise(fd, off, n, unix.FADV_DONTNEED)
}

func adviseRandom(fd int) error { return unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM) }

func startWriteback(fd int) error { return unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WRITE) }
