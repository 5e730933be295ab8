package api

import "testing"

// Every row of the slow path has a layout to be checked by: without one, anything would be taken.
func TestRowsHaveShapes(t *testing.T) {
	table := newLookup(Rows())
	for i := range table.rows {
		row := &table.rows[i]
		if row.Handle == nil {
			continue
		}
		if _, ok := table.shapes[row.Key]; !ok {
			t.Errorf("%s has no shape", row.Name())
		}
	}
}
