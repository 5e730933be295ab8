package sim

import "io"

// sector is what the disk writes whole or not at all.
const sector = 512

// inode is a file: the cache is what reads see, the platter is what was synced.
type inode struct {
	cache   []byte
	platter []byte
	dirty   []bool // by sector of the cache: written since the last sync
	cutTo   int64  // the smallest length since the last sync, -1 when it was never shortened
}

func newInode() *inode { return &inode{cutTo: -1} }

func (n *inode) mark(from, to int64) {
	for s := from / sector; s*sector < to; s++ {
		for int64(len(n.dirty)) <= s {
			n.dirty = append(n.dirty, false)
		}
		n.dirty[s] = true
	}
}

func (n *inode) resize(size int64) {
	old := int64(len(n.cache))
	switch {
	case size < old:
		n.cache = n.cache[:size]
		if n.cutTo < 0 || size < n.cutTo {
			n.cutTo = size
		}
	case size > old:
		n.cache = append(n.cache, make([]byte, size-old)...)
	}
}

func (n *inode) readAt(b []byte, off int64) (int, error) {
	if off >= int64(len(n.cache)) {
		return 0, io.EOF
	}
	k := copy(b, n.cache[off:])
	if k < len(b) {
		return k, io.EOF
	}
	return k, nil
}

func (n *inode) writeAt(b []byte, off int64) {
	if end := off + int64(len(b)); end > int64(len(n.cache)) {
		n.resize(end)
	}
	copy(n.cache[off:], b)
	n.mark(off, off+int64(len(b)))
}

// sync puts everything on the platter.
func (n *inode) sync() {
	n.platter = append(n.platter[:0], n.cache...)
	n.forget()
}

// forget calls all pages clean without writing them: what a kernel does after a failed sync.
func (n *inode) forget() {
	clear(n.dirty)
	n.cutTo = -1
}

// powerCut leaves the platter and some of what was not synced: no, all, the first, or any sectors; and a length between the old and the new.
func (n *inode) powerCut(r *Rand) {
	how := r.Intn(4)
	if n.cutTo >= 0 {
		if how == 0 { // the shortening did not reach the journal, nor did anything behind it
			n.afterCut()
			return
		}
		n.platter = n.platter[:min(int64(len(n.platter)), n.cutTo)]
	}
	size := int64(len(n.platter))
	if grown := int64(len(n.cache)) - size; grown > 0 {
		switch how {
		case 1:
			size += grown
		case 2:
			size += int64(r.Intn(int(grown) + 1))
		case 3:
			size += int64(r.Of(0, int(grown), int(grown)&^(sector-1)))
		}
	}
	n.platter = append(n.platter, make([]byte, max(size-int64(len(n.platter)), 0))...)
	first := r.Intn(len(n.dirty) + 1)
	for s, dirty := range n.dirty {
		keep := how == 1 || how == 2 && s < first || how == 3 && r.Percent(50)
		if from := int64(s) * sector; dirty && keep && from < size && from < int64(len(n.cache)) {
			copy(n.platter[from:min(from+sector, size)], n.cache[from:])
		}
	}
	n.afterCut()
}

func (n *inode) afterCut() {
	n.cache = append(n.cache[:0], n.platter...)
	n.forget()
}
