package disk

// Content is what a File stands on when it has no descriptor: the seam for the simulator. Errors come back wrapped in *Error, under the
// names that the kernel's calls have.
type Content interface {
	Size() (int64, error)
	// ReadAt and WriteAt have the contracts of io.ReaderAt and io.WriterAt.
	ReadAt(b []byte, off int64) (int, error)
	WriteAt(b []byte, off int64) (int, error)
	Truncate(n int64) error
	// Sync is fsync and fdatasync.
	Sync() error
	Close() error
}

// NewVirtual makes a File without a descriptor. It works with FS's and File's blocking calls; a Disk of Open does not take it.
func NewVirtual(c Content, path string) *File { return &File{fd: -1, path: path, content: c} }

// wrapped is the error of a call on a virtual file, nil for nil.
func (f *File) wrapped(op string, err error) error {
	if err == nil {
		return nil
	}
	return f.fail(op, err)
}
