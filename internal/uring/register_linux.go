package uring

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// io_uring_register operations, kernel numbering.
const (
	regBuffers       = 0
	unregBuffers     = 1
	regFiles         = 2
	unregFiles       = 3
	regEventFD       = 4
	regFilesUpdate   = 6
	regProbe         = 8
	regRestrictions  = 11
	regEnableRings   = 12
	regBuffers2      = 15
	regBuffersUpdate = 16
	regIOWQAff       = 17
	regIOWQMax       = 19
	regRingFDs       = 20
	unregRingFDs     = 21
	probeOpSupported = 1
)

// registrar makes the io_uring_register calls of a ring descriptor; both implementations of Ring embed it.
type registrar struct{ fd int }

func (r registrar) register(op uintptr, arg unsafe.Pointer, n int) (int, error) {
	for {
		got, _, errno := syscall.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), op, uintptr(arg), uintptr(n), 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			return 0, errno
		}
		return int(got), nil
	}
}

// RegisterFiles implements Ring.
func (r registrar) RegisterFiles(fds []int32) error {
	_, err := r.register(regFiles, unsafe.Pointer(unsafe.SliceData(fds)), len(fds))
	return err
}

// UpdateFiles implements Ring.
func (r registrar) UpdateFiles(off int, fds []int32) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(unsafe.SliceData(fds))
	arg := struct {
		off, resv uint32
		fds       uint64
	}{off: uint32(off), fds: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(fds))))}
	_, err := r.register(regFilesUpdate, unsafe.Pointer(&arg), len(fds))
	return err
}

// UnregisterFiles implements Ring.
func (r registrar) UnregisterFiles() error {
	_, err := r.register(unregFiles, nil, 0)
	return err
}

// RegisterBuffers implements Ring.
func (r registrar) RegisterBuffers(bufs [][]byte) error {
	var v Vec
	for _, b := range bufs {
		v.Add(b)
	}
	p, n := v.raw()
	_, err := r.register(regBuffers, p, int(n))
	return err
}

// UnregisterBuffers implements Ring.
func (r registrar) UnregisterBuffers() error {
	_, err := r.register(unregBuffers, nil, 0)
	return err
}

// ReserveBuffers implements Ring.
func (r registrar) ReserveBuffers(n int) error {
	const sparse = 1
	arg := struct {
		n, flags         uint32
		resv, data, tags uint64
	}{n: uint32(n), flags: sparse}
	_, err := r.register(regBuffers2, unsafe.Pointer(&arg), int(unsafe.Sizeof(arg)))
	return err
}

// SetBuffer implements Ring.
func (r registrar) SetBuffer(index int, b []byte) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	var v Vec
	v.Add(b)
	p, _ := v.raw()
	pin.Pin(p)
	arg := struct {
		offset, resv uint32
		data, tags   uint64
		n, resv2     uint32
	}{offset: uint32(index), data: uint64(uintptr(p)), n: 1}
	_, err := r.register(regBuffersUpdate, unsafe.Pointer(&arg), int(unsafe.Sizeof(arg)))
	return err
}

// RegisterEventFD implements Ring.
func (r registrar) RegisterEventFD(fd int) error {
	at := int32(fd)
	_, err := r.register(regEventFD, unsafe.Pointer(&at), 1)
	return err
}

// SetWorkers implements Ring.
func (r registrar) SetWorkers(bounded, unbounded int) error {
	most := [2]uint32{uint32(bounded), uint32(unbounded)}
	_, err := r.register(regIOWQMax, unsafe.Pointer(&most), len(most))
	return err
}

// SetWorkerCPUs implements Ring.
func (r registrar) SetWorkerCPUs(cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	_, err := r.register(regIOWQAff, unsafe.Pointer(&set), int(unsafe.Sizeof(set)))
	return err
}

type probeOp struct {
	op, resv uint8
	flags    uint16
	resv2    uint32
}

// probeOps asks which operations the kernel knows.
func (r registrar) probeOps() (uint64, error) {
	var arg struct {
		lastOp, opsLen uint8
		resv           uint16
		resv2          [3]uint32
		ops            [64]probeOp
	}
	if _, err := r.register(regProbe, unsafe.Pointer(&arg), len(arg.ops)); err != nil {
		return 0, err
	}
	var known uint64
	for i := range arg.ops[:min(int(arg.opsLen), len(arg.ops))] {
		if arg.ops[i].flags&probeOpSupported != 0 {
			known |= 1 << arg.ops[i].op
		}
	}
	return known, nil
}

type restriction struct {
	kind uint16
	op   uint8
	resv uint8
	pad  [3]uint32
}

const (
	restrictRegister = 0
	restrictEntry    = 1
	restrictFlags    = 2
)

// restrict tells the kernel the allowed list, so that a stray write into the mapped queue cannot open files or sockets. It works only on a
// ring that was set up disabled, before enable.
func (r registrar) restrict(known uint64) error {
	var list []restriction
	for c := Code(0); c <= codeMax; c++ {
		if Allowed(c) && known&(1<<c) != 0 {
			list = append(list, restriction{kind: restrictEntry, op: uint8(c)})
		}
	}
	list = append(list, restriction{kind: restrictFlags, op: allowedFlags})
	for _, op := range []uint8{
		regBuffers, unregBuffers, regFiles, unregFiles, regEventFD, regFilesUpdate, regBuffers2, regBuffersUpdate, regIOWQAff, regIOWQMax, regRingFDs, unregRingFDs,
	} {
		list = append(list, restriction{kind: restrictRegister, op: op})
	}
	_, err := r.register(regRestrictions, unsafe.Pointer(&list[0]), len(list))
	return err
}

func (r registrar) enable() error {
	_, err := r.register(regEnableRings, nil, 0)
	return err
}

type ringFD struct {
	offset, resv uint32
	data         uint64
}

// registerRing saves the kernel a descriptor look-up per enter. The index is valid on the calling thread only.
func (r registrar) registerRing() (int, error) {
	arg := ringFD{offset: ^uint32(0), data: uint64(r.fd)}
	n, err := r.register(regRingFDs, unsafe.Pointer(&arg), 1)
	if err != nil || n != 1 {
		return -1, err
	}
	return int(arg.offset), nil
}

func (r registrar) unregisterRing(index int) {
	arg := ringFD{offset: uint32(index)}
	_, _ = r.register(unregRingFDs, unsafe.Pointer(&arg), 1)
}
