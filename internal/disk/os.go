package disk

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// osFS is the machine's file system.
type osFS struct{}

// OS returns the machine's file system.
func OS() FS { return osFS{} }

const (
	dirPerm  = 0o755
	filePerm = 0o644
)

// OpenFile leaves the last descriptors to calls that give theirs back at once: it fails with EMFILE before there is none.
func (osFS) OpenFile(path string, flag int, perm fs.FileMode) (*File, error) {
	fd, err := openFD(path, flag, perm)
	if err != nil {
		return nil, err
	}
	if fd >= descriptorsToKeep() {
		_ = unix.Close(fd) // nothing was written
		return nil, &Error{Op: "open", Path: path, Err: unix.EMFILE}
	}
	return NewFile(fd, path), nil
}

// leftForCalls is how many descriptors files that stay open leave to syncs of directories, atomic writes and the like: these are the second half
// of something that has begun, and must not fail for a want of descriptors. Of a small limit it is an eighth.
const leftForCalls = 64

// descriptorsToKeep is the first descriptor that no file gets which stays open. The kernel always gives the lowest that is free, so whoever
// gets a high one knows how many are in use.
func descriptorsToKeep() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	most := int(limit.Cur)
	return most - min(leftForCalls, most/8)
}

// passing opens a file that is closed before the call that needs it returns.
func passing(path string, flag int, perm fs.FileMode) (*File, error) {
	fd, err := openFD(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return &File{fd: fd, path: path}, nil // no Disk takes it
}

func openFD(path string, flag int, perm fs.FileMode) (fd int, err error) {
	for {
		fd, err = unix.Open(path, flag|unix.O_CLOEXEC, uint32(perm.Perm()))
		if err == nil {
			return fd, nil
		}
		if err != unix.EINTR {
			return -1, &Error{Op: "open", Path: path, Err: err}
		}
	}
}

func (osFS) Mkdir(path string) error    { return wrap("mkdir", path, os.Mkdir(path, dirPerm)) }
func (osFS) MkdirAll(path string) error { return wrap("mkdir", path, os.MkdirAll(path, dirPerm)) }
func (osFS) Rename(oldPath, newPath string) error {
	return wrap("rename", oldPath, os.Rename(oldPath, newPath))
}
func (osFS) Remove(path string) error    { return wrap("remove", path, os.Remove(path)) }
func (osFS) RemoveAll(path string) error { return wrap("remove", path, os.RemoveAll(path)) }

func (osFS) ReadDir(path string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(path)
	return entries, wrap("readdir", path, err)
}

func (osFS) Stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	return info, wrap("stat", path, err)
}

// ReadFile asks the kernel for no more than it must: a start reads thousands of small files, and package os tries to poll each.
func (osFS) ReadFile(path string) ([]byte, error) {
	f, err := passing(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	b, err := f.readAll()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return b, err
}

func (o osFS) WriteFileAtomic(path string, b []byte) error {
	temp := path + ".tmp"
	f, err := passing(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, filePerm)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = o.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return err
	}
	return o.SyncDir(filepath.Dir(path))
}

func (osFS) SyncDir(path string) error {
	f, err := passing(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (o osFS) Lock(path string) (io.Closer, error) {
	f, err := o.OpenFile(path, os.O_CREATE|os.O_RDWR, filePerm)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(f.Fd(), unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EINTR {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if err == unix.EWOULDBLOCK {
		err = ErrLocked
	}
	return nil, &Error{Op: "lock", Path: path, Err: err}
}

func (osFS) Free(path string) (free, total int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, 0, &Error{Op: "statfs", Path: path, Err: err}
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), nil
}

// wrap turns the os package's errors into *Error, keeping fs.ErrNotExist and the errno reachable.
func wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		return &Error{Op: op, Path: pathErr.Path, Err: pathErr.Err}
	case errors.As(err, &linkErr):
		return &Error{Op: op, Path: linkErr.Old, Err: linkErr.Err}
	}
	return &Error{Op: op, Path: path, Err: err}
}
