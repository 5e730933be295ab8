package logstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// dirty makes a log of several closed segments with many values of few keys, and returns its cleaning.
func dirty(t *testing.T, w *world, l *Log) Work {
	t.Helper()
	for i := range 60 {
		bd := batch.NewBuilder(batch.None)
		bd.Add(int64(i), []byte(fmt.Sprint("k", i%5)), make([]byte, 100))
		w.produce(l, bd.Bytes())
	}
	w.turn(l)
	l.Retain(w.clk.WallMs())
	for job := l.TakeWork(); job != nil; job = l.TakeWork() {
		if _, ok := Dirtiness(job); ok {
			return job
		}
		job.Run()
		job.Apply()
	}
	t.Fatal("nothing to clean")
	return nil
}

func TestCleanersKeepToTheirRate(t *testing.T) {
	w, l := compacting(t)
	var slept int64
	l.throttle = &throttle{clk: w.clk, pause: func(ns int64) { slept += ns; w.clk.Advance(time.Duration(ns)) }}
	const rate = 10_000
	o := l.Options()
	o.CleanerBytesPerSecond = rate
	l.SetOptions(o)
	job := dirty(t, w, l)
	var size int64
	for _, s := range job.(gated).job.(*compactWork).c.segments {
		size += s.size
	}
	job.Run()
	job.Apply()
	// Every byte is read twice, for the map and for the copy; what is kept is written.
	least, most := 2*size*1e9/rate, 3*size*1e9/rate
	if slept < least-shortestNap || slept > most {
		t.Errorf("slept %v for %d bytes at %d a second; %v to %v was expected", time.Duration(slept), size, rate, time.Duration(least), time.Duration(most))
	}
	w.turn(l)
	if l.Compaction().Runs != 1 {
		t.Errorf("%+v", l.Compaction())
	}
}

func TestCleanersWithoutARateDoNotWait(t *testing.T) {
	w, l := compacting(t)
	l.throttle = &throttle{clk: w.clk, pause: func(int64) { t.Error("waited") }}
	job := dirty(t, w, l)
	job.Run()
	job.Apply()
	w.turn(l)
}

func TestDirtinessIsTheShareNeverCleaned(t *testing.T) {
	w, l := compacting(t)
	job := dirty(t, w, l)
	if ratio, ok := Dirtiness(job); !ok || ratio != 1 {
		t.Errorf("a log that was never cleaned: %v %t", ratio, ok)
	}
	job.Run()
	job.Apply()
	w.turn(l)
	if ratio, ok := Dirtiness(dirty(t, w, l)); !ok || ratio <= 0 || ratio >= 1 {
		t.Errorf("a log that was cleaned before: %v %t", ratio, ok)
	}
	if _, ok := Dirtiness(&flushWork{}); ok {
		t.Error("a flush is no cleaning")
	}
}
