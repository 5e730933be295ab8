package shell

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pelton-broker/pelton/internal/tty"
	"github.com/pelton-broker/pelton/zk/server"
)

func TestEditorKeys(t *testing.T) {
	const up, down, left, right, del, home, end = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[C", "\x1b[3~", "\x1b[H", "\x1b[F"
	complete := func(before string) []string {
		var out []string
		for _, c := range []string{"create", "close", "/app", "/apple", "/zoo"} {
			if strings.HasPrefix(c, before[strings.LastIndexByte(before, ' ')+1:]) {
				out = append(out, c)
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		keys string
		want []string
	}{
		"plain":                 {"ls /\r", []string{"ls /"}},
		"insert in the middle":  {"s /" + home + "l\r", []string{"ls /"}},
		"arrows and backspace":  {"lxs /" + left + left + left + "\x7f\r", []string{"ls /"}},
		"delete":                {"lxs /" + home + right + del + "\r", []string{"ls /"}},
		"kill and yank":         {"one two\x17\x01\x19 \x05x\r", []string{"two one x"}},
		"kill to both ends":     {"abcdef" + left + left + "\x0b\x02\x15X\r", []string{"Xd"}},
		"history":               {"first\rsecond\r" + up + up + "!\r", []string{"first", "second", "first!"}},
		"history and back":      {"first\rhalf" + up + down + " way\r", []string{"first", "half way"}},
		"history has its end":   {"a\r" + up + up + up + "b\r", []string{"a", "ab"}},
		"interrupt":             {"never\x03ls\r", []string{"ls"}},
		"letters of the world":  {"ä€😀" + left + "x\r", []string{"ä€x😀"}},
		"unknown keys do not":   {"a\x1b[15~\x1b[1;5Cb\x1bz\x00\r", []string{"ab"}},
		"completes a command":   {"cr\t/a\r", []string{"create /a"}},
		"completes to a choice": {"get /a\tx\r", []string{"get /appx"}},
		"completes nothing":     {"get /q\t\r", []string{"get /q"}},
		"end of input":          {"ls\r\x04", []string{"ls", "EOF"}},
		"^D deletes":            {"ab" + home + "\x04" + end + "\r", []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewEditor(strings.NewReader(c.keys), io.Discard)
			e.Complete = complete
			for _, want := range c.want {
				got, err := e.Line("> ")
				if errors.Is(err, io.EOF) {
					got = "EOF"
				} else if err != nil {
					t.Fatal(err)
				}
				if got != want {
					t.Fatalf("%q, want %q", got, want)
				}
			}
		})
	}
}

func TestEditorShowsChoicesAndTheCursor(t *testing.T) {
	var out bytes.Buffer
	e := NewEditor(strings.NewReader("get /app\t\x1b[D\r"), &out)
	e.Complete = func(string) []string { return []string{"/app", "/apple"} }
	if _, err := e.Line("> "); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\r\n/app   /apple\r\n", "> get /app\x1b[K\b"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %q", want, out.String())
		}
	}
}

// person types at a terminal and reads what it shows.
type person struct {
	t    *testing.T
	f    *os.File
	seen strings.Builder
}

func (p *person) until(want string) {
	p.t.Helper()
	buf := make([]byte, 4096)
	at := regexp.MustCompile(want)
	for from := p.seen.Len(); !at.MatchString(p.seen.String()[max(from-200, 0):]); {
		_ = p.f.SetReadDeadline(time.Now().Add(20 * time.Second))
		n, err := p.f.Read(buf)
		p.seen.Write(buf[:n])
		if err != nil {
			p.t.Fatalf("no %q: %v\n%s", want, err, p.seen.String())
		}
	}
}

// TestShellAtATerminal has a person at a real terminal: a prompt, completion of commands and of paths, history, and the end.
func TestShellAtATerminal(t *testing.T) {
	s, err := server.Start(server.Options{DataDir: t.TempDir(), ClientAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop() }()
	f, terminal, err := tty.Pair()
	if err != nil {
		t.Skipf("this machine gives no pseudo terminals: %v", err)
	}
	defer f.Close()
	defer terminal.Close()
	done := make(chan error, 1)
	go func() {
		at := Terminal{In: terminal, Out: terminal, Raw: func() (func(), error) { return tty.Raw(int(terminal.Fd())) }}
		done <- RunTerminal(t.Context(), []string{s.Addr().String()}, at, terminal)
	}()
	p := &person{t: t, f: f}
	type step struct{ keys, want string }
	for _, st := range []step{
		{"", `\[zk: 127\.0\.0\.1:\d+\(CONNECTED\) 0\] `},
		{"cre\t/apple one\r", `Created /apple`},
		{"", `\(CONNECTED\) 1\] `},
		{"get /ap\t\r", `one\r?\n`},
		{"", `\(CONNECTED\) 2\] `},
		{"\x1b[A\x1b[A\x7f\x7f\x7ftwo\r", `Node already exists: /apple`},
		{"history\r", `0 - create /apple one`},
		{"quit\r", ``},
	} {
		if _, err := f.WriteString(st.keys); err != nil {
			t.Fatal(err)
		}
		p.until(st.want)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestShellKeepsItsSessionWhileItWaits: a session that nobody keeps alive is gone before the second line comes; that of the shell is not, and an event that came
// meanwhile was shown.
func TestShellKeepsItsSessionWhileItWaits(t *testing.T) {
	s, err := server.Start(server.Options{DataDir: t.TempDir(), ClientAddr: "127.0.0.1:0", TickTimeMs: 100, MaxSessionTimeoutMs: 400})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop() }()
	addr := s.Addr().String()
	mute, err := dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer mute.c.Close()
	k := &call{ctx: t.Context(), c: mute, o: &printer{w: io.Discard}, flags: map[string]string{"e": ""}, args: []string{"/mute"}}
	if err := k.create(); err != nil {
		t.Fatal(err)
	}
	in, lines := io.Pipe()
	shown := make(chan string, 100)
	done := make(chan error, 1)
	go func() {
		done <- RunInput(t.Context(), []string{addr}, in, writerFunc(func(b []byte) (int, error) { shown <- string(b); return len(b), nil }))
	}()
	if _, err := io.WriteString(lines, "create -e /shell\nstat -w /mute\n"); err != nil {
		t.Fatal(err)
	}
	all := ""
	for until := time.After(20 * time.Second); !strings.Contains(all, "NodeDeleted"); {
		select {
		case text := <-shown:
			all += text
		case <-until:
			t.Fatalf("the session that was not kept alive does not end: %s", all)
		}
	}
	if _, err := io.WriteString(lines, "get /shell\nstat /shell\nquit\n"); err != nil {
		t.Fatal(err)
	}
	_ = lines.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	close(shown)
	for text := range shown {
		all += text
	}
	if !strings.Contains(all, "ephemeralOwner = 0x") || strings.Contains(all, "not exist") {
		t.Errorf("the shell's session is gone: %s", all)
	}
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
