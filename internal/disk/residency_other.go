//go:build !linux

package disk

// ReadNow implements Disk: there is no way to ask, so it reads.
func (r *residency) ReadNow(f *File, b []byte, off int64) (int, error) { return f.ReadAt(b, off) }

// Cached implements Disk: there is no way to ask.
func (r *residency) Cached(*File, int64, int64) bool { return true }
