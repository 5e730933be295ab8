package txnlog

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/tools/golden"
)

// What is imported from Apache's files is what expected.json says, and a second import into the same place is refused.
func TestImportOfApachesDirectories(t *testing.T) {
	for _, version := range []string{"zookeeper-3.9.5", "zookeeper-3.4.13"} {
		for _, end := range []string{"clean", "crashed"} {
			t.Run(version+"/"+end, func(t *testing.T) {
				if testing.Short() && (end == "clean" || version != "zookeeper-3.9.5") {
					t.Skip("the directories are 64 MB each and TestRecoverReadsApachesFiles reads them all: one is enough for a quick run")
				}
				from, to := t.TempDir(), filepath.Join(t.TempDir(), "new")
				golden.Unpack(t, filepath.Join(goldenDir, version, end+".tar.gz"), from)
				source := filepath.Join(from, "data", Sub)
				rec, err := Import(disk.OS(), source, source, to)
				if err != nil {
					t.Fatal(err)
				}
				again, err := Recover(disk.OS(), to, to)
				if err != nil || again.Zxid != rec.Zxid || len(again.Sessions) != len(rec.Sessions) || again.Replayed != 0 {
					t.Fatalf("%+v %v", again, err)
				}
				a, _ := json.Marshal(collect(rec.Tree, false))
				b, _ := json.Marshal(collect(again.Tree, false))
				if string(a) != string(b) || again.Tree.Count() < 10 {
					t.Fatalf("imported\n%s\nread\n%s", b, a)
				}
				if _, err := Import(disk.OS(), source, source, to); !errors.Is(err, ErrOccupied) {
					t.Fatalf("a second import: %v", err)
				}
			})
		}
	}
}

func TestImportRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Import(disk.OS(), dir, dir, filepath.Join(dir, "new")); !errors.Is(err, ErrNoSnapshot) {
		t.Fatalf("an empty source: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "snapshot.5.gz"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(disk.OS(), dir, dir, filepath.Join(dir, "new")); !errors.Is(err, ErrCompressed) {
		t.Fatalf("a compressed snapshot: %v", err)
	}
}
