package disk

import (
	"errors"
	"io"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// File is an open file: a descriptor that Go's netpoller never sees. Its methods block; shards use a Disk. A File is used by one Disk at a time.
type File struct {
	fd   int
	path string
	dev  uint64 // device, by which the backends tell directories on different disks apart

	content Content // in place of a descriptor

	// One operation in flight per file on the portable backend; guarded by being on the Disk's thread.
	busy    bool
	waiting opList
}

// NewFile wraps a descriptor that the caller gives away.
func NewFile(fd int, path string) *File {
	f := &File{fd: fd, path: path}
	if st, err := f.stat(); err == nil {
		f.dev = uint64(st.Dev)
	}
	return f
}

// Fd is the descriptor, for sendfile; it stays the File's.
func (f *File) Fd() int { return f.fd }

// Path is the name it was opened by.
func (f *File) Path() string { return f.path }

func (f *File) fail(op string, err error) error { return &Error{Op: op, Path: f.path, Err: err} }

// Size asks the kernel for the length.
func (f *File) Size() (int64, error) {
	if f.content != nil {
		n, err := f.content.Size()
		return n, f.wrapped("fstat", err)
	}
	st, err := f.stat()
	if err != nil {
		return 0, f.fail("fstat", err)
	}
	return st.Size, nil
}

// ModTimeMs asks the kernel when the file was last written, in milliseconds since 1970. It looks at the open file, and waits for no disk.
// A virtual file has none: the error is errors.ErrUnsupported.
func (f *File) ModTimeMs() (int64, error) {
	if f.content != nil {
		return 0, f.wrapped("fstat", errors.ErrUnsupported)
	}
	st, err := f.stat()
	if err != nil {
		return 0, f.fail("fstat", err)
	}
	return st.Mtim.Nano() / 1e6, nil
}

func (f *File) stat() (unix.Stat_t, error) {
	var st unix.Stat_t
	err := retryInterrupted(func() error { return unix.Fstat(f.fd, &st) })
	return st, err
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	if f.content != nil {
		n, err := f.content.ReadAt(b, off)
		if err != io.EOF {
			err = f.wrapped("read", err)
		}
		return n, err
	}
	done := 0
	for done < len(b) {
		n, err := unix.Pread(f.fd, b[done:], off+int64(done))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, f.fail("read", err)
		}
		if n == 0 {
			return done, io.EOF
		}
		done += n
	}
	return done, nil
}

// readAll reads the file from its beginning to its end. A read that brings what the file's size promised, and not the byte more that it was asked
// for, was the last one; a file that says it is empty may be one of the kernel's, and is asked until nothing comes.
func (f *File) readAll() ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, size+1) // with room to see that there is no more
	for {
		if len(b) == cap(b) {
			b = slices.Grow(b, len(b))
		}
		n, err := unix.Pread(f.fd, b[len(b):cap(b)], int64(len(b)))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return b, f.fail("read", err)
		}
		if b = b[:len(b)+n]; n == 0 || size > 0 && int64(len(b)) == size {
			return b, nil
		}
	}
}

// WriteAt implements io.WriterAt; short writes are continued.
func (f *File) WriteAt(b []byte, off int64) (int, error) {
	if f.content != nil {
		n, err := f.content.WriteAt(b, off)
		return n, f.wrapped("write", err)
	}
	done := 0
	for done < len(b) {
		n, err := unix.Pwrite(f.fd, b[done:], off+int64(done))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, f.fail("write", err)
		}
		if n == 0 {
			return done, f.fail("write", ErrNoProgress)
		}
		done += n
	}
	return done, nil
}

// Truncate sets the length. Never on a file that sendfile has sent from: queued pages are sent by reference.
func (f *File) Truncate(n int64) error {
	if f.content != nil {
		return f.wrapped("truncate", f.content.Truncate(n))
	}
	err := retryInterrupted(func() error { return unix.Ftruncate(f.fd, n) })
	if err != nil {
		return f.fail("truncate", err)
	}
	return nil
}

// Sync is fsync. An error is final: the kernel may have marked the lost pages clean, so a second call would lie.
func (f *File) Sync() error {
	if f.content != nil {
		return f.wrapped("fsync", f.content.Sync())
	}
	if err := unix.Fsync(f.fd); err != nil {
		return f.fail("fsync", err)
	}
	return nil
}

// DataSync is fdatasync where there is one. An error is final, as with Sync.
func (f *File) DataSync() error {
	if f.content != nil {
		return f.wrapped("fdatasync", f.content.Sync())
	}
	if err := dataSync(f.fd); err != nil {
		return f.fail("fdatasync", err)
	}
	return nil
}

// StartWriteback asks the kernel to begin writing what is dirty of the file, and does not wait for it. It promises nothing: that is left to a
// Sync, which then has less to wait for. An error is as final as one of Sync.
func (f *File) StartWriteback() error {
	if f.content != nil {
		return nil
	}
	err := retryInterrupted(func() error { return startWriteback(f.fd) })
	if err != nil && err != unix.EOPNOTSUPP && err != unix.ENOSYS && err != unix.EINVAL && err != unix.ESPIPE {
		return f.fail("sync_file_range", err)
	}
	return nil
}

// Fallocate reserves blocks for the first n bytes without changing the length. A file system that cannot is not an error.
func (f *File) Fallocate(n int64) error {
	if f.content != nil {
		return nil
	}
	err := retryInterrupted(func() error { return reserve(f.fd, n) })
	if err != nil && err != unix.EOPNOTSUPP && err != unix.ENOSYS {
		return f.fail("fallocate", err)
	}
	return nil
}

// DropCache tells the kernel that a range will not be needed soon; dirty pages stay.
func (f *File) DropCache(off, n int64) error {
	if f.content != nil {
		return nil
	}
	if err := dropCache(f.fd, off, n); err != nil {
		return f.fail("fadvise", err)
	}
	return nil
}

// AdviseRandom turns the kernel's own read-ahead off. Without it a read near the end of what ReadAhead loaded starts the next load by itself,
// and a sendfile that meets those half-loaded pages waits for the disk on the loop.
func (f *File) AdviseRandom() error {
	if f.content != nil {
		return nil
	}
	if err := adviseRandom(f.fd); err != nil {
		return f.fail("fadvise", err)
	}
	return nil
}

// Close gives the descriptor back.
func (f *File) Close() error {
	if f.content != nil {
		return f.wrapped("close", f.content.Close())
	}
	if f.fd < 0 {
		return f.fail("close", ErrClosed)
	}
	fd := f.fd
	f.fd = -1
	// EINTR from close has closed the descriptor on Linux: a second call could close somebody else's.
	if err := unix.Close(fd); err != nil && err != unix.EINTR {
		return f.fail("close", err)
	}
	return nil
}

func retryInterrupted(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}

// Renamed tells the File the name that it has now.
func (f *File) Renamed(path string) { f.path = path }
