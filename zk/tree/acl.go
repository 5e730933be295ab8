package tree

import (
	"net/netip"
	"slices"
	"sort"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
)

// openACL is the list with index -1: everybody may do everything.
const openACL = int64(-1)

// OpenACL gives everybody everything.
func OpenACL() []jute.ACL {
	return []jute.ACL{{Perms: jute.PermAll, ID: jute.ID{Scheme: "world", ID: "anyone"}}}
}

// aclTable shares equal lists between nodes; snapshots hold the indexes.
type aclTable struct {
	byIndex map[int64]*aclEntry
	byText  map[string]int64
	last    int64
	open    []jute.ACL
}

type aclEntry struct {
	list []jute.ACL
	text string
	uses int
}

func newACLTable() aclTable {
	return aclTable{byIndex: map[int64]*aclEntry{}, byText: map[string]int64{}, open: OpenACL()}
}

// isOpen knows the list that nearly every node has without building a key.
func isOpen(list []jute.ACL) bool {
	return len(list) == 1 && list[0].Perms == jute.PermAll && list[0].Scheme == "world" && list[0].ID.ID == "anyone"
}

// use returns the index of list and counts one more node with it.
func (a *aclTable) use(list []jute.ACL) int64 {
	if list == nil || isOpen(list) {
		return openACL
	}
	key := string(jute.AppendACL(nil, list))
	ix, ok := a.byText[key]
	if !ok {
		a.last++
		ix = a.last
		a.byText[key] = ix
		a.byIndex[ix] = &aclEntry{list: list, text: key}
	}
	a.byIndex[ix].uses++
	return ix
}

func (a *aclTable) drop(ix int64) {
	e := a.byIndex[ix]
	if e == nil {
		return
	}
	if e.uses--; e.uses <= 0 {
		delete(a.byIndex, ix)
		delete(a.byText, e.text)
	}
}

// list of an index. An index without a list can come only from a fuzzy snapshot, whose replay sets
// the list before anybody reads it.
func (a *aclTable) list(ix int64) []jute.ACL {
	if e := a.byIndex[ix]; e != nil {
		return e.list
	}
	return a.open
}

func (a *aclTable) indexes() []int64 {
	out := make([]int64, 0, len(a.byIndex))
	for ix := range a.byIndex {
		out = append(out, ix)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// Allowed says whether somebody who is ids has one of perms by list.
func Allowed(list []jute.ACL, perms int32, ids []jute.ID) bool {
	if len(list) == 0 {
		return true
	}
	for i := range ids {
		if ids[i].Scheme == "super" {
			return true
		}
	}
	for i := range list {
		a := &list[i]
		if a.Perms&perms == 0 {
			continue
		}
		if a.Scheme == "world" && a.ID.ID == "anyone" {
			return true
		}
		for j := range ids {
			if ids[j].Scheme == a.Scheme && matches(a.Scheme, ids[j].ID, a.ID.ID) {
				return true
			}
		}
	}
	return false
}

func matches(scheme, id, want string) bool {
	if scheme != "ip" {
		return id == want
	}
	net, err := parseNet(want)
	addr, err2 := netip.ParseAddr(id)
	return err == nil && err2 == nil && net.Contains(addr.Unmap())
}

func parseNet(s string) (netip.Prefix, error) {
	addr, bits, has := strings.Cut(s, "/")
	if !has {
		a, err := netip.ParseAddr(addr)
		if err != nil {
			return netip.Prefix{}, err
		}
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	_ = bits
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err
}

// FixACL checks a list that a client sends and replaces the auth scheme by the client's own identities. schemes may stand in it besides
// the four that always may.
func FixACL(list []jute.ACL, ids []jute.ID, schemes []string) ([]jute.ACL, jute.Code) {
	if isOpen(list) {
		return list, jute.OK
	}
	out := make([]jute.ACL, 0, len(list))
	for i, a := range list {
		if seen(list[:i], a) {
			continue
		}
		switch a.Scheme {
		case "world":
			if a.ID.ID != "anyone" {
				return nil, jute.InvalidACL
			}
			out = append(out, a)
		case "auth":
			valid := false
			for _, id := range ids {
				if id.Scheme == "digest" || id.Scheme == "sasl" || id.Scheme == "x509" {
					valid = true
					out = append(out, jute.ACL{Perms: a.Perms, ID: id})
				}
			}
			if !valid {
				return nil, jute.InvalidACL
			}
		default:
			if !validID(a.Scheme, a.ID.ID) && !slices.Contains(schemes, a.Scheme) {
				return nil, jute.InvalidACL
			}
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return nil, jute.InvalidACL
	}
	return out, jute.OK
}

func seen(list []jute.ACL, a jute.ACL) bool {
	for i := range list {
		if list[i] == a {
			return true
		}
	}
	return false
}

func validID(scheme, id string) bool {
	switch scheme {
	case "digest":
		// Java's split drops empty parts at the end, so "user:" is one part and ":x" are two.
		return len(strings.Split(strings.TrimRight(id, ":"), ":")) == 2
	case "ip":
		_, err := parseNet(id)
		return err == nil
	}
	return false
}

// MaskACL hides the hashes of digest entries from whoever may not administer the node.
func MaskACL(list []jute.ACL) []jute.ACL {
	out := append([]jute.ACL(nil), list...)
	for i := range out {
		if user, _, has := strings.Cut(out[i].ID.ID, ":"); has && out[i].Scheme == "digest" {
			out[i].ID.ID = user + ":x"
		}
	}
	return out
}
