package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/internal/tools/loopdisk"
)

// faultFS shows a directory under another path, by the kernel's FUSE protocol, and lets calls on files in it fail when told to. Nobody in this
// process may touch what is below the mount.
type faultFS struct {
	fd    int
	mount string
	group *task.Group
	mu    struct {
		sync.Mutex
		rules   []fault
		nodes   map[uint64]string // node id → path in the directory shown
		ids     map[string]uint64
		last    uint64
		handles map[uint64]*handle
		hits    int
	}
}

// fault makes calls of one kind fail on logs whose path holds a text.
type fault struct {
	op   string // read, write, fsync
	text string
	errs syscall.Errno
}

// handle is an open file or a directory's listing.
type handle struct {
	fd   int
	path string
	list []byte
}

// Operations of the protocol, those that are served.
const (
	opLookup      = 1
	opForget      = 2
	opGetattr     = 3
	opSetattr     = 4
	opMkdir       = 9
	opUnlink      = 10
	opRmdir       = 11
	opRename      = 12
	opOpen        = 14
	opRead        = 15
	opWrite       = 16
	opStatfs      = 17
	opRelease     = 18
	opFsync       = 20
	opFlush       = 25
	opInit        = 26
	opOpendir     = 27
	opReaddir     = 28
	opReleasedir  = 29
	opFsyncdir    = 30
	opAccess      = 34
	opCreate      = 35
	opInterrupt   = 36
	opBatchForget = 42
	opFallocate   = 43
	opRename2     = 45
)

const (
	requestHead = 40
	mostBytes   = 1 << 20
)

// newFaultFS mounts what is in shown at mount.
func newFaultFS(shown, mount string) (*faultFS, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: /dev/fuse: %w", loopdisk.ErrMissing, err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)
	if err := unix.Mount("pelton-faults", mount, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("%w: mounting FUSE: %w", loopdisk.ErrMissing, err)
	}
	f := &faultFS{fd: fd, mount: mount, group: task.NewGroup()}
	f.mu.nodes, f.mu.ids, f.mu.handles, f.mu.last = map[uint64]string{1: shown}, map[string]uint64{shown: 1}, map[uint64]*handle{}, 1
	for range 8 {
		f.group.Go("fuse", func(context.Context) { f.serve() })
	}
	return f, nil
}

// free takes the mount away; the servers end with it.
func (f *faultFS) free() {
	for range 100 {
		if unix.Unmount(f.mount, 0) == nil {
			break
		}
		if unix.Unmount(f.mount, unix.MNT_DETACH) == nil {
			break
		}
	}
	f.group.Stop()
	_ = unix.Close(f.fd)
}

// set makes these the faults; without any all works again. What the kernel has cached of the files is dropped, so that reads come here.
func (f *faultFS) set(rules ...fault) {
	f.mu.Lock()
	f.mu.rules, f.mu.hits = rules, 0
	var ids []uint64
	for id := range f.mu.nodes {
		ids = append(ids, id)
	}
	f.mu.Unlock()
	for _, id := range ids {
		var b bytes.Buffer
		put(&b, uint32(40), int32(2), uint64(0), id, int64(0), int64(-1)) // FUSE_NOTIFY_INVAL_INODE
		_, _ = unix.Write(f.fd, b.Bytes())                                // one that the kernel does not know is none
	}
}

// hit is how many calls have failed by a fault.
func (f *faultFS) hit() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.hits
}

// failing is the error that a call is to have.
func (f *faultFS) failing(op, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.mu.rules {
		if r.op == op && strings.HasSuffix(path, ".log") && strings.Contains(path, r.text) {
			f.mu.hits++
			return r.errs
		}
	}
	return nil
}

// full tells whether some fault says that there is no room.
func (f *faultFS) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.mu.rules {
		if r.errs == syscall.ENOSPC {
			return true
		}
	}
	return false
}

// serve answers requests until the mount is gone.
func (f *faultFS) serve() {
	b := make([]byte, mostBytes+8192)
	for {
		n, err := unix.Read(f.fd, b)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil || n < requestHead {
			return
		}
		op, unique, node := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
		if op == opForget || op == opBatchForget || op == opInterrupt {
			continue
		}
		body, err := f.answer(op, node, b[requestHead:n])
		var no syscall.Errno
		if err != nil && !errors.As(err, &no) {
			no = syscall.EIO
		}
		if no != 0 {
			body = nil
		}
		var out bytes.Buffer
		put(&out, uint32(16+len(body)), -int32(no), unique)
		out.Write(body)
		_, _ = unix.Write(f.fd, out.Bytes()) // the caller may have been killed meanwhile
	}
}

func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		_ = binary.Write(b, binary.LittleEndian, v) // a buffer takes everything
	}
}

// pathOf is where a node is, or a name in it.
func (f *faultFS) pathOf(node uint64, name ...string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return filepath.Join(append([]string{f.mu.nodes[node]}, name...)...)
}

// nodeOf is a path's id.
func (f *faultFS) nodeOf(path string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := f.mu.ids[path]
	if id == 0 {
		f.mu.last++
		id = f.mu.last
		f.mu.ids[path], f.mu.nodes[id] = id, path
	}
	return id
}

// gone forgets a path that was removed.
func (f *faultFS) gone(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.mu.ids, path)
}

// moved gives nodes their new paths.
func (f *faultFS) moved(from, to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.mu.ids, to)
	for path, id := range f.mu.ids {
		if path == from || strings.HasPrefix(path, from+string(os.PathSeparator)) {
			delete(f.mu.ids, path)
			path = to + path[len(from):]
			f.mu.ids[path], f.mu.nodes[id] = id, path
		}
	}
	for _, h := range f.mu.handles {
		if h.path == from || strings.HasPrefix(h.path, from+string(os.PathSeparator)) {
			h.path = to + h.path[len(from):]
		}
	}
}

func (f *faultFS) keep(h *handle) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.last++
	f.mu.handles[f.mu.last] = h
	return f.mu.last
}

func (f *faultFS) handle(b []byte) (*handle, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.mu.handles[binary.LittleEndian.Uint64(b)]
	if h == nil {
		return nil, "", syscall.EBADF
	}
	return h, h.path, nil
}
