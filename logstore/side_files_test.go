package logstore

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/logstore/producer"
)

// sideWorld is a log of many segments with transactions, some aborted, and its directory after a clean stop and after a crash.
type sideWorld struct {
	*world
	clean, crashed string
	bases          []int64 // of the segments
	view           string
}

func newSideWorld(t *testing.T) *sideWorld {
	quickSyncs(t)
	w := &sideWorld{world: newWorld(t, Options{SegmentBytes: 1700, IndexInterval: 200})}
	l := w.log("t")
	for i := range int32(23) {
		for pid := range int64(2) {
			w.transact(l, pid+1, i, "a", fmt.Sprint("b", i), "c")
			w.clk.Advance(1000e6)
		}
		w.mark(l, 1, int16(i%2))
		w.mark(l, 2, 1)
	}
	w.checkpoint(l)
	for _, seg := range l.segments {
		if w.bases = append(w.bases, seg.base); seg.offsets.n < 3 || seg.times.n < 3 {
			t.Fatalf("segment %d: %d and %d entries", seg.base, seg.offsets.n, seg.times.n)
		}
	}
	w.view = w.see(l)
	w.clean, w.crashed = filepath.Join(t.TempDir(), "clean"), filepath.Join(t.TempDir(), "crashed")
	w.crash()
	copyTree(t, w.dirs[0], w.crashed)
	w.start()
	w.log("t")
	w.stop()
	copyTree(t, w.dirs[0], w.clean)
	return w
}

// quickSyncs has a test's directories in memory, where there is such a place: it stops hundreds of times, and the syncs are not what it tests.
func quickSyncs(t *testing.T) {
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm")
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// see is all that a log tells: records and what is aborted among them, offsets by time, producers, epochs.
func (w *sideWorld) see(l *Log) string {
	w.t.Helper()
	var s strings.Builder
	for from := l.Start(); from < l.End(); from += 19 {
		fmt.Fprintln(&s, from, len(w.contents(l, from, l.End())))
	}
	fmt.Fprintln(&s, w.contents(l, 0, l.End()), w.committed(l), l.LastStable(), l.AbortedIn(0, l.End(), nil))
	for ts := int64(1_600_000_000_000); ts < 1_600_000_110_000; ts += 2500 {
		o, at, epoch, _, err := l.LookupTime(ts)
		fmt.Fprintln(&s, ts, o, at, epoch, err)
	}
	var states []string
	l.Producers(func(p producer.State) { states = append(states, fmt.Sprintf("%+v", p)) })
	slices.Sort(states)
	fmt.Fprintln(&s, states, l.epochs.list)
	return s.String()
}

// spoilt opens a saved directory with one thing changed, compares what it tells, stops, and compares files with those of the clean stop.
func (w *sideWorld) spoilt(t *testing.T, from string, spoil func(dir string), same bool) {
	t.Helper()
	copyTree(t, from, w.dirs[0])
	spoil(filepath.Join(w.dirs[0], "t-0"))
	w.start()
	l, err := w.open("t")
	if err != nil {
		w.crash()
		t.Error(err)
		return
	}
	l.SetHighWatermark(l.End()) // as a leader without followers does
	if got := w.see(l); got != w.view {
		t.Errorf("the log tells\n%s\nnot\n%s", firstDifference(got, w.view), firstDifference(w.view, got))
	}
	w.stop()
	for _, base := range w.bases {
		for _, suffix := range []string{sufLog, sufIndex, sufTime, sufTxn} {
			name := filepath.Join("t-0", fileName(base, suffix))
			want, _ := os.ReadFile(filepath.Join(w.clean, name)) // none: it must not be made either
			got, _ := os.ReadFile(filepath.Join(w.dirs[0], name))
			if same && !slices.Equal(got, want) {
				t.Errorf("%s has %d bytes after a clean stop, other than the %d of one without damage", name, len(got), len(want))
			}
		}
	}
}

// firstDifference is the first line of a that b has not.
func firstDifference(a, b string) string {
	other := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(other) || other[i] != line {
			return line
		}
	}
	return ""
}

// Every way in which a side file may be wrong, for a closed and for the active segment, after a clean stop and after a crash: the log tells what
// it told, and the file is right again. What no load can notice is noticed when it is used; such a file stays as it is.
func TestSideFilesMayBeWrongInAnyWay(t *testing.T) {
	w := newSideWorld(t)
	n := len(w.bases)
	if n < 5 {
		t.Fatal("segments:", n)
	}
	mutate := func(name string, how func(b []byte) []byte) func(string) {
		return func(dir string) {
			path := filepath.Join(dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, how(slices.Clone(b)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	type damage struct {
		name   string
		how    func(width int) func(b []byte) []byte
		late   bool // in a closed segment nobody notices before it is used
		suffix string
	}
	last := func(b []byte, width int) []byte { return b[len(b)-width:] }
	cases := []damage{
		{name: "empty", how: func(int) func([]byte) []byte { return func([]byte) []byte { return nil } }},
		{name: "torn", how: func(int) func([]byte) []byte { return func(b []byte) []byte { return b[:max(0, len(b)-5)] } }},
		{name: "an entry short", late: true, suffix: sufIndex, how: func(width int) func([]byte) []byte { return func(b []byte) []byte { return b[:max(0, len(b)-width)] } }},
		{name: "preallocated", how: func(width int) func([]byte) []byte {
			return func(b []byte) []byte { return append(b, make([]byte, 100*width)...) }
		}},
		{name: "zeros", how: func(int) func([]byte) []byte { return func(b []byte) []byte { return make([]byte, len(b)) } }},
		{name: "garbage", how: func(int) func([]byte) []byte {
			return func(b []byte) []byte { return slices.Repeat([]byte{0x7f}, len(b)) }
		}},
		{name: "an offset beyond the end", how: func(width int) func([]byte) []byte {
			return func(b []byte) []byte {
				e := last(b, width)
				binary.BigEndian.PutUint32(e[len(e)%8:], 1<<20) // the last column of a time index, the first of an offset index
				return b
			}
		}},
		{name: "a position beyond the end", suffix: sufIndex, how: func(width int) func([]byte) []byte {
			return func(b []byte) []byte { binary.BigEndian.PutUint32(last(b, width)[4:], 1<<20); return b }
		}},
		{name: "the end unsorted", how: func(width int) func([]byte) []byte {
			return func(b []byte) []byte {
				x, y := slices.Clone(b[len(b)-2*width:len(b)-width]), slices.Clone(last(b, width))
				return append(append(b[:len(b)-2*width], y...), x...)
			}
		}},
		{name: "the middle unsorted", late: true, suffix: sufIndex, how: func(width int) func([]byte) []byte {
			return func(b []byte) []byte {
				x, y := slices.Clone(b[width:2*width]), slices.Clone(b[2*width:3*width])
				copy(b[width:], y)
				copy(b[2*width:], x)
				return b
			}
		}},
		{name: "wrong positions", late: true, suffix: sufIndex, how: func(width int) func([]byte) []byte {
			return func(b []byte) []byte {
				for i := 0; i+width < len(b); i += width {
					binary.BigEndian.PutUint32(b[i+4:], binary.BigEndian.Uint32(b[i+4:])+13)
				}
				return b
			}
		}},
		{name: "the last position wrong", late: true, suffix: sufIndex, how: func(width int) func([]byte) []byte {
			return func(b []byte) []byte {
				e := last(b, width)
				binary.BigEndian.PutUint32(e[4:], binary.BigEndian.Uint32(e[4:])-7)
				return b
			}
		}},
	}
	for _, from := range []string{w.clean, w.crashed} {
		for place, base := range map[string]int64{"closed": w.bases[2], "active": w.bases[n-1]} {
			for _, suffix := range []string{sufIndex, sufTime} {
				name := fileName(base, suffix)
				t.Run(fmt.Sprint(filepath.Base(from), " ", place, suffix, " missing"), func(t *testing.T) {
					w.spoilt(t, from, func(dir string) {
						if err := os.Remove(filepath.Join(dir, name)); err != nil {
							t.Fatal(err)
						}
					}, true)
				})
				width := offsetEntry
				if suffix == sufTime {
					width = timeEntry
				}
				for _, c := range cases {
					if c.suffix != "" && c.suffix != suffix || from == w.crashed && place == "active" && c.late { // it is made anew whatever it holds
						continue
					}
					t.Run(fmt.Sprint(filepath.Base(from), " ", place, suffix, " ", c.name), func(t *testing.T) {
						w.spoilt(t, from, mutate(name, c.how(width)), !c.late)
					})
				}
			}
		}
	}
}

// The same for the index of aborted transactions, the producers' snapshots, the epochs and the directory's checkpoints.
func TestOtherSideFilesMayBeWrong(t *testing.T) {
	w := newSideWorld(t)
	write := func(name string, how func(b []byte) []byte) func(string) {
		return func(dir string) {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), how(b), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	closed := ""
	for _, base := range w.bases[1 : len(w.bases)-1] {
		name := fileName(base, sufTxn)
		if b, err := os.ReadFile(filepath.Join(w.clean, "t-0", name)); err == nil && len(b) >= 2*txnEntry {
			closed = name
		}
	}
	active := fileName(w.bases[len(w.bases)-1], sufTxn)
	snapshots, err := filepath.Glob(filepath.Join(w.clean, "t-0", "*"+sufSnapshot))
	if err != nil || len(snapshots) < 2 || closed == "" {
		t.Fatal(snapshots, err, closed)
	}
	newest := filepath.Base(snapshots[len(snapshots)-1])
	end := w.bases[len(w.bases)-1] + 1000
	future := fileName(end, sufSnapshot)
	flip := func(at int) func(b []byte) []byte {
		return func(b []byte) []byte { b[(at+len(b))%len(b)] ^= 0x40; return b }
	}
	cut := func(n int) func(b []byte) []byte { return func(b []byte) []byte { return b[:max(0, len(b)-n)] } }
	text := func(s string) func(b []byte) []byte { return func([]byte) []byte { return []byte(s) } }
	every := func(one func(dir, name string)) func(string) {
		return func(dir string) {
			all, err := filepath.Glob(filepath.Join(dir, "*"+sufSnapshot))
			if err != nil || len(all) == 0 {
				t.Fatal(all, err)
			}
			for _, s := range all {
				one(dir, filepath.Base(s))
			}
		}
	}
	cases := map[string]func(dir string){
		"transactions cut":        write(closed, cut(3)),
		"transactions of version": write(closed, flip(1)),
		"transactions unsorted": write(closed, func(b []byte) []byte {
			return append(slices.Clone(b[txnEntry:2*txnEntry]), append(b[:txnEntry:txnEntry], b[2*txnEntry:]...)...)
		}),
		"transactions of another segment": write(closed, flip(24)),
		"transactions of zeros":           write(closed, func(b []byte) []byte { return make([]byte, txnEntry) }),
		"active transactions cut":         write(active, cut(3)),
		"active transactions beyond":      write(active, flip(24)),
		"snapshot with a wrong checksum":  write(newest, flip(-1)),
		"snapshot cut":                    write(newest, cut(5)),
		"snapshot empty":                  write(newest, cut(1<<20)),
		"snapshot of another version":     write(newest, flip(1)),
		"every snapshot wrong":            every(func(dir, name string) { write(name, flip(10))(dir) }),
		"snapshot of the future": func(dir string) {
			b, err := os.ReadFile(filepath.Join(dir, newest))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, future), b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"epochs of garbage":   write(epochFile, text("what?")),
		"epochs cut":          write(epochFile, text("0\n3\n3 0\n")),
		"epochs that go back": write(epochFile, text("0\n2\n3 10\n2 20\n")),
		"epochs empty":        write(epochFile, text("")),
		"recovery point":      write("../"+recoveryFile, text("0\n7\nt 0")),
		"high watermark":      write("../"+highFile, text("garbage")),
		"log start":           write("../"+startFile, text("1\n0\n")),
		"cleaner":             write("../"+cleanerFile, text("0\n1\nt zero 1\n")),
		"a checkpoint empty":  write("../"+recoveryFile, text("")),
	}
	for name, spoil := range cases {
		for _, from := range []string{w.clean, w.crashed} {
			t.Run(filepath.Base(from)+" "+name, func(t *testing.T) {
				if from == w.crashed && (strings.HasPrefix(name, "active") || strings.HasPrefix(name, "snapshot ")) {
					t.Skip("a crash leaves no such file: it is written by a clean stop")
				}
				w.spoilt(t, from, spoil, true)
				left, err := filepath.Glob(filepath.Join(w.dirs[0], "t-0", future))
				if err != nil || len(left) > 0 {
					t.Error("the snapshot of the future is still there")
				}
			})
		}
	}
}
