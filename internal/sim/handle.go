package sim

import "syscall"

// handle is an open file; it implements disk.Content.
type handle struct {
	v      *Volume
	n      *inode
	path   string
	closed bool
}

// Size implements disk.Content.
func (h *handle) Size() (int64, error) {
	if h.v.dead || h.closed {
		return 0, syscall.EBADF
	}
	return int64(len(h.n.cache)), nil
}

// ReadAt implements disk.Content.
func (h *handle) ReadAt(b []byte, off int64) (int, error) {
	if h.closed {
		return 0, syscall.EBADF
	}
	if err := h.v.enter(CallRead, "read", h.path); err != nil {
		return 0, err
	}
	return h.n.readAt(b, off)
}

// WriteAt implements disk.Content: a write that fails may leave its first bytes, and so may one that the machine's stop interrupts.
func (h *handle) WriteAt(b []byte, off int64) (int, error) {
	if h.closed {
		return 0, syscall.EBADF
	}
	was := h.v.dead
	err := h.v.enter(CallWrite, "write", h.path)
	if err == nil && h.v.full[h.v.rootOf(h.path)] && off+int64(len(b)) > int64(len(h.n.cache)) {
		err = syscall.ENOSPC
	}
	if err != nil {
		part := 0
		if !was && h.v.rand.Percent(60) {
			part = h.v.rand.Intn(len(b) + 1)
		}
		if part > 0 {
			h.n.writeAt(b[:part], off)
		}
		return part, err
	}
	h.n.writeAt(b, off)
	return len(b), nil
}

// Truncate implements disk.Content.
func (h *handle) Truncate(n int64) error {
	if h.closed {
		return syscall.EBADF
	}
	if err := h.v.enter(CallWrite, "truncate", h.path); err != nil {
		return err
	}
	if n > int64(len(h.n.cache)) && h.v.full[h.v.rootOf(h.path)] {
		return syscall.ENOSPC
	}
	h.n.resize(n)
	return nil
}

// Sync implements disk.Content. After a failed one the pages are clean and not on the platter.
func (h *handle) Sync() error {
	if h.closed {
		return syscall.EBADF
	}
	if err := h.v.enter(CallSync, "fsync", h.path); err != nil {
		if !h.v.dead {
			h.n.forget()
			h.v.spoilt[h.v.rootOf(h.path)] = true
		}
		return err
	}
	h.n.sync()
	return nil
}

// Close implements disk.Content.
func (h *handle) Close() error {
	if h.closed {
		return syscall.EBADF
	}
	h.closed = true
	return nil
}
