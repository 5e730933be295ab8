package jute

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReaderTrustsNoLength(t *testing.T) {
	for _, b := range [][]byte{{0x7F, 0xFF, 0xFF, 0xFF}, {0xFF, 0xFF, 0xFF, 0xFE}, {0, 0, 0, 5, 1}} {
		r := NewReader(b)
		if n := testing.AllocsPerRun(10, func() { r = NewReader(b); r.Buffer(); r.Strings(); r.ACL() }); n > 0 || r.Err() == nil {
			t.Fatalf("%x: error %v, %v allocations", b, r.Err(), n)
		}
	}
	r := NewReader(AppendInt(nil, 1<<30))
	if r.Count(4); r.Err() == nil {
		t.Fatal("a count beyond the record was taken")
	}
}

func TestTextBeyondTheBasicPlane(t *testing.T) {
	got := AppendText(nil, "a\U0001F600")
	want := []byte{0, 0, 0, 7, 'a', 0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80}
	if string(got) != string(want) {
		t.Fatalf("% x, want % x", got, want)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(AppendACL(AppendTexts(nil, []string{"a", "b"}), []ACL{{Perms: 1, ID: ID{"s", "i"}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b)
		_ = r.Strings()
		_ = r.ACL()
		_ = r.Stat()
		r = NewReader(b)
		c := r.ConnectRequest()
		if r.Err() == nil && len(c.Password) > len(b) {
			t.Fatal("a password longer than the frame")
		}
		r = NewReader(b)
		if s, _ := r.Text(); !utf8.ValidString(s) || len(s) > 3*len(b) {
			t.Fatalf("text %q", s)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, p := range []string{"/", "/a", "/a/../b", "/\u4e2d", "/a\x00", "//"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if !ValidatePath(p) {
			return
		}
		for _, part := range strings.Split(p, "/")[1:] {
			if part == "." || part == ".." || part == "" && p != "/" || strings.ContainsAny(part, "\x00\x1f\x7f") || strings.ContainsRune(part, '\ufffd') {
				t.Fatalf("%q was taken", p)
			}
		}
	})
}
