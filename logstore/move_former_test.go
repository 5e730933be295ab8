package logstore

import (
	"syscall"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
)

// case: a full disk is probed by a job that cuts the active segment to what was written. One that still waits when the log has moved must not cut
// what was appended since, and the log takes records in its new place at once.
func TestMoveForgetsTheProbeOfAFullDisk(t *testing.T) {
	w := newTwoDirs(t, Options{IndexInterval: 200})
	l := w.log("t")
	want := w.fill(l, 0, 3)
	w.plan(l, w.dirs[1])
	if !w.copyOnce(l) {
		t.Fatal("nothing was copied")
	}
	l.write.full = true
	l.probeSpace(l.nowMs)
	if len(l.work.slow) != 1 || !l.work.probing {
		t.Fatalf("%d jobs wait", len(l.work.slow))
	}
	job := l.TakeWork() // the exchange
	job.Run()
	job.Apply()
	if l.Dir() != w.dirs[1] || l.work.probing || l.write.full {
		t.Fatalf("in %s, probing %v, full %v", l.Dir(), l.work.probing, l.write.full)
	}
	for _, x := range l.work.slow {
		if _, ok := x.(*probeWork); ok {
			t.Fatal("the probe still waits")
		}
	}
	want = append(want, w.fill(l, 3, 2)...)
	w.wantContents(l, want)
	w.stop()
}

// An error in the directory that a log has left is held against that one, whoever meets it.
func TestMoveBlamesTheDirectoryOfTheError(t *testing.T) {
	w := newTwoDirs(t, Options{})
	l := w.log("t")
	w.fill(l, 0, 3)
	old := l.active().file.Path()
	w.plan(l, w.dirs[1])
	w.turn(l)
	l.Fail(&disk.Error{Op: "read", Path: old, Err: syscall.EIO})
	if l.Offline() != nil || w.m.dirs[0].Offline() == nil {
		t.Fatalf("the log: %v, the directory that it left: %v", l.Offline(), w.m.dirs[0].Offline())
	}
	l.Fail(&disk.Error{Op: "read", Path: l.active().file.Path(), Err: syscall.EIO})
	if l.Offline() == nil {
		t.Fatal("its own directory is online")
	}
	w.crash()
}
