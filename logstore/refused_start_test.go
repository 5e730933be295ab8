package logstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
)

// A start that is refused for one directory leaves the others as they were: unlocked, and with the marker of their clean stop, so that the next
// start has nothing to recover.
func TestRefusedStartChangesNothing(t *testing.T) {
	refuse := map[string]func(t *testing.T, dir string) (back func(), want error){
		"locked": func(t *testing.T, dir string) (func(), error) {
			lock, err := disk.OS().Lock(filepath.Join(dir, lockFile)) // a process with the same directory among its own
			if err != nil {
				t.Fatal(err)
			}
			return func() { _ = lock.Close() }, disk.ErrLocked
		},
		"another-cluster": func(t *testing.T, dir string) (func(), error) {
			path := filepath.Join(dir, metaFile)
			saved, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, []byte(strings.Replace(string(saved), "cluster.id=", "cluster.id=x", 1)), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			return func() { _ = os.WriteFile(path, saved, 0o600) }, ErrMeta
		},
	}
	for name, spoil := range refuse {
		t.Run(name, func(t *testing.T) {
			w := newTwoDirs(t, Options{})
			if err := w.m.Identify(0, "c"); err != nil {
				t.Fatal(err)
			}
			l := w.log("t")
			want := w.fill(l, 0, 10)
			w.stop()
			back, why := spoil(t, w.dirs[1])
			if _, err := OpenManager(ManagerOptions{Dirs: w.dirs, FS: disk.OS(), Clock: w.clk, BrokerID: 0, ClusterID: "c"}); !errors.Is(err, why) {
				t.Fatalf("the start: %v, want %v", err, why)
			}
			for _, dir := range w.dirs {
				if _, err := os.Stat(filepath.Join(dir, cleanFile)); err != nil {
					t.Errorf("the clean stop is forgotten: %v", err)
				}
			}
			back()
			w.start()
			for _, d := range w.m.Dirs() {
				if d.Recovering > 0 || d.Offline != nil {
					t.Errorf("after the refusal: %+v", d)
				}
			}
			w.wantContents(w.log("t"), want)
			w.stop()
		})
	}
}
