package tree

import (
	"sort"

	"github.com/pelton-broker/pelton/zk/jute"
)

// Walk goes over the tree in pieces, so that a snapshot can be written while transactions are applied
// in between. What it yields is fuzzy: a node may be newer than the walk's start, and nodes created or
// removed meanwhile may or may not be there. Parents come before their children.
type Walk struct {
	t    *Tree
	path []string // paths still to visit, the next one last
}

// sortUpTo is how many children are visited in the order of their names, so that runs can be repeated; more would take too long.
const sortUpTo = 1024

// Walk starts one.
func (t *Tree) Walk() *Walk { return &Walk{t: t, path: []string{""}} }

// Next yields the next node; n is nil at the end.
func (w *Walk) Next() (path string, n *Node) {
	for len(w.path) > 0 {
		path = w.path[len(w.path)-1]
		w.path = w.path[:len(w.path)-1]
		// A node that is gone meanwhile is left out, and with it all below.
		if n = w.t.nodes[path]; n == nil {
			continue
		}
		from := len(w.path)
		for name := range n.children {
			w.path = append(w.path, path+"/"+name)
		}
		if len(w.path)-from <= sortUpTo {
			sort.Strings(w.path[from:])
		}
		return path, n
	}
	return "", nil
}

// EachACL calls fn for each list in the table, in order of its index.
func (t *Tree) EachACL(fn func(ix int64, list []jute.ACL)) {
	for _, ix := range t.acls.indexes() {
		fn(ix, t.acls.byIndex[ix].list)
	}
}

// ACLs is the number of lists in the table.
func (t *Tree) ACLs() int { return len(t.acls.byIndex) }
