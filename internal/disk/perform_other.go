//go:build !linux

package disk

import "golang.org/x/sys/unix"

// writeVec writes the first buffer that has bytes left; settle sees a short write and comes again.
func writeVec(op *Op) (int, error) {
	skip := op.done
	for _, b := range op.Bufs {
		if skip < len(b) {
			return unix.Pwrite(op.File.fd, b[skip:], op.Off+int64(op.done))
		}
		skip -= len(b)
	}
	return 0, nil
}

func readScratch(op *Op) (int, error) {
	op.asked = min(op.want-op.done, len(op.scratch))
	return unix.Pread(op.File.fd, op.scratch[:op.asked], op.Off+int64(op.done))
}
