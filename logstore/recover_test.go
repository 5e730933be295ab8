package logstore

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// fill produces n batches of 4 records and returns what must be there.
func (w *world) fill(l *Log, from, n int) (want []string) {
	for i := from; i < from+n; i++ {
		a := w.produce(l, values(batch.None, int64(1000*i), fmt.Sprint("v", i), 4))
		for k := range 4 {
			want = append(want, fmt.Sprintf("%d=v%d-%d", a.Base+int64(k), i, k))
		}
	}
	return want
}

// case C-64: produce, kill, start, produce, stop, start, produce, kill, start.
func TestLogSurvivesCrashesAndStops(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 1500, IndexInterval: 200})
	var want []string
	for i, end := range []func(){w.crash, w.stop, w.crash, w.crash, w.stop, w.stop} {
		l := w.log("t")
		want = append(want, w.fill(l, i*10, 10)...)
		end()
		w.start()
		l = w.log("t")
		if got := w.contents(l, 0, l.End()); !slices.Equal(got, want) {
			t.Fatalf("round %d: %v\nwant %v", i, got, want)
		}
		if _, err := os.Stat(filepath.Join(w.dirs[0], cleanFile)); err == nil {
			t.Fatal("the marker is there while the log is open")
		}
	}
}

// case C-65 and F13: every torn end is cut to whole batches, and what was synced stays.
func TestLogRecoversFromTornTails(t *testing.T) {
	w := newWorld(t, Options{IndexInterval: 200})
	l := w.log("t")
	want := w.fill(l, 0, 10)
	w.checkpoint(l)
	synced := l.active().size
	want = append(want, w.fill(l, 10, 10)...)
	size := l.active().size
	w.crash()
	path := filepath.Join(w.dirs[0], "t-0", fileName(0, sufLog))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	step := (size - synced) / 10
	rng := rand.New(rand.NewSource(7))
	for round := range 200 {
		b := slices.Clone(whole)
		var keep int64
		switch round % 4 {
		case 0: // cut
			at := synced + rng.Int63n(size-synced)
			b, keep = b[:at], (at-synced)/step
		case 1: // one bit
			at := synced + rng.Int63n(size-synced)
			b[at] ^= 1 << rng.Intn(8)
			keep = (at - synced) / step
			if in := (at - synced) % step; in < 8 || in >= 12 && in < 16 {
				continue // base offset and epoch lie outside the CRC
			}
		case 2: // a block of zeros
			at := synced + rng.Int63n(size-synced)
			clear(b[at:min(int(at)+512, len(b))])
			keep = (at - synced) / step
		case 3: // garbage and zeros behind the end
			b = append(b, make([]byte, rng.Intn(300)+1)...)
			rng.Read(b[size : size+int64(rng.Intn(len(b)-int(size)))])
			keep = 10
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		w.start()
		l := w.log("t")
		got := w.contents(l, 0, l.End())
		if int64(len(got)) < 40+4*keep || !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("round %d: %d records, at least %d were whole", round, len(got), 40+4*keep)
		}
		more := w.fill(l, 90, 1)
		if got := w.contents(l, 0, l.End()); got[len(got)-1] != more[3] {
			t.Fatalf("round %d: %v", round, got[len(got)-3:])
		}
		w.crash()
	}
}

func TestLogNeverCutsBelowTheRecoveryPoint(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	w.fill(l, 0, 10)
	w.checkpoint(l)
	w.crash()
	path := filepath.Join(w.dirs[0], "t-0", fileName(0, sufLog))
	b, _ := os.ReadFile(path)
	b[len(b)/2] ^= 0x10
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	w.start()
	_, err := w.open("t")
	var bad *CorruptError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "recovery point") {
		t.Fatalf("%v", err)
	}
	if now, _ := os.ReadFile(path); !slices.Equal(now, b) {
		t.Fatal("the damaged file was changed")
	}
	if _, err := w.open("other"); err != nil {
		t.Fatalf("damage of one partition stopped another: %v", err)
	}
	w.crash()
}

func TestLogRebuildsIndexes(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 1500, IndexInterval: 200})
	l := w.log("t")
	want := w.fill(l, 0, 40)
	last := l.active().base
	w.stop()
	dir := filepath.Join(w.dirs[0], "t-0")
	original := map[string][]byte{}
	for _, suffix := range []string{sufIndex, sufTime} {
		for _, base := range []int64{0, last} {
			name := filepath.Join(dir, fileName(base, suffix))
			original[name], _ = os.ReadFile(name)
		}
	}
	spoil := []func(name string) error{
		os.Remove,
		func(name string) error { return os.Truncate(name, 5) },
		func(name string) error { return os.WriteFile(name, make([]byte, 4096/24*24), 0o644) },
		func(name string) error {
			b := slices.Repeat([]byte{0x7f}, 24)
			return os.WriteFile(name, b, 0o644)
		},
	}
	for i, how := range spoil {
		for name := range original {
			if err := how(name); err != nil {
				t.Fatal(err)
			}
		}
		w.start()
		l = w.log("t")
		if got := w.contents(l, 0, l.End()); !slices.Equal(got, want) {
			t.Fatalf("spoilt by %d: %v", i, got)
		}
		for _, ts := range []int64{0, 5000, 20001, 39003} {
			if o, at, _, _, err := l.LookupTime(ts); err != nil || at < ts || o != ts/1000*4+ts%1000 {
				t.Fatalf("spoilt by %d: time %d: offset %d time %d %v", i, ts, o, at, err)
			}
		}
		w.stop()
		for name, b := range original {
			if now, err := os.ReadFile(name); err != nil || !slices.Equal(now, b) {
				t.Fatalf("spoilt by %d: %s is %d bytes, was %d: %v", i, name, len(now), len(b), err)
			}
		}
	}
}

func TestLogCleanStopTouchesNothingThatIsRight(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 1500, IndexInterval: 200})
	w.fill(w.log("t"), 0, 20)
	w.stop()
	before := listing(t, filepath.Join(w.dirs[0], "t-0"))
	w.start()
	w.log("t")
	w.stop()
	if after := listing(t, filepath.Join(w.dirs[0], "t-0")); !slices.Equal(before, after) {
		t.Fatalf("%v\n%v", before, after)
	}
	for _, line := range before {
		if strings.Contains(line, "10485760") {
			t.Fatalf("an index was not cut at the stop: %v", line)
		}
	}
}

func listing(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, _ := e.Info()
		out = append(out, fmt.Sprint(e.Name(), " ", info.Size(), " ", info.ModTime()))
	}
	return out
}

func TestLogKeepsOnlyWhatIsBehindAHole(t *testing.T) {
	// Segments were flushed by the kernel out of order: the middle one is torn, the last is whole. It must not be kept behind a hole.
	w := newWorld(t, Options{SegmentBytes: 1500, IndexInterval: 200})
	l := w.log("t")
	want := w.fill(l, 0, 40)
	mid := l.segments[1]
	l.durable = 0
	l.publish()
	w.crash()
	if err := os.Truncate(mid.stem+sufLog, mid.size-5); err != nil {
		t.Fatal(err)
	}
	w.start()
	l = w.log("t")
	got := w.contents(l, 0, l.End())
	if !slices.Equal(got, want[:len(got)]) || l.End() != mid.next-4 || len(l.segments) != 2 {
		t.Fatalf("end %d, want %d; %d segments", l.End(), mid.next-4, len(l.segments))
	}
	w.fill(l, 50, 20)
	w.crash()
}

func TestManagerRefusals(t *testing.T) {
	w := newWorld(t, Options{})
	open := func(o ManagerOptions) error {
		o.Dirs, o.FS, o.Clock = w.dirs, disk.OS(), w.clk
		m, err := OpenManager(o)
		if err == nil {
			m.unlock()
		}
		return err
	}
	if err := open(ManagerOptions{BrokerID: 0}); !errors.Is(err, disk.ErrLocked) {
		t.Fatalf("a second one on the same directory: %v", err)
	}
	if err := w.m.Identify(4, "clusterA"); err != nil {
		t.Fatal(err)
	}
	w.stop()
	b, _ := os.ReadFile(filepath.Join(w.dirs[0], metaFile))
	if want := "#\n#Sun Sep 13 12:26:40 UTC 2020\nbroker.id=4\nversion=0\ncluster.id=clusterA\n"; string(b) != want {
		t.Fatalf("%q", b)
	}
	if err := open(ManagerOptions{BrokerID: 5}); !errors.Is(err, ErrMeta) || !strings.Contains(err.Error(), "broker.id 4") {
		t.Fatalf("another broker's: %v", err)
	}
	if err := open(ManagerOptions{BrokerID: 4, ClusterID: "clusterB"}); !errors.Is(err, ErrMeta) {
		t.Fatalf("another cluster's: %v", err)
	}
	if err := open(ManagerOptions{BrokerID: -1}); err != nil {
		t.Fatalf("an unset id takes the directory's: %v", err)
	}
}

func TestManagerPlacesOnTheEmptiestDirectory(t *testing.T) {
	w := newWorld(t, Options{})
	w.stop()
	w.dirs = append(w.dirs, filepath.Join(t.TempDir(), "second"))
	w.start()
	count := map[string]int{}
	for i := range 6 {
		count[w.log(fmt.Sprint("t", i)).Dir()]++
	}
	if count[w.dirs[0]] != 3 || count[w.dirs[1]] != 3 {
		t.Fatalf("%v", count)
	}
	w.m.FailDir(w.dirs[1], errors.New("gone"))
	if d := w.log("t9").Dir(); d != w.dirs[0] {
		t.Fatalf("placed on a failed directory: %s", d)
	}
	if infos := w.m.Dirs(); infos[0].Offline != nil || infos[1].Offline == nil || infos[0].Logs != 4 || infos[0].Total <= 0 {
		t.Fatalf("%+v", infos)
	}
	w.stop()
	w.start()
	if got := w.m.Found(); len(got) != 7 || got[6].Topic != "t9" {
		t.Fatalf("%v", got)
	}
	w.stop()
}

func TestManagerDeletes(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	w.fill(l, 0, 3)
	var s Span
	if _, err := l.Read(0, 1000, 12, true, &s); err != nil {
		t.Fatal(err)
	}
	if err := w.m.Delete(l.TopicPartition()); err != nil {
		t.Fatal(err)
	}
	if err := w.m.Delete(l.TopicPartition()); !errors.Is(err, ErrNotFound) {
		t.Fatalf("%v", err)
	}
	delete(w.logs, "t")
	if again := w.log("t"); again.End() != 0 {
		t.Fatalf("a new topic of the same name has %d records", again.End())
	}
	w.clk.Advance(61e9)
	w.m.Sweep()
	if _, err := s.File.ReadAt(make([]byte, 10), s.Pos); err != nil {
		t.Fatalf("a file went while a span held it: %v", err)
	}
	s.Release()
	w.m.Sweep()
	entries, _ := os.ReadDir(w.dirs[0])
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "-delete") {
			t.Fatalf("%s is still there", e.Name())
		}
	}
	w.stop()
}

// What the checkpoints say of a deleted partition must not reach the next one of its name: a start behind its end would empty it after a crash,
// a recovery point would forbid to cut its torn end.
func TestNewPartitionForgetsItsFormer(t *testing.T) {
	for name, leave := range map[string]func(w *world, l *Log){
		"deleted": func(w *world, l *Log) {
			if err := w.m.Delete(l.TopicPartition()); err != nil {
				t.Fatal(err)
			}
			delete(w.logs, "t")
		},
		"taken away by hand": func(w *world, l *Log) {
			w.crash()
			if err := os.RemoveAll(l.path); err != nil {
				t.Fatal(err)
			}
			w.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			l := w.log("t")
			w.fill(l, 0, 10)
			if _, err := l.DeleteRecordsTo(30); err != nil {
				t.Fatal(err)
			}
			w.checkpoint(l)
			leave(w, l)
			l = w.log("t")
			w.produce(l, values(batch.None, 1, "kept", 2))
			end := w.push(l, values(batch.None, 1, "torn", 2))
			w.turn(l)
			w.done(l, end)
			path := l.active().file.Path()
			w.crash()
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, info.Size()-1); err != nil {
				t.Fatal(err)
			}
			w.start()
			l = w.log("t")
			if got := w.contents(l, 0, l.End()); l.Start() != 0 || fmt.Sprint(got) != "[0=kept-0 1=kept-1]" {
				t.Fatalf("from %d on: %v", l.Start(), got)
			}
			w.stop()
		})
	}
}

// A job of a deleted log must neither fail its directory nor write into a new partition of the same name.
func TestManagerDeleteStopsJobs(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	l.AssignEpoch(7, 0)
	birth := l.TakeWork()
	if err := w.m.Delete(l.TopicPartition()); err != nil {
		t.Fatal(err)
	}
	delete(w.logs, "t")
	again := w.log("t")
	birth.Run()
	birth.Apply()
	if job := l.TakeWork(); job != nil {
		t.Fatal("a deleted log has jobs")
	}
	if _, err := os.Stat(filepath.Join(again.Path(), partitionFile)); err == nil || w.off != nil {
		t.Fatalf("the old log's job wrote into the new one: %v", w.off)
	}
	a := w.push(l, values(batch.None, 1, "x", 1))
	w.done(l, a)
	if !errors.Is(a.Err, ErrClosed) {
		t.Fatalf("%v", a.Err)
	}
	w.turn(again)
	w.stop()
}
