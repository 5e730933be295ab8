package server

import (
	"net"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// With no descriptor left nobody is let in, and those who wait come in when there are some again.
func TestPortWaitsForDescriptors(t *testing.T) {
	s, err := Start(Options{DataDir: t.TempDir(), ClientAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", s.Addr().String()) // in before there are none
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := word(t, c, "ruok"); !strings.Contains(got, "not in the whitelist") {
		t.Fatalf("ruok: %q", got)
	}
	late, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	none := was
	none.Cur = 3
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	stalled := make(chan bool, 1)
	s.mail.put(func(l *loop) { l.doors.knocked = true; l.acceptWaiting(); stalled <- l.doors.againMs > 0 })
	if !<-stalled {
		t.Error("the port was not left alone without descriptors")
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if got := word(t, late, "srvr"); !strings.Contains(got, "Mode: standalone") {
		t.Fatalf("srvr: %q", got)
	}
}

func word(t *testing.T, c net.Conn, w string) string {
	t.Helper()
	if _, err := c.Write([]byte(w)); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String()
		}
	}
}
