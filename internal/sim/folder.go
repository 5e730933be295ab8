package sim

import (
	"io/fs"
	"sort"
	"time"
)

// folder is a directory: names as they are, names as the platter has them, and the changes between the two, in order.
type folder struct {
	names   map[string]*node
	platter map[string]*node
	changes []change
}

// node is a file or a folder.
type node struct {
	file    *inode
	dir     *folder
	birthMs int64
}

// change is one operation on names: a new one, a removal (node nil), or a rename, which is both at once.
type change struct {
	name string
	node *node
	from string // the old name of a rename
}

func newFolder() *folder { return &folder{names: map[string]*node{}, platter: map[string]*node{}} }

func (c change) apply(to map[string]*node) {
	if c.from != "" {
		delete(to, c.from)
	}
	if c.node == nil {
		delete(to, c.name)
		return
	}
	to[c.name] = c.node
}

func (f *folder) do(c change) {
	c.apply(f.names)
	f.changes = append(f.changes, c)
}

// sync makes the names durable.
func (f *folder) sync() {
	for _, c := range f.changes {
		c.apply(f.platter)
	}
	f.changes = nil
}

// powerCut keeps some first changes of every folder, and cuts the files that are left.
func (f *folder) powerCut(r *Rand) {
	keep := 0
	switch r.Intn(3) {
	case 1:
		keep = len(f.changes)
	case 2:
		keep = r.Intn(len(f.changes) + 1)
	}
	f.changes = f.changes[:keep]
	f.sync()
	clear(f.names)
	for name, n := range f.platter {
		f.names[name] = n
	}
	for _, name := range f.sorted() {
		n := f.names[name]
		if n.dir != nil {
			n.dir.powerCut(r)
		} else {
			n.file.powerCut(r)
		}
	}
}

func (f *folder) sorted() []string {
	names := make([]string, 0, len(f.names))
	for name := range f.names {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// used is the bytes of all files below.
func (f *folder) used() int64 {
	var sum int64
	for _, n := range f.names {
		if n.dir != nil {
			sum += n.dir.used()
		} else {
			sum += int64(len(n.file.cache))
		}
	}
	return sum
}

// entry is what ReadDir and Stat say of a node.
type entry struct {
	name string
	n    *node
}

// The methods of fs.DirEntry and fs.FileInfo.

func (e entry) Name() string { return e.name }
func (e entry) IsDir() bool  { return e.n.dir != nil }
func (e entry) Type() fs.FileMode {
	if e.IsDir() {
		return fs.ModeDir
	}
	return 0
}
func (e entry) Info() (fs.FileInfo, error) { return e, nil }
func (e entry) Mode() fs.FileMode          { return e.Type() | 0o644 }
func (e entry) ModTime() time.Time         { return time.UnixMilli(e.n.birthMs) }
func (e entry) Sys() any                   { return nil }
func (e entry) Size() int64 {
	if e.IsDir() {
		return 0
	}
	return int64(len(e.n.file.cache))
}
