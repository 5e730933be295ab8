package tree

import (
	"slices"
	"strconv"
	"strings"
)

// A quota on /a is the node /zookeeper/quota/a with two children: zookeeper_limits says what is allowed
// (hard limits are kept with EnforceQuota alone, and the others are never more than advice) and zookeeper_stats what is there.
const (
	limitsName = "zookeeper_limits"
	statsName  = "zookeeper_stats"
)

// quotaPrefix is the path that a node below /zookeeper/quota speaks of; "" when of none: such nodes end an
// Apache server, here they mean nothing.
func quotaPrefix(dir string) string {
	if dir != quotaPath && !strings.HasPrefix(dir, quotaPath+"/") {
		return ""
	}
	return dir[len(quotaPath):]
}

func (t *Tree) quotaCreated(path string) {
	if !strings.HasPrefix(path, quotaPath) {
		return
	}
	dir, name := split(path)
	of := quotaPrefix(dir)
	if of == "" {
		return
	}
	switch name {
	case limitsName:
		t.quotas[of] = struct{}{}
	case statsName:
		t.recount(of)
	}
}

func (t *Tree) quotaRemoved(path string) {
	if len(t.quotas) == 0 || !strings.HasPrefix(path, quotaPath) {
		return
	}
	if dir, name := split(path); name == limitsName {
		delete(t.quotas, quotaPrefix(dir))
	}
}

// countQuota adds to the statistics of the longest quota path at or above path.
func (t *Tree) countQuota(path string, bytes, count int64) {
	if len(t.quotas) == 0 {
		return
	}
	for up := path; up != ""; up, _ = split(up) {
		if _, ok := t.quotas[up]; ok {
			t.addStats(up, bytes, count)
			return
		}
	}
}

func (t *Tree) addStats(of string, bytes, count int64) {
	n := t.nodes[quotaPath+of+"/"+statsName]
	if n == nil {
		return
	}
	stats, ok := parseStats(n.Data)
	if !ok {
		return
	}
	stats.count += count
	stats.bytes += bytes
	t.setStats(n, stats)
}

func (t *Tree) setStats(n *Node, s quotaStats) {
	was := len(n.Data)
	n.Data = s.appendTo(nil)
	t.dataBytes += int64(len(n.Data) - was)
}

// withinQuota says whether a write may add bytes and nodes where the limits nearest to path count. What it is added to is what has been applied: writes
// that are under way together may go past a limit together, as Apache's do.
func (t *Tree) withinQuota(path string, bytes, count int64) bool {
	if !t.EnforceQuota || len(t.quotas) == 0 {
		return true
	}
	for up := path; up != ""; up, _ = split(up) {
		if _, ok := t.quotas[up]; !ok {
			continue
		}
		limits, known := t.quotaText(up, limitsName)
		used, counted := t.quotaText(up, statsName)
		if known && counted && (over(used.count, count, limits.hardCount) || over(used.bytes, bytes, limits.hardBytes)) {
			t.exceeded(up)
			return false
		}
		return true
	}
	return true
}

// over: a write that changes nothing of what is limited passes, also where the limit is broken already; one that takes away does not.
func over(used, more, limit int64) bool { return more != 0 && limit >= 0 && used+more > limit }

func (t *Tree) quotaText(of, name string) (quotaStats, bool) {
	n := t.nodes[quotaPath+of+"/"+name]
	if n == nil {
		return quotaStats{}, false
	}
	return parseStats(n.Data)
}

// exceeded counts a refusal for the child of the root that it is below.
func (t *Tree) exceeded(of string) {
	top, _, _ := strings.Cut(of[1:], "/")
	if t.Exceeded == nil {
		t.Exceeded = map[string]int64{}
	}
	t.Exceeded[top]++
}

// recount fills a fresh zookeeper_stats node with what is below path.
func (t *Tree) recount(of string) {
	n := t.nodes[quotaPath+of+"/"+statsName]
	if n == nil {
		return
	}
	s := quotaStats{count: 0, bytes: 0, hardCount: -1, hardBytes: -1}
	t.sum(of, &s)
	t.setStats(n, s)
}

func (t *Tree) sum(path string, s *quotaStats) {
	n := t.nodes[path]
	if n == nil {
		return
	}
	s.count++
	s.bytes += int64(len(n.Data))
	for name := range n.children {
		t.sum(path+"/"+name, s)
	}
}

// Quota is what is allowed and what is there below a path; -1 where nothing is said.
type Quota struct {
	Path                 string
	Count, Bytes         int64 // the hard limit where there is one
	UsedCount, UsedBytes int64
}

// Quotas lists the quotas on children of the root in the order of their names.
func (t *Tree) Quotas() []Quota {
	var out []Quota
	for of := range t.quotas {
		if strings.Count(of, "/") != 1 {
			continue
		}
		q := Quota{Path: of, Count: -1, Bytes: -1, UsedCount: -1, UsedBytes: -1}
		if n := t.nodes[quotaPath+of+"/"+limitsName]; n != nil {
			if s, ok := parseStats(n.Data); ok {
				q.Count, q.Bytes = s.count, s.bytes
				if s.hardCount >= 0 {
					q.Count = s.hardCount
				}
				if s.hardBytes >= 0 {
					q.Bytes = s.hardBytes
				}
			}
		}
		if n := t.nodes[quotaPath+of+"/"+statsName]; n != nil {
			if s, ok := parseStats(n.Data); ok {
				q.UsedCount, q.UsedBytes = s.count, s.bytes
			}
		}
		out = append(out, q)
	}
	slices.SortFunc(out, func(a, b Quota) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// setupQuotas finds the quota nodes after a load.
func (t *Tree) setupQuotas() {
	for path := range t.nodes {
		if strings.HasPrefix(path, quotaPath) && strings.HasSuffix(path, "/"+limitsName) {
			dir, _ := split(path)
			if of := quotaPrefix(dir); of != "" {
				t.quotas[of] = struct{}{}
			}
		}
	}
	for of := range t.quotas {
		t.recount(of)
	}
}

// quotaStats is the text of a statistics or limits node: count=1,bytes=2=;byteHardLimit=-1;countHardLimit=-1.
type quotaStats struct{ count, bytes, hardCount, hardBytes int64 }

func parseStats(b []byte) (quotaStats, bool) {
	s := quotaStats{count: -1, bytes: -1, hardCount: -1, hardBytes: -1}
	if len(b) == 0 {
		return s, b != nil
	}
	for _, field := range strings.FieldsFunc(string(b), func(r rune) bool { return r == ',' || r == ';' }) {
		name, text, ok := strings.Cut(strings.TrimSuffix(field, "="), "=")
		v, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil {
			return s, false
		}
		switch name {
		case "count":
			s.count = v
		case "bytes":
			s.bytes = v
		case "countHardLimit":
			s.hardCount = v
		case "byteHardLimit":
			s.hardBytes = v
		}
	}
	return s, true
}

func (s quotaStats) appendTo(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, "count="...), s.count, 10)
	dst = strconv.AppendInt(append(dst, ",bytes="...), s.bytes, 10)
	if s.hardBytes >= 0 || s.hardCount >= 0 {
		dst = strconv.AppendInt(append(dst, "=;byteHardLimit="...), s.hardBytes, 10)
		dst = strconv.AppendInt(append(dst, ";countHardLimit="...), s.hardCount, 10)
	}
	return dst
}
