package disk

import (
	"syscall"

	"github.com/pelton-broker/pelton/internal/uring"
)

// tryNoWait writes the op without waiting, to learn whether the file system can (xfs can, ext4 cannot). What it wrote counts.
func tryNoWait(op *Op) tristate {
	op.load()
	n, err := uring.PwritevNoWait(op.File.fd, &op.vec, op.Off)
	switch err {
	case nil:
		op.done = n
		return yes
	case syscall.EAGAIN:
		return yes
	case syscall.EOPNOTSUPP, syscall.EINVAL, syscall.ENOSYS:
		return no
	}
	// A real error will come again from the write that follows.
	return unknown
}
