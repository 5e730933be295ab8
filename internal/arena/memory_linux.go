//go:build linux && !race

package arena

import "golang.org/x/sys/unix"

// mapMemory returns n zeroed bytes outside the Go heap: the collector neither scans nor moves them, and the kernel may write into them.
func mapMemory(n int, huge bool) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	if huge {
		// A kernel without transparent huge pages refuses this, and small pages are as right.
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
	return b, nil
}

// unmapMemory gives back what mapMemory returned.
func unmapMemory(b []byte) { _ = unix.Munmap(b) }
