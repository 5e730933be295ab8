package logstore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// newTwoDirs is a world with two log directories; a new partition goes to the first.
func newTwoDirs(t testing.TB, o Options) *world {
	f := &fakeDisk{cold: map[int]bool{}}
	root, err := os.MkdirTemp("/dev/shm", "move-") // where syncs cost nothing: these tests make many
	if err != nil {
		root = t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, dirs: []string{filepath.Join(root, "a"), filepath.Join(root, "b")}, clk: clock.NewManual(1_600_000_000_000), disk: f, fake: f, opt: o}
	w.start()
	return w
}

// plan asks for a move as a request does.
func (w *world) plan(l *Log, dir string) {
	w.t.Helper()
	mv, changed, err := w.m.PlanMove(l.tp, dir)
	if err != nil {
		w.t.Fatal(err)
	}
	if changed {
		l.Redirect(mv)
	}
}

// names lists what a log directory holds of partitions, the unique part of a name left out.
func (w *world) names(dir string) []string {
	w.t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	out := []string{}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		name := e.Name()
		if i := strings.LastIndexByte(name, '.'); i > 0 {
			name = name[:i] + name[i+1+32:]
		}
		out = append(out, name)
	}
	return out
}

func (w *world) wantNames(a, b string) {
	w.t.Helper()
	if got := strings.Join(w.names(w.dirs[0]), " ") + " | " + strings.Join(w.names(w.dirs[1]), " "); got != a+" | "+b {
		w.t.Fatalf("directories are %q, want %q", got, a+" | "+b)
	}
}

func (w *world) wantContents(l *Log, want []string) {
	w.t.Helper()
	if got := w.contents(l, l.Start(), l.End()); !slices.Equal(got, want) {
		w.t.Fatalf("%d records, want %d:\n%v\n%v", len(got), len(want), got, want)
	}
}

func TestMoveTakesALogToAnotherDirectory(t *testing.T) {
	w := newTwoDirs(t, Options{SegmentBytes: 1500, IndexInterval: 200})
	l := w.log("t")
	want := w.fill(l, 0, 30)
	w.plan(l, w.dirs[1])
	w.wantNames("t-0", "t-0-future")
	if info := w.m.Moves(); len(info) != 1 || info[0].Dir != w.dirs[1] || info[0].Lag != l.End() {
		t.Fatalf("moves: %+v", info)
	}
	w.turn(l)
	w.wantNames("t-0-delete", "t-0")
	if len(w.m.Moves()) != 0 || l.Dir() != w.dirs[1] || l.Path() != filepath.Join(w.dirs[1], "t-0") {
		t.Fatalf("the log is in %s, moves %+v", l.Path(), w.m.Moves())
	}
	w.wantContents(l, want)
	want = append(want, w.fill(l, 30, 30)...)
	w.wantContents(l, want)
	if err := w.m.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	w.clk.Advance(60_000_000_000)
	w.m.Sweep()
	w.wantNames("", "t-0")
	for _, end := range []func(){w.crash, w.stop} {
		end()
		w.start()
		l = w.log("t")
		w.wantContents(l, want)
	}
	w.stop()
}

// What a move makes is what the log had: every file but those that hold the time is the same.
func TestMoveKeepsFilesAsTheyWere(t *testing.T) {
	w := newTwoDirs(t, Options{SegmentBytes: 1500, IndexInterval: 200})
	l := w.log("t")
	w.fill(l, 0, 30)
	w.produce(l, idempotent(7, 0, 0, 3))
	w.stop()
	w.start()
	l = w.log("t")
	before := w.bytesOf(filepath.Join(w.dirs[0], "t-0"))
	w.plan(l, w.dirs[1])
	w.turn(l)
	w.stop()
	after := w.bytesOf(filepath.Join(w.dirs[1], "t-0"))
	for name, b := range before {
		if strings.HasSuffix(name, sufSnapshot) && name != fileName(l.end, sufSnapshot) {
			continue // Kafka keeps some, and needs none of them
		}
		if after[name] != b {
			t.Errorf("%s is %d bytes, was %d, or differs", name, len(after[name]), len(b))
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%s is new", name)
		}
	}
}

func (w *world) bytesOf(dir string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			w.t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

// A move is found at the start and goes on, after a crash and after a stop; appends come meanwhile.
func TestMoveGoesOnAfterAStart(t *testing.T) {
	for _, clean := range []bool{false, true} {
		t.Run(fmt.Sprint("clean ", clean), func(t *testing.T) {
			w := newTwoDirs(t, Options{SegmentBytes: 1500, IndexInterval: 200})
			l := w.log("t")
			want := w.fill(l, 0, 30)
			w.plan(l, w.dirs[1])
			if !w.copyOnce(l) {
				t.Fatal("nothing was copied")
			}
			l.moving.exchanging = false
			w.m.Halt()
			want = append(want, w.fill(l, 30, 5)...)
			if clean {
				w.stop()
			} else {
				w.crash()
			}
			w.start()
			l = w.log("t")
			if got := w.m.Moves(); len(got) != 1 || got[0].Lag != 20 {
				t.Fatalf("the move should lack 20 records: %+v", got)
			}
			w.turn(l)
			w.wantNames("t-0-delete", "t-0")
			w.wantContents(l, want)
			w.stop()
		})
	}
}

// copyOnce carries out jobs until one has copied.
func (w *world) copyOnce(l *Log) bool {
	for job := l.TakeWork(); job != nil; job = l.TakeWork() {
		job.Run()
		job.Apply()
		if Moves(job) {
			return true
		}
	}
	return false
}

// A power cut may take an end of the log that the move has: it begins anew.
func TestMoveBeginsAnewWhenTheLogLostItsEnd(t *testing.T) {
	w := newTwoDirs(t, Options{IndexInterval: 200})
	l := w.log("t")
	w.fill(l, 0, 10)
	w.checkpoint(l)
	synced := l.active().size
	w.fill(l, 10, 10)
	w.plan(l, w.dirs[1])
	w.copyOnce(l)
	w.crash()
	if err := os.Truncate(filepath.Join(w.dirs[0], "t-0", fileName(0, sufLog)), synced); err != nil {
		t.Fatal(err)
	}
	w.start()
	l = w.log("t")
	if got := w.m.Moves(); len(got) != 1 || got[0].Lag != 40 || got[0].Size != 0 {
		t.Fatalf("the move should begin anew: %+v", got)
	}
	w.turn(l)
	w.wantNames("t-0-delete", "t-0")
	if l.End() != 40 {
		t.Fatal(l.End())
	}
	w.stop()
}

// case: choosing the directory where the log is ends its move; another directory begins a new one.
func TestMoveIsCancelled(t *testing.T) {
	w := newTwoDirs(t, Options{SegmentBytes: 1500})
	l := w.log("t")
	want := w.fill(l, 0, 30)
	w.plan(l, w.dirs[1])
	if !w.copyOnce(l) || !l.moving.exchanging {
		t.Fatal("the copy should be all but done")
	}
	w.plan(l, w.dirs[0])
	w.wantNames("t-0", "t-0-delete")
	w.turn(l)
	w.m.Sweep()
	w.wantNames("t-0", "")
	want = append(want, w.fill(l, 30, 3)...)
	w.plan(l, w.dirs[1])
	w.turn(l)
	w.wantNames("t-0-delete", "t-0")
	w.plan(l, w.dirs[0]) // and back, where the old directory still waits for its removal
	w.turn(l)
	w.wantContents(l, want)
	if !slices.Equal(w.names(w.dirs[0]), []string{"t-0", "t-0-delete"}) {
		t.Fatal(w.names(w.dirs[0]))
	}
	w.clk.Advance(60_000_000_000)
	w.m.Sweep()
	w.wantNames("t-0", "")
	w.stop()
}

func TestMoveIsRefused(t *testing.T) {
	w := newTwoDirs(t, Options{})
	w.log("t")
	for _, c := range []struct {
		topic, dir string
		want       error
	}{
		{"t", filepath.Join(w.dirs[0], "x"), ErrUnknownDir}, {"t", w.dirs[1] + "/", ErrUnknownDir},
		{strings.Repeat("x", 240), w.dirs[1], ErrLongName}, {"none", w.dirs[1], ErrNotFound},
	} {
		if _, _, err := w.m.PlanMove(TopicPartition{c.topic, 0}, c.dir); !errors.Is(err, c.want) {
			t.Errorf("%s to %s: %v, want %v", c.topic, c.dir, err, c.want)
		}
	}
	if d := w.log("none").Dir(); d != w.dirs[1] {
		t.Errorf("the partition was asked for in %s and is in %s", w.dirs[1], d)
	}
	w.m.FailDir(w.dirs[1], &disk.Error{Op: "write", Path: w.dirs[1], Err: os.ErrInvalid})
	if _, _, err := w.m.PlanMove(TopicPartition{"t", 0}, w.dirs[1]); !errors.Is(err, ErrOffline) {
		t.Errorf("to an offline directory: %v", err)
	}
	if _, _, err := w.m.PlanMove(TopicPartition{"none", 0}, w.dirs[0]); !errors.Is(err, ErrOffline) {
		t.Errorf("from an offline directory: %v", err)
	}
	w.stop()
}

// An aborted transaction, a start that was moved by request and the epochs are after the move as they were before.
func TestMoveKeepsStateAcrossACrash(t *testing.T) {
	w := newTwoDirs(t, Options{SegmentBytes: 1500, IndexInterval: 200})
	l := w.log("t")
	w.fill(l, 0, 20)
	w.produce(l, idempotent(7, 3, 0, 3))
	l.AssignEpoch(9, l.End())
	a := w.push(l, values(batch.None, 1, "e", 2))
	a.LeaderEpoch = 9
	w.turn(l)
	w.done(l, a)
	l.SetHighWatermark(l.End())
	if _, err := l.DeleteRecordsTo(33); err != nil {
		t.Fatal(err)
	}
	before := w.state(l)
	w.plan(l, w.dirs[1])
	w.turn(l)
	if got := w.state(l); got != before {
		t.Fatalf("after the move:\n%s\nbefore:\n%s", got, before)
	}
	w.crash()
	w.start()
	l = w.log("t")
	if got := w.state(l); got != before {
		t.Fatalf("after the crash:\n%s\nbefore:\n%s", got, before)
	}
	w.stop()
}

func (w *world) state(l *Log) string {
	return fmt.Sprintln(l.Start(), l.End(), l.HighWatermark(), l.epochs.list, l.LastStable()) + string(l.producers.EncodeSnapshot())
}

// Aborted transactions are after a move what they were before, in the index files of closed segments and in the answers; one that is open goes
// on where its partition went.
func TestMoveKeepsAbortedTransactions(t *testing.T) {
	w := newTwoDirs(t, Options{SegmentBytes: 700, IndexInterval: 200})
	l := w.log("t")
	for i := range int64(6) {
		w.transact(l, 10+i, 0, "a", "b", "c")
		w.produce(l, values(batch.None, 1, "plain", 2))
		w.mark(l, 10+i, int16(i%2))
	}
	w.transact(l, 50, 0, "open")
	first := l.LastStable()
	w.stop() // every .txnindex is written
	w.start()
	l = w.log("t")
	indexes := func(dir string) map[string]string {
		all := w.bytesOf(filepath.Join(dir, "t-0"))
		for name := range all {
			if !strings.HasSuffix(name, sufTxn) {
				delete(all, name)
			}
		}
		return all
	}
	files, aborted := indexes(w.dirs[0]), fmt.Sprint(l.AbortedIn(0, l.End(), nil))
	if len(files) < 2 || strings.Count(aborted, "{") != 3 || l.LastStable() != first {
		t.Fatalf("%d files, aborted %s, stable up to %d", len(files), aborted, l.LastStable())
	}
	w.plan(l, w.dirs[1])
	w.turn(l)
	check := func(when string) {
		t.Helper()
		if l.Dir() != w.dirs[1] || fmt.Sprint(l.AbortedIn(0, l.End(), nil)) != aborted || l.LastStable() != first {
			t.Errorf("%s: in %s, aborted %v, stable up to %d", when, l.Dir(), l.AbortedIn(0, l.End(), nil), l.LastStable())
		}
	}
	check("after the move")
	w.crash()
	w.start()
	l = w.log("t")
	check("after a crash")
	w.stop()
	if got := indexes(w.dirs[1]); !maps.Equal(got, files) {
		t.Errorf("the files are %q, were %q", got, files)
	}
	w.start()
	l = w.log("t")
	check("after a stop")
	w.mark(l, 50, 0)
	if got := l.AbortedIn(0, l.End(), nil); len(got) != 4 || got[3].ProducerID != 50 || l.LastStable() != l.End() {
		t.Errorf("the open one was aborted: %v, stable up to %d of %d", got, l.LastStable(), l.End())
	}
	w.stop()
}

// The log's start goes on past what a move has copied: the copy begins anew, since one with a hole would lack the producers that wrote there.
func TestMoveIsOvertakenByTheStart(t *testing.T) {
	w := newTwoDirs(t, Options{SegmentBytes: 1500, IndexInterval: 200})
	l := w.log("t")
	w.fill(l, 0, 20)
	w.plan(l, w.dirs[1])
	job := l.nextMove()
	job.Run()
	copied := l.End()
	w.fill(l, 20, 40)
	if _, err := l.DeleteRecordsTo(l.End() - 4); err != nil {
		t.Fatal(err)
	}
	l.Retain(w.clk.WallMs())
	first := l.segments[0].base
	if first <= copied {
		t.Fatalf("segments from %d on are left, %d were copied", first, copied)
	}
	want := w.contents(l, l.Start(), l.End())
	job.Apply()
	w.turn(l)
	if l.Dir() != w.dirs[1] || l.segments[0].base != first {
		t.Errorf("in %s the log begins with a segment of %d, want %d", l.Dir(), l.segments[0].base, first)
	}
	w.wantContents(l, want)
}
