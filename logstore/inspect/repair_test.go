package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore"
)

// offsetsIn opens the directory with the broker's own code, and lists the records' offsets and the log's end.
func offsetsIn(t *testing.T, topic string) (offsets []int64, end int64) {
	t.Helper()
	m, err := logstore.OpenManager(logstore.ManagerOptions{Dirs: []string{"data"}, FS: disk.OS(), Clock: clock.NewReal(), BrokerID: -1, RecoveryThreads: 1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := m.Open(logstore.TopicPartition{Topic: topic}, [16]byte{}, logstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	end = l.End()
	if err := m.CloseClean(); err != nil {
		t.Fatal(err)
	}
	offsets, _ = everyRecord(t, "data/"+topic+"-0")
	return offsets, end
}

func TestRepairOffersWhatTheStartRefuses(t *testing.T) {
	const dir, log = "data/plain-none-0", "data/plain-none-0/00000000000000000000.log"
	for _, c := range []struct {
		choice Choice
		want   int64 // records left of 60
		end    int64
	}{{Truncate, 10, 10}, {Skip, 50, 60}} {
		t.Run(string(c.choice), func(t *testing.T) {
			goldenDir(t, "3.9.1", "crashed")
			patch(t, log, func(b []byte) []byte { b[1200] ^= 1; return b }) // in the batch of 10 to 19
			damaged, _ := os.ReadFile(log)
			r := &Repair{FS: disk.OS(), Dir: dir, Say: func(format string, args ...any) {}, DryRun: true}
			if err := r.Run(c.choice); err != nil {
				t.Fatal(err)
			}
			if b, _ := os.ReadFile(log); !bytes.Equal(b, damaged) {
				t.Fatal("a dry run changed the log")
			}
			r.DryRun = false
			if err := r.Run(c.choice); err != nil {
				t.Fatal(err)
			}
			if left := check(t, dir); len(left) > 2 { // the indexes that the start makes
				t.Errorf("left: %+v", left)
			}
			if kept, err := os.ReadFile(log + ".damaged"); err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("the damaged log was not kept: %v", err)
			}
			offsets, end := offsetsIn(t, "plain-none")
			if int64(len(offsets)) != c.want || end != c.end {
				t.Errorf("%d records, end %d; want %d and %d: %v", len(offsets), end, c.want, c.end, offsets)
			}
			if left := check(t, dir); len(left) > 0 {
				t.Errorf("after a start: %+v", left)
			}
			if err := r.Run(c.choice); !errors.Is(err, ErrSound) {
				t.Errorf("a second repair: %v", err)
			}
		})
	}
}

func TestRepairKeepsWhatAnEarlierOneTookOut(t *testing.T) {
	const dir, log = "data/plain-none-0", "data/plain-none-0/00000000000000000000.log"
	goldenDir(t, "3.9.1", "clean")
	r := &Repair{FS: disk.OS(), Dir: dir, Say: func(format string, args ...any) {}}
	var damaged [2][]byte
	for i, at := range []int{1200, 100} { // the second time before the end that the first one leaves
		patch(t, log, func(b []byte) []byte { b[at] ^= 1; return b })
		damaged[i], _ = os.ReadFile(log)
		if err := r.Run(Truncate); err != nil {
			t.Fatal(err)
		}
	}
	for i, path := range []string{log + ".damaged", log + ".2.damaged"} {
		if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, damaged[i]) {
			t.Errorf("%s is not what repair %d took out: %v", path, i+1, err)
		}
	}
}

func TestRepairTruncateGivesUpLaterSegments(t *testing.T) {
	goldenDir(t, "3.9.1", "clean")
	logs := filesUnder(t, "rolled-0/", ".log")
	if len(logs) < 3 {
		t.Fatal(logs)
	}
	patch(t, logs[1], func(b []byte) []byte { b[len(b)-1] ^= 1; return b })
	var said bytes.Buffer
	r := &Repair{FS: disk.OS(), Dir: "data/rolled-0", Say: func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) }}
	bad, err := r.Damaged()
	if err != nil || len(bad) != 1 {
		t.Fatal(bad, err)
	}
	if err := r.Run(Truncate); err != nil {
		t.Fatal(err)
	}
	if _, end := offsetsIn(t, "rolled"); end != bad[0].Offset {
		t.Errorf("the log ends at %d, want %d\n%s", end, bad[0].Offset, said.String())
	}
	if left := filesUnder(t, "rolled-0/", ".log"); len(left) != 2 {
		t.Errorf("segments left: %v", left)
	}
	if aside := filesUnder(t, "rolled-0/", ".damaged"); len(aside) != len(logs)-1 {
		t.Errorf("put aside: %v of %v", aside, logs)
	}
}

func TestRepairSkipFindsTheNextBatchBehindGarbage(t *testing.T) {
	goldenDir(t, "2.2.2", "clean")
	const log = "data/plain-gzip-0/00000000000000000000.log"
	var starts []int64
	if _, err := WalkFile(disk.OS(), log, func(b *Batch) bool { starts = append(starts, b.Position); return true }); err != nil {
		t.Fatal(err)
	}
	patch(t, log, func(b []byte) []byte { copy(b[starts[2]:], bytes.Repeat([]byte{0xff}, 100)); return b })
	r := &Repair{FS: disk.OS(), Dir: filepath.Dir(log), Say: func(string, ...any) {}}
	if err := r.Run(Skip); err != nil {
		t.Fatal(err)
	}
	if offsets, end := offsetsIn(t, "plain-gzip"); len(offsets) != 50 || end != 60 {
		t.Errorf("%d records, end %d: %v", len(offsets), end, offsets)
	}
}

func TestRepairRefusesWhileABrokerOwnsTheDirectory(t *testing.T) {
	goldenDir(t, "3.9.1", "clean")
	l, err := disk.OS().Lock("data/.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := &Repair{FS: disk.OS(), Dir: "data/plain-none-0", Say: func(string, ...any) {}}
	if err := r.Run(Truncate); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("run: %v", err)
	}
	if err := r.Rebuild(4096); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("rebuild: %v", err)
	}
}

func TestRebuildMakesKafkasIndexes(t *testing.T) {
	goldenDir(t, "3.9.1", "clean")
	for _, dir := range []string{"data/rolled-0", "data/plain-lz4-0", "data/txn-0"} {
		before := map[string][]byte{}
		for _, f := range filesUnder(t, filepath.Base(dir)+"/", ".index", ".timeindex") {
			before[f], _ = os.ReadFile(f)
		}
		r := &Repair{FS: disk.OS(), Dir: dir, Say: func(string, ...any) {}}
		if err := r.Rebuild(300); err != nil {
			t.Fatal(err)
		}
		for f, want := range before {
			if got, err := os.ReadFile(f); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %x (%v), Kafka has %x", f, got, err, want)
			}
		}
	}
}
