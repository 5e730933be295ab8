package broker_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// serveKey makes this test binary a broker: its value is the settings, as JSON.
const serveKey = "PELTON_TEST_SERVE"

// serveInstead runs a broker when the process was started by spawn; it ends by SIGTERM or by being killed.
func serveInstead() {
	text := os.Getenv(serveKey)
	if text == "" {
		return
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	n := &node{}
	err := json.Unmarshal([]byte(text), &n.keys)
	if err == nil {
		err = n.begin()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(n.broker.Ready()); err != nil {
		os.Exit(1)
	}
	<-term
	if err := n.end(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process is a broker in a process of its own, which can be killed.
type process struct {
	node
	cmd *exec.Cmd
}

func spawn(t *testing.T, settings ...string) *process {
	t.Helper()
	if os.Getenv(realBroker) != "" {
		t.Skip(realBroker + " names a broker outside, whose settings and directories this test cannot choose")
	}
	p := &process{node: node{keys: defaults(t.TempDir())}}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		p.keys[key] = value
	}
	p.start(t)
	t.Cleanup(func() { p.kill() })
	return p
}

func (p *process) start(t *testing.T) {
	t.Helper()
	keys, err := json.Marshal(p.keys)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), serveKey+"="+string(keys))
	p.cmd.Stderr = &stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &p.ready)
	}
	if err != nil {
		p.kill()
		t.Fatalf("the broker does not start: %v\n%s", err, stderr.String())
	}
	p.addr = p.ready.Kafka
}

// kill ends the process as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	_ = p.cmd.Wait()
}

// stop ends the process cleanly.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatal("a clean stop:", err)
	}
}

// C-64: crashes and clean stops in turn; nothing preallocated is mistaken for data or for the end.
func TestCrashThenStopThenCrash(t *testing.T) {
	for _, preallocate := range []string{"false", "true"} {
		t.Run("preallocate-"+preallocate, func(t *testing.T) {
			p := spawn(t, "log.preallocate="+preallocate, "log.segment.bytes=1048576")
			c := p.dial(t)
			name := "crash"
			makeTopic(t, c, name, 1)
			written := 0
			for round, end := range []string{"crash", "stop", "crash", "crash", "stop"} {
				for range 10 {
					want(t, "offset", mustProduce(c, name, values(fmt.Sprint(written))), int64(written))
					written++
				}
				if end == "crash" {
					p.kill()
				} else {
					p.stop(t)
				}
				p.start(t)
				c = p.dial(t)
				got := readAll(c, name, 0, 0)
				if len(got) != written {
					t.Fatalf("round %d (%s): %d records, want %d", round, end, len(got), written)
				}
				for i, r := range got {
					if r.offset != int64(i) || r.value != fmt.Sprint(i) {
						t.Fatalf("round %d: offset %d holds %q", round, r.offset, r.value)
					}
				}
			}
		})
	}
}

// history is what clients know of a partition: the value that was acknowledged at each offset.
type history struct {
	mu    sync.Mutex
	known map[int64]string
	acked int
}

// write produces until the connection ends, and notes what was acknowledged. Each value is sent once.
func (h *history) write(c *conn, name, prefix string, acks int16, progress chan<- struct{}) {
	for i := 0; ; i++ {
		value := fmt.Sprintf("%s-%d", prefix, i)
		resp, err := tryAsk[*kmsg.ProduceResponse](c, produceVersion, produceRequest(name, 0, acks, values(value, strings.Repeat("x", rand.N(300)))))
		if err != nil {
			return
		}
		p := resp.Topics[0].Partitions[0]
		if p.ErrorCode != 0 {
			return
		}
		h.mu.Lock()
		h.known[p.BaseOffset] = value
		h.acked++
		h.mu.Unlock()
		select {
		case progress <- struct{}{}:
		default:
		}
	}
}

// check compares what the broker has now with what was known. A damaged disk may have cost the end of the log, and nothing else.
func (h *history) check(t *testing.T, c *conn, name string, damaged bool) {
	t.Helper()
	end := listOffset(c, listVersion, name, 0, -1).Offset
	have := map[int64]string{}
	for _, r := range readAll(c, name, 0, 0) {
		have[r.offset] = r.value
	}
	for offset, value := range h.known {
		switch {
		case offset < end && have[offset] != value:
			t.Fatalf("offset %d holds %q, acknowledged was %q", offset, have[offset], value)
		case offset >= end && !damaged:
			t.Fatalf("offset %d was acknowledged, the log ends at %d", offset, end)
		case offset >= end:
			delete(h.known, offset)
		}
	}
}

// C-65: killed at any moment, with an undamaged disk or with one that lost or changed the end of the log: an offset never holds another
// record than the one that was acknowledged, and a log that got shorter has a new leader epoch.
func TestKilledAtAnyMoment(t *testing.T) {
	p := spawn(t, "log.segment.bytes=20000")
	c := p.dial(t)
	name := "killed"
	makeTopic(t, c, name, 1)
	h := &history{known: map[int64]string{}}
	for round, damage := range []func(*testing.T, string){nil, nil, nil, nil, nil, cutTail, cutTail, cutTail, flipByte, flipByte, nil} {
		epoch, end := leaderEpoch(c, name), listOffset(c, listVersion, name, 0, -1).Offset
		var wait sync.WaitGroup
		progress := make(chan struct{})
		for i, acks := range []int16{1, -1, 1, -1} {
			w := p.dial(t)
			wait.Add(1)
			go func() {
				defer wait.Done()
				h.write(w, name, fmt.Sprintf("r%d-w%d", round, i), acks, progress)
			}()
		}
		for range 5 + rand.N(60) {
			<-progress
		}
		p.kill()
		wait.Wait()
		if damage != nil {
			damage(t, filepath.Join(p.keys["log.dirs"], name+"-0"))
		}
		last := int64(0)
		for offset := range h.known {
			last = max(last, offset)
		}
		p.start(t)
		c = p.dial(t)
		eventually(t, "the partition has its leader", func() bool { return led(c, name) })
		h.check(t, c, name, damage != nil)
		now := listOffset(c, listVersion, name, 0, -1).Offset
		if now < end {
			t.Fatalf("round %d: the log ends at %d, before %d, which an earlier start had found whole", round, now, end)
		}
		if now <= last && leaderEpoch(c, name) <= epoch {
			t.Errorf("round %d: the log lost offset %d and keeps epoch %d", round, last, epoch)
		}
	}
	if h.acked < 50 {
		t.Errorf("only %d records were acknowledged", h.acked)
	}
}

// activeSegment is the last segment file that has something in it.
func activeSegment(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	for _, f := range slices.Backward(files) {
		if info, err := os.Stat(f); err == nil && info.Size() > 300 {
			return f
		}
	}
	t.Fatal("no segment in", dir)
	return ""
}

// cutTail takes up to 200 bytes off the end of the log.
func cutTail(t *testing.T, dir string) {
	t.Helper()
	f := activeSegment(t, dir)
	info, err := os.Stat(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(f, info.Size()-1-rand.N(int64(200))); err != nil {
		t.Fatal(err)
	}
}

// flipByte changes a byte of the last batch.
func flipByte(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(activeSegment(t, dir), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	at := end - 1 - rand.N(int64(40))
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x40
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// Settings that cannot be are refused with one line that names the key, and a process that fails to start leaves with an error.
func TestStartFailsWithTheKey(t *testing.T) {
	n := &node{keys: defaults(t.TempDir())}
	n.keys["log.segment.bytes"] = "small"
	err := n.begin()
	if err == nil {
		t.Fatal("started", n.end())
	}
	if !strings.Contains(err.Error(), "log.segment.bytes") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
