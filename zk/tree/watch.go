package tree

import "strings"

// Watcher is whoever is told of events: an opaque, comparable value (a connection).
type Watcher any

// watch modes of one watcher on one path; a watcher may have several.
type mode uint8

const (
	standard mode = 1 << iota
	lasting
	recursive
)

// Modes of addWatch.
const (
	AddPersistent          int32 = 0
	AddPersistentRecursive int32 = 1
)

// Types of checkWatches and removeWatches.
const (
	WatchChildren int32 = 1
	WatchData     int32 = 2
	WatchAny      int32 = 3
	WatchLasting  int32 = 4
	WatchBelow    int32 = 5
)

// watchTable is one of the two tables, that of data watches (exists included) or of child watches.
type watchTable struct {
	byPath    map[string]map[Watcher]mode
	byWatcher map[Watcher]*paths
	recursive int // watches of that mode; 0 saves the walk to the root
	fired     []Watcher
}

// paths is a set of paths. Most watchers watch one at a time, and that one needs no map.
type paths struct {
	one  string // when any
	any  bool
	more map[string]struct{}
}

// add takes a path that is not in the set.
func (p *paths) add(path string) {
	if !p.any {
		p.one, p.any = path, true
		return
	}
	if p.more == nil {
		p.more = map[string]struct{}{}
	}
	p.more[path] = struct{}{}
}

// remove takes a path out, and says whether the set is empty now.
func (p *paths) remove(path string) (empty bool) {
	if p.any && p.one == path {
		p.one, p.any = "", false
	} else {
		delete(p.more, path)
	}
	return !p.any && len(p.more) == 0
}

func newWatchTable() watchTable {
	return watchTable{byPath: map[string]map[Watcher]mode{}, byWatcher: map[Watcher]*paths{}}
}

func (w *watchTable) add(path string, who Watcher, m mode) {
	set := w.byPath[path]
	if set == nil {
		set = map[Watcher]mode{}
		w.byPath[path] = set
	}
	old := set[who]
	if m == recursive && old&recursive == 0 {
		w.recursive++
	}
	set[who] = old | m
	if old != 0 {
		return
	}
	has := w.byWatcher[who]
	if has == nil {
		has = &paths{}
		w.byWatcher[who] = has
	}
	has.add(path)
}

func (w *watchTable) has(path string, who Watcher, m mode) bool { return w.byPath[path][who]&m != 0 }

// remove takes away modes and says whether there was any of them.
func (w *watchTable) remove(path string, who Watcher, m mode) bool {
	set := w.byPath[path]
	old := set[who]
	if old&m == 0 {
		return false
	}
	if old&m&recursive != 0 {
		w.recursive--
	}
	if left := old &^ m; left != 0 {
		set[who] = left
		return true
	}
	delete(set, who)
	if len(set) == 0 {
		delete(w.byPath, path)
	}
	if has := w.byWatcher[who]; has.remove(path) {
		delete(w.byWatcher, who)
	}
	return true
}

func (w *watchTable) removeWatcher(who Watcher) {
	has := w.byWatcher[who]
	if has == nil {
		return
	}
	if has.any {
		w.remove(has.one, who, standard|lasting|recursive)
	}
	for path := range has.more {
		w.remove(path, who, standard|lasting|recursive)
	}
}

// fire lists in w.fired who watches path (or, recursively, something above it) and takes the one-shot watches away.
func (w *watchTable) fire(path string) {
	w.fired = w.fired[:0]
	for who, m := range w.byPath[path] {
		w.fired = append(w.fired, who)
		if m&standard != 0 {
			w.remove(path, who, standard)
		}
	}
	if w.recursive == 0 {
		return
	}
	for up := path; up != "/" && up != ""; {
		if up = up[:strings.LastIndexByte(up, '/')]; up == "" {
			up = "/"
		}
		for who, m := range w.byPath[up] {
			if m&recursive != 0 && !contains(w.fired, who) {
				w.fired = append(w.fired, who)
			}
		}
	}
}

func contains(list []Watcher, who Watcher) bool {
	for _, w := range list {
		if w == who {
			return true
		}
	}
	return false
}

// counts for four-letter words: watchers, watched paths, watches.
func (w *watchTable) counts() (watchers, paths, watches int) {
	for _, set := range w.byPath {
		watches += len(set)
	}
	return len(w.byWatcher), len(w.byPath), watches
}
