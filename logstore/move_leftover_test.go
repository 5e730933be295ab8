package logstore

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// futureName is a future directory of t-0.
func futureName(digit string) string { return "t-0." + strings.Repeat(digit, 32) + futureSuffix }

// leaveFuture makes a future directory that holds what the log does, of a topic.
func (w *world) leaveFuture(path string, id [16]byte) {
	w.t.Helper()
	if err := os.CopyFS(path, os.DirFS(filepath.Join(w.dirs[0], "t-0"))); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, partitionFile), encodePartition(id), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// case: a directory of a move is only gone on with when it can be the log's: not that of a topic which had the same name, not beside the log, not a
// second one. Those are removed, and none of their records ever becomes the log's.
func TestMoveDoesNotTakeALeftover(t *testing.T) {
	for what, c := range map[string]struct {
		where []int // log directories with a future one
		id    byte  // of the topic that it is of; the log's is 1
		to    int   // where the move goes on, -1 when there is none
	}{
		"another topic's": {[]int{1}, 2, -1},
		"beside the log":  {[]int{0}, 1, -1},
		"two":             {[]int{1, 1}, 1, 1},
		"one beside":      {[]int{0, 1}, 1, 1},
		"the move's":      {[]int{1}, 1, 1},
	} {
		t.Run(what, func(t *testing.T) {
			w := newTwoDirs(t, Options{})
			l := w.log("t")
			want := w.fill(l, 0, 5)
			w.checkpoint(l)
			w.crash()
			for i, dir := range c.where {
				w.leaveFuture(filepath.Join(w.dirs[dir], futureName(string("ab"[i]))), [16]byte{c.id})
			}
			w.start()
			l = w.log("t")
			moves := w.m.Moves()
			if c.to < 0 && len(moves) != 0 || c.to >= 0 && (len(moves) != 1 || moves[0].Dir != w.dirs[c.to]) {
				t.Fatalf("moves: %+v", moves)
			}
			w.turn(l)
			w.wantContents(l, want)
			w.m.Sweep()
			w.clk.Advance(60_000_000_000)
			w.m.Sweep()
			if got := append(w.names(w.dirs[0]), w.names(w.dirs[1])...); !slices.Equal(got, []string{"t-0"}) || len(w.off) != 0 {
				t.Fatalf("directories %v, offline %v", got, w.off)
			}
			w.stop()
		})
	}
}

// A power cut may take a new partition's directory and leave that of its move: the partition is made again, and goes where it was asked to.
func TestMoveOfALogThatWasLost(t *testing.T) {
	w := newTwoDirs(t, Options{})
	l := w.log("t")
	w.plan(l, w.dirs[1])
	w.crash()
	if err := os.RemoveAll(filepath.Join(w.dirs[0], "t-0")); err != nil {
		t.Fatal(err)
	}
	w.start()
	l = w.log("t")
	want := w.fill(l, 0, 2)
	w.turn(l)
	w.wantNames("t-0-delete", "t-0")
	w.wantContents(l, want)
	w.stop()
}

// case: the start that a move began at was lost by a power cut, and the log has older records again: the move begins anew, with them.
func TestMoveBeginsAnewWhenTheLogLostItsStart(t *testing.T) {
	w := newTwoDirs(t, Options{SegmentBytes: 1000, IndexInterval: 200})
	l := w.log("t")
	want := w.fill(l, 0, 20)
	w.deleteTo(l, l.segments[2].base+1)
	w.plan(l, w.dirs[1])
	if !w.copyOnce(l) {
		t.Fatal("nothing was copied")
	}
	path := l.Path()
	w.crash()
	if err := os.Remove(filepath.Join(path, epochFile)); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	w.start()
	l = w.log("t")
	if got := w.m.Moves(); l.Start() != 0 || len(got) != 1 || got[0].Lag != l.End() {
		t.Fatalf("the log starts at %d, moves %+v", l.Start(), got)
	}
	w.turn(l)
	w.wantNames("t-0-delete", "t-0")
	w.wantContents(l, want)
	w.stop()
}

// A directory gets no mark of a clean stop while it holds what a move copied before a crash and nobody has looked at since: the next start would
// take it as it is.
func TestMoveNobodyLookedAtIsNotClean(t *testing.T) {
	w := newTwoDirs(t, Options{IndexInterval: 200})
	l := w.log("t")
	want := w.fill(l, 0, 10)
	w.plan(l, w.dirs[1])
	w.copyOnce(l)
	w.crash()
	w.start()
	w.stop() // before the log was opened
	// What a power cut at the crash would have left: a batch in the middle that never got to the disk.
	future := filepath.Join(w.dirs[1], w.realNames(w.dirs[1])[0], fileName(0, sufLog))
	b, err := os.ReadFile(future)
	if err != nil {
		t.Fatal(err)
	}
	clear(b[len(b)/2+70 : len(b)/2+90])
	if err := os.WriteFile(future, b, 0o644); err != nil {
		t.Fatal(err)
	}
	w.start()
	l = w.log("t")
	w.turn(l)
	w.wantNames("t-0-delete", "t-0")
	w.wantContents(l, want)
	w.stop()
}

// realNames are the names of a log directory's directories.
func (w *world) realNames(dir string) (out []string) {
	w.t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// What retention takes out of a log is renamed, and nobody tells the disk at once: after a power cut the old names may be back, and the start, which
// was written down, must not be.
func TestStartIsKeptWhenOldSegmentsComeBack(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 1000, IndexInterval: 200, FileDeleteMs: 1 << 40, Delete: true, RetentionMs: NoLimit, RetentionBytes: NoLimit})
	l := w.log("t")
	want := w.fill(l, 0, 20)
	start := l.segments[2].base
	w.deleteTo(l, start)
	l.Retain(w.clk.WallMs())
	w.turn(l)
	w.checkpoint(l)
	if l.segments[0].base != start {
		t.Fatalf("the first segment begins at %d", l.segments[0].base)
	}
	path := l.Path()
	w.crash()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	back := 0
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), sufDeleted); ok {
			if err := os.Rename(filepath.Join(path, e.Name()), filepath.Join(path, name)); err != nil {
				t.Fatal(err)
			}
			back++
		}
	}
	if err := os.Remove(filepath.Join(path, epochFile)); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	w.start()
	l = w.log("t")
	if back == 0 || l.Start() != start {
		t.Fatalf("%d files came back, the log starts at %d, want %d", back, l.Start(), start)
	}
	w.wantContents(l, want[start:])
	w.stop()
	b, err := os.ReadFile(filepath.Join(w.dirs[0], startFile))
	if err != nil {
		t.Fatal(err)
	}
	if offsets, err := decodeOffsets(b); err != nil || offsets[TopicPartition{"t", 0}] != start {
		t.Errorf("checkpoint %q: %v", b, err) // the old segments are still there
	}
}
