package sim

import (
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
)

// Call is a kind of call on the volume, for faults and the trace.
type Call uint8

// The kinds of call.
const (
	CallRead Call = iota
	CallWrite
	CallSync
	CallName // create, rename, remove
	calls
)

// Fault is an error that is waiting for its call.
type Fault struct {
	Call  Call
	Errno syscall.Errno
	Root  string // of the log directory
	After int    // calls of that kind that still go well
}

// Volume is the virtual disk with its file system; it implements disk.FS.
type Volume struct {
	rand   *Rand
	clk    *clock.Manual
	root   *folder
	locks  map[string]bool
	roots  []string
	full   map[string]bool // directories without room
	spoilt map[string]bool // directories where a sync failed: only a restart of the machine shows what is left
	armed  []Fault
	// Fired says which faults struck, by directory; the world empties it.
	Fired []Fault
	// Budget is how many calls are left before the machine stops; below 0 it runs on.
	Budget int
	dead   bool
	// Cut is called before each call of a job, so that the shard may go on in between.
	Cut func()
	// Say is told every call, when it is set.
	Say   func(format string, a ...any)
	trace uint64
	count int
}

// NewVolume makes an empty one.
func NewVolume(r *Rand, clk *clock.Manual, roots ...string) *Volume {
	return &Volume{
		rand: r, clk: clk, root: newFolder(), locks: map[string]bool{}, roots: roots, full: map[string]bool{}, spoilt: map[string]bool{}, Budget: -1,
	}
}

// Arm makes a later call fail.
func (v *Volume) Arm(f Fault) { v.armed = append(v.armed, f) }

// Note puts something into the trace, which two runs of one seed must share.
func (v *Volume) Note(what string, more ...int64) {
	h := fnv.New64a()
	var b [8]byte
	for _, x := range append(more, int64(v.trace)) {
		for i := range b {
			b[i] = byte(x >> (8 * i))
		}
		_, _ = h.Write(b[:])
	}
	_, _ = io.WriteString(h, what)
	v.trace = h.Sum64()
}

func (v *Volume) rootOf(path string) string {
	for _, r := range v.roots {
		if path == r || strings.HasPrefix(path, r+"/") {
			return r
		}
	}
	return ""
}

// enter is where every call begins: it may stop the machine, fail, or let the shard go on.
func (v *Volume) enter(call Call, op, path string) error {
	if v.Cut != nil {
		v.Cut()
	}
	v.count++
	v.Note(op+path, int64(call))
	if v.Budget == 0 {
		v.dead = true
	}
	if v.Say != nil {
		v.Say("  %s %s (dead %v)", op, path, v.dead)
	}
	if v.dead {
		return syscall.ENXIO
	}
	if v.Budget > 0 {
		v.Budget--
	}
	root := v.rootOf(path)
	for i := range v.armed {
		f := &v.armed[i]
		if f.Call != call || f.Root != root {
			continue
		}
		if f.After > 0 {
			f.After--
			continue
		}
		struck := *f
		v.armed = append(v.armed[:i], v.armed[i+1:]...)
		v.Fired = append(v.Fired, struck)
		return struck.Errno
	}
	return nil
}

// Dead tells whether the machine has stopped.
func (v *Volume) Dead() bool { return v.dead }

// Kill ends the process: what it wrote stays in the cache.
func (v *Volume) Kill() { v.revive() }

// PowerCut loses what was not synced, or some of it.
func (v *Volume) PowerCut() {
	v.root.powerCut(v.rand)
	clear(v.spoilt)
	v.revive()
}

func (v *Volume) revive() {
	clear(v.locks)
	v.dead, v.Budget, v.armed, v.Fired = false, -1, nil, nil
}

// Spoilt tells whether a sync failed since the last restart of the machine.
func (v *Volume) Spoilt() bool { return len(v.spoilt) > 0 }

// Fill and Empty take a directory's room away and give it back.
func (v *Volume) Fill(root string) { v.full[root] = true }

// Empty gives the room back.
func (v *Volume) Empty(root string) { delete(v.full, root) }

func (v *Volume) walk(path string) (parent *folder, name string, n *node) {
	n = &node{dir: v.root}
	for _, part := range strings.Split(strings.Trim(path, "/"), "/") {
		if part == "" {
			continue
		}
		if n == nil || n.dir == nil {
			return nil, part, nil
		}
		parent, name = n.dir, part
		n = parent.names[part]
	}
	return parent, name, n
}

func fail(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &disk.Error{Op: op, Path: path, Err: err}
}

// OpenFile implements disk.FS.
func (v *Volume) OpenFile(path string, flag int, _ fs.FileMode) (*disk.File, error) {
	call := CallRead
	parent, name, n := v.walk(path)
	if flag&os.O_CREATE != 0 && n == nil {
		call = CallName
	}
	if err := v.enter(call, "open", path); err != nil {
		return nil, fail("open", path, err)
	}
	parent, name, n = v.walk(path) // the shard may have gone on
	switch {
	case parent == nil, n == nil && flag&os.O_CREATE == 0:
		return nil, fail("open", path, syscall.ENOENT)
	case n == nil:
		if v.full[v.rootOf(path)] {
			return nil, fail("open", path, syscall.ENOSPC)
		}
		n = &node{file: newInode(), birthMs: v.clk.WallMs()}
		parent.do(change{name: name, node: n})
	case n.dir != nil:
		return nil, fail("open", path, syscall.EISDIR)
	case flag&os.O_TRUNC != 0:
		n.file.resize(0)
	}
	return disk.NewVirtual(&handle{v: v, n: n.file, path: path}, path), nil
}

// Mkdir implements disk.FS.
func (v *Volume) Mkdir(path string) error { return v.mkdir(path, false) }

// MkdirAll implements disk.FS.
func (v *Volume) MkdirAll(path string) error { return v.mkdir(path, true) }

func (v *Volume) mkdir(path string, all bool) error {
	if err := v.enter(CallName, "mkdir", path); err != nil {
		return fail("mkdir", path, err)
	}
	parent, name, n := v.walk(path)
	switch {
	case n != nil && n.dir != nil && all:
		return nil
	case n != nil:
		return fail("mkdir", path, syscall.EEXIST)
	case parent == nil && !all:
		return fail("mkdir", path, syscall.ENOENT)
	case parent == nil:
		if err := v.mkdir(filepath.Dir(path), true); err != nil {
			return err
		}
		parent, name, _ = v.walk(path)
	}
	if v.full[v.rootOf(path)] {
		return fail("mkdir", path, syscall.ENOSPC)
	}
	parent.do(change{name: name, node: &node{dir: newFolder(), birthMs: v.clk.WallMs()}})
	return nil
}

// Rename implements disk.FS; both names are in one folder.
func (v *Volume) Rename(oldPath, newPath string) error {
	if err := v.enter(CallName, "rename", oldPath); err != nil {
		return fail("rename", oldPath, err)
	}
	parent, name, n := v.walk(oldPath)
	to, newName, _ := v.walk(newPath)
	if n == nil {
		return fail("rename", oldPath, syscall.ENOENT)
	}
	if parent != to {
		return fail("rename", oldPath, syscall.EXDEV)
	}
	if newName != name {
		parent.do(change{name: newName, node: n, from: name})
	}
	return nil
}

// Remove implements disk.FS.
func (v *Volume) Remove(path string) error {
	if err := v.enter(CallName, "remove", path); err != nil {
		return fail("remove", path, err)
	}
	parent, name, n := v.walk(path)
	if n == nil {
		return fail("remove", path, syscall.ENOENT)
	}
	if n.dir != nil && len(n.dir.names) > 0 {
		return fail("remove", path, syscall.ENOTEMPTY)
	}
	parent.do(change{name: name})
	return nil
}

// RemoveAll implements disk.FS.
func (v *Volume) RemoveAll(path string) error {
	_, _, n := v.walk(path)
	if n == nil {
		return nil
	}
	if n.dir != nil {
		for _, name := range n.dir.sorted() {
			if err := v.RemoveAll(path + "/" + name); err != nil {
				return err
			}
		}
	}
	return v.Remove(path)
}

// ReadDir implements disk.FS.
func (v *Volume) ReadDir(path string) ([]fs.DirEntry, error) {
	if err := v.enter(CallRead, "readdir", path); err != nil {
		return nil, fail("readdir", path, err)
	}
	_, _, n := v.walk(path)
	if n == nil || n.dir == nil {
		return nil, fail("readdir", path, syscall.ENOENT)
	}
	var list []fs.DirEntry
	for _, name := range n.dir.sorted() {
		list = append(list, entry{name, n.dir.names[name]})
	}
	return list, nil
}

// Stat implements disk.FS.
func (v *Volume) Stat(path string) (fs.FileInfo, error) {
	if err := v.enter(CallRead, "stat", path); err != nil {
		return nil, fail("stat", path, err)
	}
	_, name, n := v.walk(path)
	if n == nil {
		return nil, fail("stat", path, syscall.ENOENT)
	}
	return entry{name, n}, nil
}

// ReadFile implements disk.FS.
func (v *Volume) ReadFile(path string) ([]byte, error) {
	if err := v.enter(CallRead, "read", path); err != nil {
		return nil, fail("read", path, err)
	}
	_, _, n := v.walk(path)
	if n == nil || n.file == nil {
		return nil, fail("read", path, syscall.ENOENT)
	}
	return append([]byte(nil), n.file.cache...), nil
}

// WriteFileAtomic implements disk.FS by the same calls as the real one.
func (v *Volume) WriteFileAtomic(path string, b []byte) error {
	temp := path + ".tmp"
	if v.Say != nil {
		v.Say("  content %s %.200q", path, b)
	}
	f, err := v.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(b, 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = v.Rename(temp, path)
	}
	if err != nil {
		_ = v.Remove(temp)
		return err
	}
	return v.SyncDir(filepath.Dir(path))
}

// SyncDir implements disk.FS.
func (v *Volume) SyncDir(path string) error {
	if err := v.enter(CallSync, "syncdir", path); err != nil {
		return fail("fsync", path, err)
	}
	_, _, n := v.walk(path)
	if n == nil || n.dir == nil {
		return fail("open", path, syscall.ENOENT)
	}
	n.dir.sync()
	return nil
}

// Lock implements disk.FS.
func (v *Volume) Lock(path string) (io.Closer, error) {
	if v.locks[path] {
		return nil, fail("lock", path, disk.ErrLocked)
	}
	f, err := v.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	v.locks[path] = true
	return unlock{v, path, f}, nil
}

type unlock struct {
	v    *Volume
	path string
	f    *disk.File
}

// Close gives the lock back.
func (u unlock) Close() error {
	delete(u.v.locks, u.path)
	return u.f.Close()
}

// Free implements disk.FS.
func (v *Volume) Free(path string) (free, total int64, err error) {
	if v.dead {
		return 0, 0, fail("statfs", path, syscall.ENXIO)
	}
	if v.full[v.rootOf(path)] {
		return 0, 1 << 30, nil
	}
	return 1 << 29, 1 << 30, nil
}
