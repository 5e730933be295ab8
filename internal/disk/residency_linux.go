package disk

import (
	"io"
	"syscall"

	"github.com/pelton-broker/pelton/internal/uring"
)

const pageBytes = 4096

// ReadNow implements Disk.
func (r *residency) ReadNow(f *File, b []byte, off int64) (int, error) {
	done := 0
	for done < len(b) {
		n, err := uring.PreadNoWait(f.fd, b[done:], off+int64(done))
		switch {
		case err == nil && n == 0:
			return done, io.EOF
		case err == nil:
			done += n
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return done, ErrWouldBlock
		case err == syscall.EOPNOTSUPP || err == syscall.ENOSYS || err == syscall.EINVAL:
			return r.readUnasked(f, b, off, done)
		default:
			return done, f.fail("read", err)
		}
	}
	return done, nil
}

// readUnasked serves file systems that have no RWF_NOWAIT (FUSE and some overlays): a plain read when the pages are known to be there. Where
// nothing can be known it reads as well, since a caller that is sent away for ever would never come to an end.
func (r *residency) readUnasked(f *File, b []byte, off int64, done int) (int, error) {
	rest := b[done:]
	if cached, known := r.cachestat(f, off+int64(done), int64(len(rest))); known && !cached {
		return done, ErrWouldBlock
	}
	n, err := f.ReadAt(rest, off+int64(done))
	return done + n, err
}

// Cached implements Disk.
func (r *residency) Cached(f *File, off, n int64) bool {
	if n <= 0 {
		return true
	}
	if r.isLoading(f, off, n) {
		return false
	}
	cached, known := r.cachestat(f, off, n)
	if !known {
		return r.readable(f, off, n)
	}
	if !cached {
		return false
	}
	// A page counts as cached from the moment its read starts, for example by the kernel's own read-ahead. Reads end in order as a rule, so
	// one byte at the end of the range tells whether they have.
	var last [1]byte
	_, err := uring.PreadNoWait(f.fd, last[:], off+n-1)
	return err != syscall.EAGAIN
}

// cachestat compares the pages in the cache with those of the range, cut at the file's end.
func (r *residency) cachestat(f *File, off, n int64) (cached, known bool) {
	if r.noCachestat {
		return false, false
	}
	have, err := uring.CachedPages(f.fd, off, n)
	if err != nil {
		// ENOSYS is an old kernel or a filter; a file system may refuse as well (hugetlbfs). Either way it will not change.
		r.noCachestat = err == syscall.ENOSYS || err == syscall.EPERM
		return false, false
	}
	if have >= pagesOf(off, n) {
		return true, true
	}
	size, err := f.Size()
	if err != nil || off+n <= size {
		return false, true
	}
	return have >= pagesOf(off, max(size-off, 0)), true
}

func pagesOf(off, n int64) int64 {
	if n <= 0 {
		return 0
	}
	return (off+n-1)/pageBytes - off/pageBytes + 1
}

// readable copies the range into the scratch buffer without waiting: the way of kernels before cachestat.
func (r *residency) readable(f *File, off, n int64) bool {
	for n > 0 {
		fillScratch(&r.probe, r.scratchBuffer(), int(min(n, scratchBytes*uring.VecMax)))
		got, err := uring.PreadvNoWait(f.fd, &r.probe, off)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			// Cannot be told: say yes, or the caller would load for ever.
			return err != syscall.EAGAIN
		}
		if got == 0 {
			return true
		}
		off += int64(got)
		n -= int64(got)
	}
	return true
}
