package logstore

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
)

// fullNamesFS has no room for another name of the files that retention takes out, but for some first ones.
type fullNamesFS struct {
	disk.FS
	left int // renames that still go well; negative: all
}

func (f *fullNamesFS) Rename(from, to string) error {
	if strings.HasSuffix(to, sufDeleted) {
		if f.left == 0 {
			return &disk.Error{Op: "rename", Path: from, Err: syscall.ENOSPC}
		}
		f.left--
	}
	return f.FS.Rename(from, to)
}

// Retention cannot change the names of the second of two segments, since the disk is full; then another one goes. Were that renamed first, the log
// would have a hole, and the next start would throw away everything behind it.
func TestLogRetentionOnAFullDiskLeavesNoHole(t *testing.T) {
	for what, end := range map[string]func(w *world, l *Log){
		"crash": func(w *world, _ *Log) { w.crash() },
		"stop": func(w *world, l *Log) {
			w.stop()
			w.wantFiles(l)
		},
		"later": func(w *world, l *Log) {
			w.clk.Advance(2 * probeEveryMs * 1e6)
			l.Tick(w.clk.WallMs())
			w.turn(l)
			w.wantFiles(l)
			w.crash()
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, Options{SegmentBytes: 1500, IndexInterval: 200, FileDeleteMs: 1 << 40})
			l := w.log("t")
			want := w.fill(l, 0, 40)
			second := l.segments[1].stem + sufLog
			full := &fullNamesFS{FS: disk.OS(), left: 2}
			l.fs = full
			drop := func(n int) {
				w.deleteTo(l, l.segments[n].base)
				l.Retain(w.clk.WallMs())
				if n > 1 || what != "stop" { // a stop does itself what was not done before
					w.turn(l)
				}
			}
			drop(2)
			if _, err := os.Stat(second); err != nil {
				t.Fatalf("it should have been refused: %v", err)
			}
			full.left = -1
			drop(1)
			start, last := l.Start(), l.End()
			end(w, l)
			w.start()
			l = w.log("t")
			if l.Start() > start || l.End() != last {
				t.Fatalf("%d to %d are left of %d to %d", l.Start(), l.End(), start, last)
			}
			w.wantContents(l, want[l.Start():])
			w.stop()
			w.online("a full disk")
		})
	}
}

// wantFiles looks that no file is left of a segment that left the log.
func (w *world) wantFiles(l *Log) {
	w.t.Helper()
	if names, err := filepath.Glob(filepath.Join(l.Path(), "*"+sufLog)); err != nil || len(names) != len(l.segments) {
		w.t.Errorf("%d segments, their files %v: %v", len(l.segments), names, err)
	}
}
