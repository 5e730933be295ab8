package invariant

import (
	"strings"
	"testing"
)

func TestBrokenNamesTheCheckAndItsValues(t *testing.T) {
	defer func() {
		got, ok := recover().(string)
		if !ok || !strings.Contains(got, "segment: append below end") || !strings.Contains(got, "7") {
			t.Fatalf("panic value %q does not name the check and the value", got)
		}
	}()
	Broken("segment: append below end", 7)
}

func TestFillPoisonsOnlyInCheckBuilds(t *testing.T) {
	b := []byte{1, 2, 3}
	Fill(b, 0xDB)
	if poisoned := b[0] == 0xDB && b[1] == 0xDB && b[2] == 0xDB; poisoned != Enabled {
		t.Fatalf("poisoned = %v in a build with Enabled = %v", poisoned, Enabled)
	}
}
