//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestMain runs the program itself when a test has started it so.
func TestMain(m *testing.M) {
	if os.Getenv("FLOOR_AS_PROGRAM") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// running is a floor in a process of its own, with one connection to it.
type running struct {
	net.Conn
	cmd *exec.Cmd
	out *bufio.Reader
	dir string
}

func startFloor(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{dir: t.TempDir()}
	r.cmd = exec.Command(os.Args[0], append([]string{args[0], "-dir", r.dir}, args[1:]...)...)
	r.cmd.Env = append(os.Environ(), "FLOOR_AS_PROGRAM=1")
	r.cmd.Stderr = os.Stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	r.out = bufio.NewReader(out)
	ready := r.line(t)
	if int(ready["pid"].(float64)) != r.cmd.Process.Pid {
		t.Fatalf("ready line %v of process %d", ready, r.cmd.Process.Pid)
	}
	if r.Conn, err = net.Dial("tcp4", "127.0.0.1:"+strconv.Itoa(int(ready["port"].(float64)))); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *running) line(t *testing.T) map[string]any {
	t.Helper()
	l, err := r.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{}
	if err := json.Unmarshal(l, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// end stops the program and returns its last line.
func (r *running) end(t *testing.T) map[string]any {
	t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	l := r.line(t)
	if err := r.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return l
}

func (r *running) read(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	return b
}

func frame(corr uint32, size int, fill byte) []byte {
	b := bytes.Repeat([]byte{fill}, size)
	binary.BigEndian.PutUint32(b, uint32(size-4))
	binary.BigEndian.PutUint32(b[8:], corr)
	return b
}

func TestSinkWritesTheSameBytesAndAcksEachFrame(t *testing.T) {
	for _, flags := range [][]string{nil, {"-batch"}, {"-sync"}, {"-read", "64"}} {
		r := startFloor(t, append([]string{"sink"}, flags...)...)
		var sent []byte
		for i, size := range []int{12, 700_000, 100, 13, 300_000, 64} {
			sent = append(sent, frame(uint32(i), size, byte('a'+i))...)
		}
		for rest := sent; len(rest) > 0; { // in odd pieces
			n, err := r.Write(rest[:min(len(rest), 77_777)])
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		for i := range 6 {
			if ack := r.read(t, ackBytes); binary.BigEndian.Uint32(ack) != 4 || binary.BigEndian.Uint32(ack[4:]) != uint32(i) {
				t.Fatalf("%v: ack %d is % x", flags, i, ack)
			}
		}
		files, err := filepath.Glob(filepath.Join(r.dir, "sink-*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("files %v %v", files, err)
		}
		if got, err := os.ReadFile(files[0]); err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("%v: the file holds %d bytes, sent were %d, equal %v, %v", flags, len(got), len(sent), bytes.Equal(got, sent), err)
		}
		if end := r.end(t); end["frames"] != 6.0 || end["bytes"] != float64(len(sent)) {
			t.Fatalf("%v: %v", flags, end)
		}
	}
}

func TestSourceSendsTheFile(t *testing.T) {
	r := startFloor(t, "source", "-reply", "400000", "-file", "1048576")
	for i := range 5 {
		if _, err := r.Write(frame(uint32(i), 90, 0)); err != nil {
			t.Fatal(err)
		}
		b := r.read(t, 8+400_000)
		if binary.BigEndian.Uint32(b) != 400_004 || binary.BigEndian.Uint32(b[4:]) != uint32(i) {
			t.Fatalf("answer %d begins % x", i, b[:8])
		}
		at := i % 2 * 400_000 // two answers fit before it starts over
		if b[8] != byte(at*7) || b[8+399_999] != byte((at+399_999)*7) {
			t.Fatalf("answer %d is not the file's bytes from %d", i, at)
		}
	}
	if end := r.end(t); end["frames"] != 5.0 {
		t.Fatalf("%v", end)
	}
}

// With -named the file can be found, whole; without it nothing is left behind.
func TestSourceNamesItsFileWhenAsked(t *testing.T) {
	for _, named := range []bool{true, false} {
		args := []string{"source", "-reply", "4096", "-file", "1048576"}
		if named {
			args = append(args, "-named")
		}
		r := startFloor(t, args...)
		files, err := filepath.Glob(filepath.Join(r.dir, "source-*.log"))
		if err != nil || (len(files) == 1) != named {
			t.Fatalf("named %v: %v %v", named, files, err)
		}
		if named {
			if info, err := os.Stat(files[0]); err != nil || info.Size() != 1<<20 || !strings.Contains(files[0], strconv.Itoa(r.cmd.Process.Pid)) {
				t.Fatalf("%v %+v", err, info)
			}
		}
		r.end(t)
	}
}

func TestPingpongAndEchoReturnWhatCame(t *testing.T) {
	for _, args := range [][]string{{"pingpong"}, {"pingpong", "-epoll"}, {"pingpong", "-append", "168"}, {"echo"}} {
		r := startFloor(t, args...)
		for i := range 3 {
			want := frame(uint32(i), 64, 'z')
			binary.BigEndian.PutUint32(want[4:], uint32(i))
			if _, err := r.Write(want); err != nil {
				t.Fatal(err)
			}
			if got := r.read(t, 64); !bytes.Equal(got, want) {
				t.Fatalf("%v: % x", args, got)
			}
		}
		if end := r.end(t); end["frames"] != 3.0 || end["bytes"] != 192.0 {
			t.Fatalf("%v: %v", args, end)
		}
	}
}

func TestEchoAnswersInTheSizeAskedFor(t *testing.T) {
	r := startFloor(t, "echo", "-reply", "60")
	if _, err := r.Write(frame(9, 200_000, 'q')); err != nil {
		t.Fatal(err)
	}
	if b := r.read(t, 60); binary.BigEndian.Uint32(b) != 56 || binary.BigEndian.Uint32(b[4:]) != 9 {
		t.Fatalf("% x", b[:8])
	}
	r.end(t)
}
