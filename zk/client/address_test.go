package client

import (
	"errors"
	"net"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for in, want := range map[string]string{
		"h": "h:2181 ", "h:1": "h:1 ", "hadoop/kafka": "hadoop:2181 /kafka", "a:1,b,c:3/x/y": "a:1 b:2181 c:3 /x/y",
		"a, b": "a:2181 b:2181 ", "h:1/": "h:1 ", "[::1]:5/k": "[::1]:5 /k", "::1": "[::1]:2181 ", "[::1]": "[::1]:2181 ",
	} {
		a, err := ParseAddress(in)
		if got := strings.Join(a.Hosts, " ") + " " + a.Chroot; err != nil || got != want {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "/k", "h:0", "h:65536", "h:x", "h:", "a,,b", "h//k", "h/a/../b", "h/./k", ":2181", "[::1"} {
		if a, err := ParseAddress(bad); !errors.Is(err, ErrConnectString) {
			t.Errorf("%q was read as %+v, %v", bad, a, err)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("a:1,b/x")
	f.Add("[::1]:2/k/")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s)
		if err != nil {
			return
		}
		for _, h := range a.Hosts {
			if _, _, err := net.SplitHostPort(h); err != nil {
				t.Fatalf("%q gives %q", s, h)
			}
		}
		if a.Chroot != "" && (a.Chroot[0] != '/' || strings.HasSuffix(a.Chroot, "/") || strings.Contains(a.Chroot, "//")) {
			t.Fatalf("%q gives the chroot %q", s, a.Chroot)
		}
	})
}

func TestHostsAreAllTriedBeforeAPause(t *testing.T) {
	h := &hosts{}
	if err := h.Init([]string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	step := func(want string, pause bool) {
		t.Helper()
		if got, p := h.Next(); got != want || p != pause {
			t.Fatalf("%s %v, want %s %v", got, p, want, pause)
		}
	}
	step("a", false)
	step("b", false)
	step("a", true)
	step("b", false)
	h.Connected()
	step("b", false) // the one that took us is tried first after a loss
	step("a", false)
	step("b", true)
}
