package tree

import "github.com/pelton-broker/pelton/zk/jute"

// SeedACL is for loading: it gives index ix of a snapshot its list.
func (t *Tree) SeedACL(ix int64, list []jute.ACL) {
	text := string(jute.AppendACL(nil, list))
	t.acls.byIndex[ix] = &aclEntry{list: list, text: text}
	t.acls.byText[text] = ix
	if ix > t.acls.last {
		t.acls.last = ix
	}
}

// Seed is for loading: it places a node of a snapshot, whose parent must have come before it. False when it has not.
func (t *Tree) Seed(path string, n *Node) bool {
	if path == "" {
		t.nodes[""] = n
	} else {
		dir, _ := split(path)
		if t.nodes[dir] == nil || t.nodes[path] != nil {
			return false
		}
		t.insert(path, n)
	}
	if e := t.acls.byIndex[n.acl]; e != nil {
		e.uses++
	} else {
		// The list came into being while the fuzzy snapshot was written: the replay of the transaction
		// that made it sets it again.
		n.acl = openACL
	}
	return true
}

// Seeded ends a load: unused lists go, quotas are found. False when the snapshot had no root.
func (t *Tree) Seeded() bool {
	if t.nodes[""] == nil {
		return false
	}
	for ix, e := range t.acls.byIndex {
		if e.uses == 0 {
			delete(t.acls.byIndex, ix)
			delete(t.acls.byText, e.text)
		}
	}
	t.setupQuotas()
	return true
}

// EnsureConfig adds the node /zookeeper/config, which trees of before 3.5 do not have.
func (t *Tree) EnsureConfig() {
	if t.nodes[configPath] == nil && t.nodes[systemPath] != nil {
		readable := []jute.ACL{{Perms: jute.PermRead, ID: jute.ID{Scheme: "world", ID: "anyone"}}}
		t.insert(configPath, &Node{Data: []byte{}, Aversion: -1, acl: t.acls.use(readable)})
	}
}
