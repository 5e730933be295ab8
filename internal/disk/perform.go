package disk

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// perform carries an op out with blocking calls, to its end. It runs on a worker, or on the shard for what auto writes inline; results are
// understood by settle, as those of the ring are.
func (op *Op) perform() {
	for {
		op.linked = false
		op.main = op.call()
		if op.settle() {
			return
		}
	}
}

// performWrite writes a durable op's bytes with blocking calls and leaves the fdatasync; true: the op has failed and is finished.
func (op *Op) performWrite() (failed bool) {
	for !op.syncing {
		op.linked = false
		op.main = op.call()
		if op.settle() {
			return true
		}
	}
	return false
}

// call makes one system call for the op and returns its result in the kernel's form.
func (op *Op) call() int32 {
	switch {
	case op.Kind == Sync || op.syncing:
		return result(0, dataSync(op.File.fd))
	case op.Kind == Nop:
		return 0
	case op.Kind == Write && op.want == 0:
		op.asked = 0
		return 0
	case op.Kind == Read:
		op.asked = op.want - op.done
		return result(unix.Pread(op.File.fd, op.Bufs[0][op.done:], op.Off+int64(op.done)))
	case op.Kind == ReadAhead:
		return result(readScratch(op))
	}
	if len(op.Bufs) == 1 {
		op.asked = op.want - op.done
		return result(unix.Pwrite(op.File.fd, op.Bufs[0][op.done:], op.Off+int64(op.done)))
	}
	op.load()
	return result(writeVec(op))
}

// result turns what Go gives into what the ring gives.
func result(n int, err error) int32 {
	if err == nil {
		return int32(n)
	}
	var errno syscall.Errno
	if errors.As(err, &errno) && errno != 0 {
		return -int32(errno)
	}
	return -int32(syscall.EIO)
}
