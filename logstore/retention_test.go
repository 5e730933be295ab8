package logstore

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/pelton-broker/pelton/logstore/batch"
)

func TestLogRetentionBySize(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 1500, IndexInterval: 200, Delete: true, RetentionMs: NoLimit, RetentionBytes: 3000})
	l := w.log("t")
	want := w.fill(l, 0, 40)
	gone := l.segments[0]
	var s Span
	if _, err := l.Read(0, 1000, l.End(), true, &s); err != nil {
		t.Fatal(err)
	}
	l.Retain(w.clk.WallMs())
	w.turn(l)
	if l.SizeBytes() < 3000 || l.SizeBytes() > 4500 || l.Start() != l.segments[0].base {
		t.Fatalf("%d bytes, start %d", l.SizeBytes(), l.Start())
	}
	if _, err := l.Read(l.Start()-1, 10, l.End(), true, &Span{}); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Fatalf("below the start: %v", err)
	}
	if got := w.contents(l, l.Start(), l.End()); got[0] != want[l.Start()] {
		t.Fatalf("%v", got)
	}
	if _, err := os.Stat(gone.stem + sufLog + sufDeleted); err != nil {
		t.Fatalf("files are renamed first: %v", err)
	}
	w.clk.Advance(61e9)
	l.Retain(w.clk.WallMs())
	w.turn(l)
	if _, err := os.Stat(gone.stem + sufLog + sufDeleted); err != nil {
		t.Fatalf("the file went while a span held it: %v", err)
	}
	s.Release()
	l.Retain(w.clk.WallMs())
	w.turn(l)
	for _, suffix := range segmentSuffixes() {
		if _, err := os.Stat(gone.stem + suffix + sufDeleted); err == nil {
			t.Fatalf("%s is still there", suffix)
		}
	}
	start := l.Start()
	w.stop()
	w.start()
	if l = w.log("t"); l.Start() != start {
		t.Fatalf("start %d after a restart, was %d", l.Start(), start)
	}
	w.stop()
}

// What is deleted stays under another name for file.delete.delay.ms, and then goes.
func TestLogDeletedFilesStayForTheDelay(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 1500, IndexInterval: 200, Delete: true, RetentionMs: NoLimit, RetentionBytes: 3000, FileDeleteMs: 60_000})
	l := w.log("t")
	w.fill(l, 0, 40)
	gone := l.segments[0]
	there := func() bool {
		_, err := os.Stat(gone.stem + sufLog + sufDeleted)
		return err == nil
	}
	for _, at := range []struct {
		later time.Duration
		there bool
	}{{0, true}, {59 * time.Second, true}, {2 * time.Second, false}} {
		w.clk.Advance(at.later)
		l.Retain(w.clk.WallMs())
		w.turn(l)
		if there() != at.there {
			t.Fatalf("another %v later the file is there: %v", at.later, there())
		}
	}
	w.stop()
}

// case C-17: the start moves with the segments and can always be read; the active segment goes too when all of it is old.
func TestLogRetentionByTime(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 600, Delete: true, RetentionMs: 1000})
	l := w.log("t")
	for range 20 {
		w.produce(l, values(batch.None, w.clk.WallMs(), "v", 4))
		w.clk.Advance(1e8)
	}
	l.Retain(w.clk.WallMs())
	w.turn(l)
	if l.Start() == 0 || l.Start() == l.End() {
		t.Fatalf("start %d of %d", l.Start(), l.End())
	}
	w.contents(l, l.Start(), l.End())
	w.clk.Advance(1e10)
	for range 2 {
		l.Retain(w.clk.WallMs())
		w.turn(l)
	}
	if l.Start() != 80 || l.End() != 80 || len(l.segments) != 1 {
		t.Fatalf("[%d, %d) in %d segments", l.Start(), l.End(), len(l.segments))
	}
	if a := w.produce(l, values(batch.None, 1, "v", 1)); a.Base != 80 {
		t.Fatalf("offset %d was given again", a.Base)
	}
	w.crash()
	w.start()
	if l = w.log("t"); l.End() != 81 || l.Start() != 80 {
		t.Fatalf("[%d, %d)", l.Start(), l.End())
	}
	w.crash()
}

func TestLogRetentionLeavesWhatIsNotCommitted(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 1500, Delete: true, RetentionMs: 1})
	l := w.log("t")
	w.fill(l, 0, 20)
	l.hw = 3
	w.clk.Advance(1e12)
	l.Retain(w.clk.WallMs())
	w.turn(l)
	if l.Start() != 0 {
		t.Fatalf("start %d is above the high watermark", l.Start())
	}
}

func TestLogDeleteRecords(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 600})
	l := w.log("t")
	want := w.fill(l, 0, 20)
	if _, err := l.DeleteRecordsTo(81); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Fatalf("above the high watermark: %v", err)
	}
	if start, err := l.DeleteRecordsTo(37); start != 37 || err != nil {
		t.Fatal(start, err)
	}
	if start, _ := l.DeleteRecordsTo(5); start != 37 {
		t.Fatalf("the start went back to %d", start)
	}
	if got := w.contents(l, 37, l.End()); got[0] != want[37] {
		t.Fatalf("%v", got)
	}
	if l.epochs.list[0].Start != 37 {
		t.Fatalf("epochs %v", l.epochs.list)
	}
	l.Retain(w.clk.WallMs())
	w.turn(l)
	if l.segments[0].base == 0 {
		t.Fatal("segments below the start stay")
	}
	if err := w.m.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func(){w.crash, w.stop} {
		end()
		w.start()
		if l = w.log("t"); l.Start() != 37 || l.End() != 80 {
			t.Fatalf("[%d, %d)", l.Start(), l.End())
		}
	}
	if start, err := l.DeleteRecordsTo(-1); start != l.HighWatermark() || err != nil {
		t.Fatal(start, err)
	}
	w.stop()
}
