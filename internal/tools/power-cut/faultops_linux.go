package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// answer carries one request out and gives the body of the reply.
func (f *faultFS) answer(op uint32, node uint64, b []byte) ([]byte, error) {
	var out bytes.Buffer
	switch op {
	case opInit:
		const asyncRead, bigWrites, maxPages = 1, 1 << 5, 1 << 22
		put(&out, uint32(7), uint32(31), binary.LittleEndian.Uint32(b[8:]), uint32(asyncRead|bigWrites|maxPages), uint16(16), uint16(12),
			uint32(mostBytes), uint32(1), uint16(mostBytes/4096), uint16(0), [8]uint32{})
		return out.Bytes(), nil
	case opLookup:
		return f.entry(f.pathOf(node, text(b)))
	case opGetattr:
		return f.attributes(node, b)
	case opSetattr:
		return f.change(node, b)
	case opMkdir, opUnlink, opRmdir, opRename, opRename2:
		return f.names(op, node, b)
	case opOpen, opCreate:
		return f.open(op, node, b)
	case opOpendir:
		return f.list(f.pathOf(node))
	case opReaddir:
		return f.listed(b)
	case opRelease, opReleasedir:
		f.mu.Lock()
		h := f.mu.handles[binary.LittleEndian.Uint64(b)]
		delete(f.mu.handles, binary.LittleEndian.Uint64(b))
		f.mu.Unlock()
		if h != nil && h.fd >= 0 {
			return nil, unix.Close(h.fd)
		}
		return nil, nil
	case opRead, opWrite, opFsync, opFallocate:
		return f.bytes(op, b)
	case opFsyncdir:
		return nil, syncPath(f.pathOf(node))
	case opFlush, opAccess:
		return nil, nil
	case opStatfs:
		return f.room(f.pathOf(node))
	}
	return nil, syscall.ENOSYS
}

// text is a name that ends with a zero.
func text(b []byte) string { return string(b[:bytes.IndexByte(b, 0)]) }

func syncPath(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // it was only read
	return unix.Fsync(fd)
}

// entry tells of a path: its node and its attributes, which the kernel asks for each time.
func (f *faultFS) entry(path string) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	id := f.nodeOf(path)
	put(&out, id, uint64(0), uint64(0), uint64(0), uint64(0))
	putStat(&out, id, &st)
	return out.Bytes(), nil
}

func putStat(out *bytes.Buffer, id uint64, st *unix.Stat_t) {
	put(out, id, uint64(st.Size), uint64(st.Blocks), uint64(st.Atim.Sec), uint64(st.Mtim.Sec), uint64(st.Ctim.Sec), uint32(st.Atim.Nsec),
		uint32(st.Mtim.Nsec), uint32(st.Ctim.Nsec), st.Mode, uint32(st.Nlink), st.Uid, st.Gid, uint32(0), uint32(4096), uint32(0))
}

// attributes of an open file that was removed are asked for by its handle.
func (f *faultFS) attributes(node uint64, b []byte) ([]byte, error) {
	var st unix.Stat_t
	err := unix.Lstat(f.pathOf(node), &st)
	if binary.LittleEndian.Uint32(b)&1 != 0 {
		if h, _, e := f.handle(b[8:]); e == nil && h.fd >= 0 {
			err = unix.Fstat(h.fd, &st)
		}
	}
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	put(&out, uint64(0), uint64(0))
	putStat(&out, node, &st)
	return out.Bytes(), nil
}

// change is truncate and chmod; times are left as they are.
func (f *faultFS) change(node uint64, b []byte) ([]byte, error) {
	const mode, size, byHandle = 1, 8, 64
	valid, path := binary.LittleEndian.Uint32(b), f.pathOf(node)
	if valid&size != 0 {
		n := int64(binary.LittleEndian.Uint64(b[16:]))
		if valid&byHandle == 0 {
			if err := unix.Truncate(path, n); err != nil {
				return nil, err
			}
		} else if h, _, err := f.handle(b[8:]); err != nil {
			return nil, err
		} else if err := unix.Ftruncate(h.fd, n); err != nil {
			return nil, err
		}
	}
	if valid&mode != 0 {
		if err := unix.Chmod(path, binary.LittleEndian.Uint32(b[68:])); err != nil {
			return nil, err
		}
	}
	return f.attributes(node, make([]byte, 16))
}

// names makes, removes and renames.
func (f *faultFS) names(op uint32, node uint64, b []byte) ([]byte, error) {
	switch op {
	case opMkdir:
		path := f.pathOf(node, text(b[8:]))
		if err := unix.Mkdir(path, binary.LittleEndian.Uint32(b)&^binary.LittleEndian.Uint32(b[4:])); err != nil {
			return nil, err
		}
		return f.entry(path)
	case opUnlink, opRmdir:
		path := f.pathOf(node, text(b))
		remove := unix.Unlink
		if op == opRmdir {
			remove = unix.Rmdir
		}
		if err := remove(path); err != nil {
			return nil, err
		}
		f.gone(path)
		return nil, nil
	}
	target := binary.LittleEndian.Uint64(b)
	names := b[8:]
	if op == opRename2 {
		names = b[16:]
	}
	old, _, _ := strings.Cut(string(names), "\x00")
	from, to := f.pathOf(node, old), f.pathOf(target, text(names[len(old)+1:]))
	if err := unix.Rename(from, to); err != nil {
		return nil, err
	}
	f.moved(from, to)
	return nil, nil
}

func (f *faultFS) open(op uint32, node uint64, b []byte) ([]byte, error) {
	flags, path := int(binary.LittleEndian.Uint32(b)), f.pathOf(node)
	var out bytes.Buffer
	perm := uint32(0)
	if op == opCreate {
		path, perm = f.pathOf(node, text(b[16:])), binary.LittleEndian.Uint32(b[4:])&^binary.LittleEndian.Uint32(b[8:])
	}
	flags &^= unix.O_APPEND | unix.O_DIRECT | unix.O_NOFOLLOW
	if flags&unix.O_ACCMODE == unix.O_WRONLY { // the kernel reads what it fills a page with
		flags = flags&^unix.O_ACCMODE | unix.O_RDWR
	}
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, perm)
	if err != nil {
		return nil, err
	}
	if op == opCreate {
		entry, err := f.entry(path)
		if err != nil {
			_ = unix.Close(fd)
			return nil, err
		}
		out.Write(entry)
	}
	put(&out, f.keep(&handle{fd: fd, path: path}), uint32(0), uint32(0))
	return out.Bytes(), nil
}

// list reads a directory when it is opened.
func (f *faultFS) list(path string) ([]byte, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var list, out bytes.Buffer
	for _, e := range entries {
		kind := uint32(unix.DT_REG)
		if e.IsDir() {
			kind = unix.DT_DIR
		}
		name := e.Name()
		size := 24 + (len(name)+7)&^7
		put(&list, uint64(1), uint64(list.Len()+size), uint32(len(name)), kind)
		list.WriteString(name)
		list.Write(make([]byte, size-24-len(name)))
	}
	put(&out, f.keep(&handle{fd: -1, path: path, list: list.Bytes()}), uint32(0), uint32(0))
	return out.Bytes(), nil
}

// listed gives whole entries, as many as there is room for.
func (f *faultFS) listed(b []byte) ([]byte, error) {
	h, _, err := f.handle(b)
	if err != nil {
		return nil, err
	}
	from, room := int(binary.LittleEndian.Uint64(b[8:])), int(binary.LittleEndian.Uint32(b[16:]))
	end := from
	for end < len(h.list) {
		next := int(binary.LittleEndian.Uint64(h.list[end+8:]))
		if next-from > room {
			break
		}
		end = next
	}
	return h.list[from:end], nil
}

// bytes reads, writes and syncs; here is where faults are.
func (f *faultFS) bytes(op uint32, b []byte) ([]byte, error) {
	h, path, err := f.handle(b)
	if err != nil {
		return nil, err
	}
	off, size := int64(binary.LittleEndian.Uint64(b[8:])), 0
	if len(b) >= 20 {
		size = int(binary.LittleEndian.Uint32(b[16:]))
	}
	var out bytes.Buffer
	switch op {
	case opRead:
		if err := f.failing("read", path); err != nil {
			return nil, err
		}
		buf := make([]byte, size)
		n, err := unix.Pread(h.fd, buf, off)
		return buf[:max(n, 0)], err
	case opWrite:
		data := b[40 : 40+size]
		if err := f.failing("write", path); err != nil {
			if size < 2 || f.hit()%2 == 0 { // every other time half of it is written first
				return nil, err
			}
			data = data[:size/2]
		}
		n, err := unix.Pwrite(h.fd, data, off)
		put(&out, uint32(max(n, 0)), uint32(0))
		return out.Bytes(), err
	case opFallocate:
		if err := f.failing("write", path); err != nil {
			return nil, err
		}
		return nil, unix.Fallocate(h.fd, binary.LittleEndian.Uint32(b[24:]), off, int64(binary.LittleEndian.Uint64(b[16:])))
	}
	if err := f.failing("fsync", path); err != nil {
		return nil, err
	}
	return nil, unix.Fsync(h.fd)
}

// room tells of the file system; none is left while a fault says so.
func (f *faultFS) room(path string) ([]byte, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return nil, err
	}
	free := st.Bavail
	if f.full() {
		free = 0
	}
	var out bytes.Buffer
	put(&out, st.Blocks, free, free, st.Files, st.Ffree, uint32(st.Bsize), uint32(255), uint32(st.Bsize), [7]uint32{})
	return out.Bytes(), nil
}
