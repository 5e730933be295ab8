package disk

import "github.com/pelton-broker/pelton/internal/uring"

func writeVec(op *Op) (int, error) {
	return uring.Pwritev(op.File.fd, &op.vec, op.Off+int64(op.done))
}

func readScratch(op *Op) (int, error) {
	op.loadScratch()
	return uring.Preadv(op.File.fd, &op.vec, op.Off+int64(op.done))
}
