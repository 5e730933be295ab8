package uring

import (
	"unsafe"

	"github.com/pelton-broker/pelton/internal/invariant"
)

// sqe is the kernel's submission entry.
type sqe struct {
	opcode      uint8
	flags       uint8
	ioprio      uint16
	fd          int32
	off         uint64
	addr        uint64
	len         uint32
	opFlags     uint32
	userData    uint64
	bufIndex    uint16
	personality uint16
	spliceFD    int32
	addr3       uint64
	pad         uint64
}

// cqe is the kernel's completion entry.
type cqe struct {
	userData uint64
	res      int32
	flags    uint32
}

const (
	sqeBytes = 64
	cqeBytes = 16
)

// Sizes are the kernel's, checked at compile time both ways; a difference would scribble over neighbours.
const (
	_ = uint(sqeBytes - unsafe.Sizeof(sqe{}))
	_ = uint(unsafe.Sizeof(sqe{}) - sqeBytes)
	_ = uint(cqeBytes - unsafe.Sizeof(cqe{}))
	_ = uint(unsafe.Sizeof(cqe{}) - cqeBytes)
)

// fill writes e over the whole entry, so that nothing of the entry's last use survives.
func (s *sqe) fill(e *Entry) {
	if !Allowed(e.Code) || e.Flags&^allowedFlags != 0 {
		invariant.Broken("uring: operation or flags are not on the list", e.Code, e.Flags)
	}
	addr := e.Value
	if e.Ptr != nil {
		addr = uint64(uintptr(e.Ptr))
	}
	*s = sqe{
		opcode: uint8(e.Code), flags: e.Flags, fd: e.FD, off: e.Off, addr: addr,
		len: e.Len, opFlags: e.Arg, userData: e.User, bufIndex: e.Buf,
	}
}
