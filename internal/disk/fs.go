package disk

import (
	"io"
	"io/fs"
)

// FS is the blocking side of the file system, for use at start and off the shards; the seam for the simulator.
type FS interface {
	// OpenFile takes the flags of package os. The descriptor is never given to Go's netpoller.
	OpenFile(path string, flag int, perm fs.FileMode) (*File, error)
	Mkdir(path string) error
	MkdirAll(path string) error
	Rename(oldPath, newPath string) error
	Remove(path string) error
	RemoveAll(path string) error
	// ReadDir lists a directory sorted by name.
	ReadDir(path string) ([]fs.DirEntry, error)
	Stat(path string) (fs.FileInfo, error)
	ReadFile(path string) ([]byte, error)
	// WriteFileAtomic leaves either the old file or the new one after a crash: temporary file, fsync, rename, fsync of the directory.
	WriteFileAtomic(path string, b []byte) error
	// SyncDir makes the names in a directory durable.
	SyncDir(path string) error
	// Lock takes an exclusive lock on a file, creating it; ErrLocked when somebody holds it. Closing gives it back.
	Lock(path string) (io.Closer, error)
	// Free is the room for unprivileged writers on the file system of path, and its size.
	Free(path string) (free, total int64, err error)
}
