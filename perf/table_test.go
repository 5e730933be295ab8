package perf

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func allRows() []Row { return slices.Concat(Counters(), Histograms(), Reads()) }

func TestTableDeclaresEveryMetricOnce(t *testing.T) {
	name := regexp.MustCompile(`^(broker|zk)_[a-z]+(_[a-z]+)+$`)
	units := []string{"bytes", "seconds", "count", "offset", "number", "info", "total"}
	seen := map[string]bool{}
	for i, row := range allRows() {
		if row.Name == "" {
			t.Errorf("a metric constant has no row (position %d of all)", i)
			continue
		}
		if !name.MatchString(row.Name) || !slices.Contains(units, row.Name[strings.LastIndexByte(row.Name, '_')+1:]) {
			t.Errorf("%s does not follow <system>_<part>_<noun>_<unit>[_total]", row.Name)
		}
		if strings.HasSuffix(row.Name, "_total") != (row.Kind == Counter) {
			t.Errorf("%s: exactly the counters end in _total", row.Name)
		}
		if (row.Kind == Histogram) != strings.HasSuffix(row.Name, "_seconds") && row.Kind != Read {
			t.Errorf("%s: histograms are in seconds", row.Name)
		}
		if row.Help == "" || !strings.HasSuffix(row.Help, ".") {
			t.Errorf("%s: help must be a sentence", row.Name)
		}
		if row.JMX != "" && row.Kind != Histogram && row.Alias() == "" {
			t.Errorf("%s: MBean %q gives no alias", row.Name, row.JMX)
		}
		for _, n := range []string{row.Name, row.Alias()} {
			if n != "" && seen[n] {
				t.Errorf("%s is declared twice", n)
			}
			seen[n] = true
		}
	}
}

func TestTableDimensionsHaveDistinctLabels(t *testing.T) {
	for d := DimNone; d <= DimCode; d++ {
		seen := map[string]bool{}
		for at := range d.Size() {
			values := d.LabelValues(at)
			if len(values) != len(d.LabelNames()) {
				t.Fatalf("dimension %d position %d: %d values for %d labels", d, at, len(values), len(d.LabelNames()))
			}
			key := strings.Join(values, "/")
			if seen[key] {
				t.Errorf("dimension %d: %q stands for two positions", d, key)
			}
			seen[key] = true
		}
	}
}

// Metric names written by hand anywhere else would not be in the table, nor in the documentation.
func TestTableIsTheOnlyPlaceThatNamesMetrics(t *testing.T) {
	declared := map[string]bool{}
	for _, row := range allRows() {
		declared[row.Name] = true
	}
	quoted := regexp.MustCompile(`"(broker_[a-z_]+_(?:bytes|seconds|count|total))"`)
	err := filepath.WalkDir("..", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || filepath.Base(path) == "table.go" {
			return err
		}
		src, err := os.ReadFile(path)
		for _, m := range quoted.FindAllSubmatch(src, -1) {
			if !declared[string(m[1])] {
				t.Errorf("%s names metric %s, which is not in the table", path, m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
