package tree

import "github.com/pelton-broker/pelton/zk/jute"

// WatchData sets a one-shot watch on a node's data or its coming into being.
func (t *Tree) WatchData(path string, who Watcher) { t.dataWatches.add(path, who, standard) }

// WatchChildren sets a one-shot watch on a node's children.
func (t *Tree) WatchChildren(path string, who Watcher) { t.childWatches.add(path, who, standard) }

// AddWatch sets a lasting watch. A recursive one lives in the data table alone: it hears of every change of a
// node at or below its path, and changes of children are changes of nodes below it.
func (t *Tree) AddWatch(path string, who Watcher, mode int32) {
	if mode == AddPersistentRecursive {
		t.dataWatches.add(path, who, recursive)
		return
	}
	t.dataWatches.add(path, who, lasting)
	t.childWatches.add(path, who, lasting)
}

// kindModes are the modes that a kind of watch means in the data and in the child table.
func kindModes(kind int32) (data, child mode) {
	switch kind {
	case WatchChildren:
		return 0, standard
	case WatchData:
		return standard, 0
	case WatchLasting:
		return lasting, lasting
	case WatchBelow:
		return recursive, 0
	}
	return standard | lasting | recursive, standard | lasting | recursive
}

// HasWatch says whether who has a watch of that kind on path.
func (t *Tree) HasWatch(path string, who Watcher, kind int32) bool {
	data, child := kindModes(kind)
	return t.dataWatches.has(path, who, data) || t.childWatches.has(path, who, child)
}

// RemoveWatch takes the watches of that kind on path from who; false when there was none.
func (t *Tree) RemoveWatch(path string, who Watcher, kind int32) bool {
	data, child := kindModes(kind)
	found := t.dataWatches.remove(path, who, data)
	return t.childWatches.remove(path, who, child) || found
}

// RemoveWatcher forgets all watches of who.
func (t *Tree) RemoveWatcher(who Watcher) {
	t.dataWatches.removeWatcher(who)
	t.childWatches.removeWatcher(who)
}

// Rewatch is what a client that comes back had watches on.
type Rewatch struct {
	Data, Exist, Children, Persistent, Recursive []string
}

// Rewatch sets the watches anew and makes up the events that were missed since zxid; those carry zxid -1. The
// events of nodes that are gone carry no ACL: there is nothing left to protect.
func (t *Tree) Rewatch(who Watcher, since int64, w *Rewatch) {
	missed := func(path string, event int32, n *Node) {
		ev := Event{Who: who, Type: event, Path: path, Zxid: -1}
		if n != nil {
			ev.ACL = t.ACLOf(n)
		}
		t.events = append(t.events, ev)
	}
	for _, path := range w.Data {
		switch n := t.Get(path); {
		case n == nil:
			missed(path, jute.EventDeleted, nil)
		case n.Mzxid > since:
			missed(path, jute.EventDataChanged, n)
		default:
			t.WatchData(path, who)
		}
	}
	for _, path := range w.Exist {
		if n := t.Get(path); n != nil {
			missed(path, jute.EventCreated, n)
		} else {
			t.WatchData(path, who)
		}
	}
	for _, path := range w.Children {
		switch n := t.Get(path); {
		case n == nil:
			missed(path, jute.EventDeleted, nil)
		case n.Pzxid > since:
			missed(path, jute.EventChildrenChanged, n)
		default:
			t.WatchChildren(path, who)
		}
	}
	for _, path := range w.Persistent {
		t.AddWatch(path, who, AddPersistent)
	}
	for _, path := range w.Recursive {
		t.AddWatch(path, who, AddPersistentRecursive)
	}
}

// WatchCounts are the watchers, the watched paths and the watches of both tables.
func (t *Tree) WatchCounts() (watchers, paths, watches int) {
	_, dp, dw := t.dataWatches.counts()
	_, cp, cw := t.childWatches.counts()
	all := make(map[Watcher]struct{}, len(t.dataWatches.byWatcher))
	for who := range t.dataWatches.byWatcher {
		all[who] = struct{}{}
	}
	for who := range t.childWatches.byWatcher {
		all[who] = struct{}{}
	}
	return len(all), dp + cp, dw + cw
}

// DataWatchCounts are those of the data table alone, which is all that ZooKeeper's words and commands tell of.
func (t *Tree) DataWatchCounts() (watchers, paths, watches int) { return t.dataWatches.counts() }

// EachDataWatch calls fn for every watch of the data table.
func (t *Tree) EachDataWatch(fn func(path string, who Watcher)) {
	for path, set := range t.dataWatches.byPath {
		for who := range set {
			fn(path, who)
		}
	}
}
