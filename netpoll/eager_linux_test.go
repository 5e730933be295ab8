package netpoll

import (
	"bytes"
	"testing"
)

// With Eager the answer is in the socket when the connection's input is handled; else it waits for the turn's end. What is queued from elsewhere in
// the turn waits for the end either way.
func TestEagerAnswersWithinDispatch(t *testing.T) {
	bothPollers(t, func(t *testing.T, poller string) {
		for _, eager := range []bool{false, true} {
			r := newRig(t, Options{Poller: poller, Eager: eager})
			answers := 0
			r.onFrame = func(c *Conn, f Frame) {
				copy(c.Out().Append(len(f.B)), f.B)
				f.Buf.Release()
				answers++
			}
			asks, _ := r.unixPair()
			waits, idle := r.unixPair()
			writeAll(t, asks, append(frame([]byte("one")), frame([]byte("two"))...))
			copy(idle.Out().Append(4), "late")
			for answers < 2 {
				if err := r.n.Turn(5_000_000); err != nil {
					t.Fatal(err)
				}
			}
			got := make([]byte, 16)
			if n := readSome(t, asks, got); eager != (n == 6) || n > 0 && !bytes.Equal(got[:n], []byte("onetwo")) {
				t.Fatalf("eager %v: before the turn's end %q", eager, got[:n])
			}
			if sends := r.n.Stats.Sends; eager != (sends == 1) {
				t.Fatalf("eager %v: %d sends for two answers", eager, sends)
			}
			if n := readSome(t, waits, got); n != 0 {
				t.Fatalf("eager %v: %q went before the turn's end", eager, got[:n])
			}
			r.n.FlushOut()
			if n := readSome(t, asks, got); eager == (n == 6) {
				t.Fatalf("eager %v: at the turn's end %q", eager, got[:n])
			}
			if n := readSome(t, waits, got); string(got[:n]) != "late" {
				t.Fatalf("eager %v: %q at the turn's end", eager, got[:n])
			}
		}
	})
}
