package server

import (
	"testing"

	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/zk/tree"
)

func FuzzFourLetterSniff(f *testing.F) {
	f.Add("ruok")
	f.Add("\x00\x00\x00\x2c")
	l := &loop{o: &Options{}, tree: tree.New()}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) != 4 {
			return
		}
		known := l.wordFunc(s) != nil
		// As the length of a frame every word is beyond any limit, so none can be the beginning of a session.
		if n := int(s[0])<<24 | int(s[1])<<16 | int(s[2])<<8 | int(s[3]); known && n <= 64<<20 {
			t.Fatalf("%q could be a frame of %d bytes", s, n)
		}
	})
}

var _ netpoll.Handler = (*loop)(nil)
