package txnlog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/tree"
)

// TestRecoverRemovesUnfinishedSnapshots: what a killed process left may be as large as the tree.
func TestRecoverRemovesUnfinishedSnapshots(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"tmp-snapshot.5", "tmp-received.5.1", "tmp-mine"} {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Recover(disk.OS(), dir, dir); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "tmp-mine" {
		t.Fatalf("left %v %v", left, err)
	}
}

// TestReceivedSnapshotHasNoNameUntilItIsPublished: a start must not find it before.
func TestReceivedSnapshotHasNoNameUntilItIsPublished(t *testing.T) {
	dir := t.TempDir()
	w, err := NewReceivedWriter(disk.OS(), dir, 7, 1)
	if err != nil {
		t.Fatal(err)
	}
	snap := BeginSnapshot(tree.New(), map[int64]int32{1: 1000})
	for done := false; !done; {
		var b []byte
		if b, done = snap.Piece(nil, 10); w.Write(b) != nil {
			t.Fatal("write")
		}
	}
	if err := w.Seal(); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	if _, _, err := w.Load(func() error { return stop }); !errors.Is(err, stop) {
		t.Fatalf("a load that is stopped: %v", err)
	}
	if got, open, err := w.Load(nil); err != nil || open[1] != 1000 || got.Count() != tree.New().Count() {
		t.Fatalf("load %v %v", open, err)
	}
	if found, err := list(disk.OS(), dir, "snapshot"); err != nil || len(found) != 0 {
		t.Fatalf("it has its name too early: %v %v", found, err)
	}
	if err := w.Publish(); err != nil {
		t.Fatal(err)
	}
	if found, err := list(disk.OS(), dir, "snapshot"); err != nil || len(found) != 1 || found[0].zxid != 7 {
		t.Fatalf("published: %v %v", found, err)
	}
}
