package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
)

// startTold is start with what the manager says.
func (w *world) startTold(threads int) *bytes.Buffer {
	w.t.Helper()
	var said bytes.Buffer
	m, err := OpenManager(ManagerOptions{Dirs: w.dirs, FS: disk.OS(), Clock: w.clk, BrokerID: 0, ClusterID: "c", RecoveryThreads: threads,
		Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		w.t.Fatal(err)
	}
	w.m, w.logs = m, map[string]*Log{}
	return &said
}

func TestRecoveryTellsHowFarItIs(t *testing.T) {
	w := newWorld(t, Options{})
	sizes := map[string]int64{}
	for _, topic := range []string{"a", "b"} {
		l := w.log(topic)
		w.fill(l, 0, 5)
		sizes[topic] = l.SizeBytes()
	}
	w.crash()
	said := w.startTold(1)
	if d := w.m.Dirs()[0]; d.Recovering != 2 || d.Scanned != 0 {
		t.Errorf("at the start: %+v", d)
	}
	w.log("a")
	if d := w.m.Dirs()[0]; d.Recovering != 1 || d.Scanned != sizes["a"] {
		t.Errorf("after one log of %d bytes: %+v", sizes["a"], d)
	}
	w.log("b")
	w.log("new")
	if d := w.m.Dirs()[0]; d.Recovering != 0 || d.Scanned != sizes["a"]+sizes["b"] {
		t.Errorf("at the end: %+v", d)
	}
	for _, want := range []string{"the last stop was not clean", "count=2", "all logs are recovered"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q was not said:\n%s", want, said.String())
		}
	}
	w.stop()
	if said = w.startTold(1); w.m.Dirs()[0].Recovering != 0 || strings.Contains(said.String(), "recovered") {
		t.Errorf("after a clean stop: %+v\n%s", w.m.Dirs()[0], said.String())
	}
}

func TestRecoveryRunsOnItsThreads(t *testing.T) {
	w := newWorld(t, Options{})
	for i := range 8 {
		w.fill(w.log(fmt.Sprint("t", i)), 0, 1)
	}
	w.crash()
	w.startTold(2)
	var mu sync.Mutex
	now, most, came := 0, 0, 0
	meet := make(chan struct{})
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			_, err := w.m.recoverLog(nil, w.m.dirs[0], TopicPartition{Topic: fmt.Sprint("t", i)}, func() (*Log, error) {
				mu.Lock()
				now++
				came++
				first := came%2 == 1
				most = max(most, now)
				mu.Unlock()
				if first { // each waits for the next one that comes, so that two must run at once
					meet <- struct{}{}
				} else {
					<-meet
				}
				mu.Lock()
				now--
				mu.Unlock()
				return nil, nil
			})
			if err != nil {
				t.Error(err)
			}
		}()
	}
	wait.Wait()
	if most != 2 {
		t.Errorf("%d logs at once, want 2", most)
	}
}

func TestDamageBelowTheRecoveryPointNamesTheToolThatMendsIt(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	w.fill(l, 0, 10)
	w.checkpoint(l)
	w.crash()
	path := filepath.Join(w.dirs[0], "t-0", fileName(0, sufLog))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	w.start()
	_, err = w.open("t")
	want := fmt.Sprintf("pelton log repair %s", filepath.Join(w.dirs[0], "t-0"))
	if err == nil || !strings.Contains(err.Error(), "at offset 20") || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
	if d := w.m.Dirs()[0]; d.Recovering != 0 {
		t.Errorf("%d logs are said to be recovered still", d.Recovering)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(after, b) {
		t.Error("the start changed the damaged log")
	}
	w.crash()
}

// The backlog counts the segments from the recovery point on, and goes down with each that was read.
func TestBacklogIsWhatLiesBehindTheRecoveryPoint(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 2000})
	l := w.log("t")
	w.fill(l, 0, 40)
	w.checkpoint(l)
	point := l.RecoveryPoint()
	w.fill(l, 40, 40)
	all := l.Segments()
	behind, bytes := 0, int64(0)
	for i, seg := range l.segments {
		if i == len(l.segments)-1 || l.segments[i+1].base >= point {
			behind, bytes = behind+1, bytes+seg.size
		}
	}
	w.crash()
	w.startTold(1)
	if _, ok := w.m.Backlog(TopicPartition{"other", 0}); ok {
		t.Error("a partition that is not there has a backlog")
	}
	b, ok := w.m.Backlog(l.tp)
	if want := (Backlog{Dir: w.dirs[0], Bytes: bytes, Segments: behind}); !ok || b != want || behind < 2 || int64(behind) >= all {
		t.Errorf("backlog %+v of %d segments, want %+v", b, all, want)
	}
	if d := w.m.Dirs()[0]; d.Unread != behind {
		t.Errorf("segments left: %d, want %d", d.Unread, behind)
	}
	w.log("t")
	if d := w.m.Dirs()[0]; d.Unread != 0 || d.Recovering != 0 {
		t.Errorf("after the recovery: %+v", d)
	}
	if _, ok := w.m.Backlog(l.tp); ok {
		t.Error("an open log has a backlog")
	}
	w.stop()
	w.startTold(1)
	if _, ok := w.m.Backlog(l.tp); ok {
		t.Error("a log that was closed cleanly has a backlog")
	}
	w.stop()
}

// A recovery that is given up leaves the log to the next one, holds no file, and the directory gets no marker meanwhile.
func TestRecoveryIsGivenUpAndComesAgain(t *testing.T) {
	w := newWorld(t, Options{})
	want := w.fill(w.log("t"), 0, 10)
	tp := w.logs["t"].tp
	w.crash()
	w.startTold(1)
	stop := make(chan struct{})
	close(stop)
	before := openFiles(t)
	if _, err := w.m.OpenUntil(stop, tp, [16]byte{1}, w.opt); !errors.Is(err, ErrGivenUp) {
		t.Fatal(err)
	}
	if _, err := w.m.load(stop, w.m.dirs[0], tp, [16]byte{1}, w.opt.withDefaults(), false); !errors.Is(err, ErrGivenUp) {
		t.Fatal("in the middle of it:", err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files are open, before %d", after, before)
	}
	if d := w.m.Dirs()[0]; d.Recovering != 1 {
		t.Errorf("%+v", d)
	}
	w.stop()
	if _, err := os.Stat(filepath.Join(w.dirs[0], cleanFile)); err == nil {
		t.Error("the directory is said to be clean")
	}
	w.start()
	if got := w.contents(w.log("t"), 0, 100); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	w.stop()
}

// openFiles counts this process's descriptors.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip("descriptors cannot be counted: no /dev/fd here")
	}
	return len(entries)
}
