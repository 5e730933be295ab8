package config

import "sort"

// Table is a set of rows, found by name.
type Table struct {
	rows   []Row // sorted by name
	byName map[string]int
}

// BrokerTable makes the table of broker keys: Kafka's, Pelton's own, and the old ones.
func BrokerTable() *Table {
	return newTable(brokerRows(), networkRows(), logRows(), replicaRows(), groupRows(), txnRows(), securityRows(),
		securityRowsMore(), unusedRows(), peltonRows(), legacyRows())
}

// TopicTable makes the table of topic keys.
func TopicTable() *Table { return newTable(topicRows()) }

func newTable(parts ...[]Row) *Table {
	t := &Table{byName: map[string]int{}}
	for _, p := range parts {
		t.rows = append(t.rows, p...)
	}
	sort.Slice(t.rows, func(i, j int) bool { return t.rows[i].Name < t.rows[j].Name })
	for i, r := range t.rows {
		t.byName[r.Name] = i
	}
	return t
}

// Rows lists every row by name. The caller must not change it.
func (t *Table) Rows() []Row { return t.rows }

// Row finds a row.
func (t *Table) Row(name string) (Row, bool) {
	i, ok := t.byName[name]
	if !ok {
		return Row{}, false
	}
	return t.rows[i], true
}

// Nearest is the key that a misspelt name most likely means, or nothing when none is near.
func (t *Table) Nearest(name string) string {
	best, bestAt := "", 1+max(2, len(name)/5)
	for _, r := range t.rows {
		if d := distance(name, r.Name, bestAt); d < bestAt {
			best, bestAt = r.Name, d
		}
	}
	return best
}

// distance counts the letters to insert, remove, replace or swap to make b of a; it gives up at limit.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	before, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(last[j]+1, next[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, last, next = last, next, before
	}
	return min(last[len(b)], limit)
}
