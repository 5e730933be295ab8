package netpoll

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/pelton-broker/pelton/internal/arena"
	"golang.org/x/sys/unix"
)

func TestFrameSplitAtEveryByte(t *testing.T) {
	bothPollers(t, func(t *testing.T, poller string) {
		want := [][]byte{pattern(37, 1), {}, pattern(300, 2), pattern(1, 3)}
		var stream []byte
		for _, b := range want {
			stream = append(stream, frame(b)...)
		}
		r := newRig(t, Options{Poller: poller})
		peer, _ := r.unixPair()
		for cut := range len(stream) + 1 {
			r.frames = nil
			writeAll(t, peer, stream[:cut])
			r.turn(0)
			writeAll(t, peer, stream[cut:])
			r.until("four frames", func() bool { return len(r.frames) >= len(want) })
			for i := range want {
				if !bytes.Equal(r.frames[i], want[i]) {
					t.Fatalf("cut at %d: frame %d is %x, want %x", cut, i, r.frames[i], want[i])
				}
			}
		}
	})
}

func TestFrameSplitOneByteAtATime(t *testing.T) {
	r := newRig(t, Options{})
	peer, _ := r.unixPair()
	want := pattern(5000, 4)
	for _, b := range frame(want) {
		writeAll(t, peer, []byte{b})
		r.turn(0)
	}
	if len(r.frames) != 1 || !bytes.Equal(r.frames[0], want) {
		t.Fatalf("got %d frames", len(r.frames))
	}
}

// sizesAndCuts makes frames and the pieces that their bytes are sent in out of fuzz input.
func sizesAndCuts(seed []byte) (bodies [][]byte, pieces []int) {
	for i, b := range seed {
		switch i % 3 {
		case 0:
			// Around the limits where a frame is read in another way: 0, small, 32 KiB, 64 KiB, several blocks.
			size := []int{0, 1, 100, 4095, 32 << 10, reserveAt - 1, reserveAt, reserveAt + 1, 200 << 10, 700 << 10}[int(b)%10]
			bodies = append(bodies, pattern(size+int(b)/10, i))
		default:
			pieces = append(pieces, 1+int(b)*int(b)*4)
		}
		if len(bodies) == 12 {
			break
		}
	}
	return bodies, append(pieces, 1<<20)
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte{0, 1, 2, 9, 200, 3, 4, 4, 4, 7, 255, 255})
	f.Add([]byte{9, 255, 200, 9, 0, 0, 8, 17, 99, 2, 1, 0, 6, 128, 3})
	f.Add([]byte{5, 180, 2, 6, 181, 3, 7, 128, 1, 3, 3, 3, 1, 0, 0})
	f.Fuzz(func(t *testing.T, seed []byte) {
		bodies, pieces := sizesAndCuts(seed)
		if len(bodies) == 0 {
			return
		}
		var stream []byte
		for _, b := range bodies {
			stream = append(stream, frame(b)...)
		}
		r := newRig(t, Options{})
		peer, c := r.unixPair()
		if err := unix.SetNonblock(peer, true); err != nil {
			t.Fatal(err)
		}
		// Frames are kept for a while, and reading stops now and then: both change where the next bytes go.
		var held []Frame
		r.onFrame = func(c *Conn, f Frame) {
			i := len(r.frames)
			r.frames = append(r.frames, append([]byte{}, f.B...))
			held = append(held, f)
			if len(held) > 2 {
				for j, h := range held {
					if want := bodies[i-len(held)+1+j]; !bytes.Equal(h.B, want) {
						t.Fatalf("frame %d changed while it was held", i-len(held)+1+j)
					}
					h.Buf.Release()
				}
				held = held[:0]
			}
			if int(seed[i%len(seed)])%4 == 0 {
				c.Pause()
			}
		}
		for i := 0; len(stream) > 0; i++ {
			n, err := unix.Write(peer, stream[:min(len(stream), pieces[i%len(pieces)])])
			if err != nil && !errors.Is(err, unix.EAGAIN) {
				t.Fatal(err)
			}
			stream = stream[max(n, 0):]
			r.turn(0)
			c.Resume()
		}
		r.until("all frames", func() bool { c.Resume(); return len(r.frames) == len(bodies) })
		for i := range bodies {
			if !bytes.Equal(r.frames[i], bodies[i]) {
				t.Fatalf("frame %d of %d bytes differs", i, len(bodies[i]))
			}
		}
		for _, h := range held {
			h.Buf.Release()
		}
	})
}

func TestFrameSizeIsCheckedBeforeMemoryIsTaken(t *testing.T) {
	for _, c := range []struct {
		name string
		size uint32
		want error
	}{
		{"2-gib", 1<<31 - 1, ErrFrameTooLarge},
		{"negative", 1 << 31, ErrFrameNegative},
		{"minus-one", 1<<32 - 1, ErrFrameNegative},
		{"http", binary.BigEndian.Uint32([]byte("GET ")), ErrFrameTooLarge},
		{"one-above", 1001, ErrFrameTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Options{MaxFrame: 1000})
			peer, conn := r.unixPair()
			writeAll(t, peer, binary.BigEndian.AppendUint32(nil, c.size))
			r.until("closed", func() bool { return len(r.closed) == 1 })
			if !errors.Is(r.closed[conn], c.want) {
				t.Fatalf("closed with %v, want %v", r.closed[conn], c.want)
			}
			if got := r.a.InUse(); got > defaultBlock {
				t.Fatalf("%d bytes in use", got)
			}
		})
	}
}

func TestFrameOnlyPromisedCostsNothing(t *testing.T) {
	r := newRig(t, Options{})
	r.turn(0)
	for range 1000 {
		peer, _ := r.unixPair()
		writeAll(t, peer, binary.BigEndian.AppendUint32(nil, defaultMaxFrame))
	}
	for range 10 {
		r.turn(0)
	}
	if r.n.Conns() != 1000 || r.n.Stats.BytesIn != 4000 {
		t.Fatalf("%d connections, %d bytes read", r.n.Conns(), r.n.Stats.BytesIn)
	}
	if got := r.a.InUse(); got > defaultBlock {
		t.Fatalf("1000 sizes hold %d bytes of buffers, beside the block of %d", got, defaultBlock)
	}
}

func TestFrameGrowsWithWhatCame(t *testing.T) {
	r := newRig(t, Options{})
	peer, c := r.unixPair()
	body := pattern(1<<20, 7)
	stream := frame(body)
	r.turn(0)
	sent := 0
	for ; sent+1000 <= reserveAt; sent += 1000 {
		writeAll(t, peer, stream[sent:sent+1000])
		r.turn(0)
		if got := r.a.InUse() - int64(len(r.n.block.B)); got > reserveAt {
			t.Fatalf("after %d bytes the connection holds %d", sent+1000, got)
		}
	}
	writeAll(t, peer, stream[sent:100_000])
	r.turn(0)
	if c.part.buf == nil || len(c.part.buf.B) != len(body) {
		t.Fatal("after reserveAt there is no buffer for the whole frame")
	}
	copied := r.n.Stats.Copied
	for rest := stream[100_000:]; len(rest) > 0; {
		n := min(len(rest), 50_000)
		writeAll(t, peer, rest[:n])
		rest = rest[n:]
		r.turn(0)
	}
	if len(r.frames) != 1 || !bytes.Equal(r.frames[0], body) {
		t.Fatal("the frame did not come whole")
	}
	if r.n.Stats.Copied != copied {
		t.Fatalf("%d bytes of the rest were copied", r.n.Stats.Copied-copied)
	}
}

func TestFrameWaitsForBudget(t *testing.T) {
	free, given := false, int64(0)
	r := newRig(t, Options{
		Reserve:   func(int64) bool { return free },
		Unreserve: func(n int64) { given += n },
	})
	peer, _ := r.unixPair()
	other, _ := r.unixPair()
	body := pattern(300<<10, 9)
	unix.SetNonblock(peer, true)
	stream := frame(body)
	for range 20 {
		if n, _ := unix.Write(peer, stream); n > 0 {
			stream = stream[n:]
		}
		r.turn(0)
	}
	if r.n.Stats.Starved == 0 || len(stream) == 0 {
		t.Fatal("the frame was taken without budget")
	}
	writeAll(t, other, frame([]byte("small")))
	r.turn(0)
	if len(r.frames) != 1 {
		t.Fatal("a small frame of another connection does not come while one waits")
	}
	free = true
	r.until("the large frame", func() bool {
		if n, _ := unix.Write(peer, stream); n > 0 {
			stream = stream[n:]
		}
		return len(r.frames) == 2
	})
	if !bytes.Equal(r.frames[1], body) || given != int64(len(body)) {
		t.Fatalf("frame differs, or %d of %d bytes were given back", given, len(body))
	}
}

func TestFrameOfAClosedConnectionGivesItsBudgetBack(t *testing.T) {
	taken := int64(0)
	r := newRig(t, Options{
		Reserve:   func(n int64) bool { taken += n; return true },
		Unreserve: func(n int64) { taken -= n },
	})
	peer, c := r.unixPair()
	writeAll(t, peer, frame(pattern(300<<10, 9))[:100<<10])
	r.until("reserved", func() bool { return taken > 0 })
	unix.Shutdown(peer, unix.SHUT_RDWR)
	r.until("closed", func() bool { return len(r.closed) == 1 })
	if taken != 0 || !errors.Is(r.closed[c], io.ErrUnexpectedEOF) {
		t.Fatalf("%d bytes stay reserved, closed with %v", taken, r.closed[c])
	}
}

func TestFramePausedInTheMiddleOfARead(t *testing.T) {
	bothPollers(t, func(t *testing.T, poller string) {
		r := newRig(t, Options{Poller: poller})
		peer, c := r.unixPair()
		var stream []byte
		for i := range 10 {
			stream = append(stream, frame(pattern(100, i))...)
		}
		r.onFrame = func(c *Conn, f Frame) {
			r.frames = append(r.frames, append([]byte{}, f.B...))
			f.Buf.Release()
			c.Pause()
		}
		writeAll(t, peer, stream)
		for i := range 10 {
			for range 3 {
				r.turn(0)
			}
			if len(r.frames) != i+1 {
				t.Fatalf("%d frames came, the connection was paused after %d", len(r.frames), i+1)
			}
			if !bytes.Equal(r.frames[i], pattern(100, i)) {
				t.Fatalf("frame %d differs", i)
			}
			c.Resume()
		}
	})
}

func TestFrameNoneAfterClose(t *testing.T) {
	r := newRig(t, Options{})
	peer, c := r.unixPair()
	r.onFrame = func(c *Conn, f Frame) {
		r.frames = append(r.frames, nil)
		f.Buf.Release()
		c.Close(errors.New("enough"))
		if len(r.closed) != 0 {
			t.Error("OnClose from within Close")
		}
	}
	writeAll(t, peer, append(frame([]byte("a")), frame([]byte("b"))...))
	r.turn(0)
	if len(r.frames) != 1 || r.closed[c] == nil || r.closed[c].Error() != "enough" {
		t.Fatalf("%d frames, closed: %v", len(r.frames), r.closed)
	}
}

func TestFrameFirstBytesAreShown(t *testing.T) {
	var shown []string
	r := newRig(t, Options{Sniff: true})
	r.onRaw = func(c *Conn, first []byte) bool {
		shown = append(shown, string(first))
		if string(first) != "ruok" {
			return false
		}
		copy(c.Out().Append(4), "imok")
		c.CloseAfterFlush(nil)
		return true
	}
	peer, c := r.tcpPair(SocketOptions{})
	writeAll(t, peer, []byte("ruok\n"))
	unix.Shutdown(peer, unix.SHUT_WR)
	r.until("closed", func() bool { _, ok := r.closed[c]; return ok })
	b := make([]byte, 10)
	if n := readSome(t, peer, b); string(b[:n]) != "imok" {
		t.Fatalf("answer %q", b[:n])
	}
	plain, _ := r.tcpPair(SocketOptions{})
	writeAll(t, plain, frame([]byte("hello")))
	r.until("a frame", func() bool { return len(r.frames) == 1 })
	if string(r.frames[0]) != "hello" || len(shown) != 2 || shown[1] != "\x00\x00\x00\x05" {
		t.Fatalf("frames %q, shown %q", r.frames, shown)
	}
}

func TestFrameSmallOnesShareABlock(t *testing.T) {
	r := newRig(t, Options{})
	var held []Frame
	r.onFrame = func(_ *Conn, f Frame) { held = append(held, f) }
	peer, _ := r.unixPair()
	other, _ := r.unixPair()
	for i := range 50 {
		writeAll(t, peer, frame(pattern(64, i)))
		writeAll(t, other, frame(pattern(64, i)))
		r.turn(0)
	}
	if len(held) != 100 || r.a.InUse() != defaultBlock {
		t.Fatalf("%d frames in %d bytes", len(held), r.a.InUse())
	}
	seen := map[*arena.Buf]bool{}
	for i, f := range held {
		if !bytes.Equal(f.B, pattern(64, i/2)) {
			t.Fatalf("held frame %d was overwritten", i)
		}
		seen[f.Buf] = true
		f.Buf.Release()
	}
	if len(seen) != 1 {
		t.Fatalf("%d buffers", len(seen))
	}
}

// A large frame is announced in pieces of LowWater bytes, and what comes after it at once again.
func TestFrameLowWater(t *testing.T) {
	r := newRig(t, Options{LowWater: 100 << 10})
	peer, c := r.tcpPair(SocketOptions{})
	whole := frame(make([]byte, 400<<10))
	writeAll(t, peer, frame([]byte("first")))
	writeAll(t, peer, whole[:80<<10])
	r.until("the large frame has its buffer", func() bool { return c.lowWater > 1 })
	reads := r.n.Stats.Reads
	writeAll(t, peer, whole[80<<10:100<<10])
	r.turn(1_000_000)
	if r.n.Stats.Reads != reads {
		t.Fatal("20 KiB of the rest were announced")
	}
	for at := 100 << 10; at < len(whole); at += 50 << 10 {
		writeAll(t, peer, whole[at:min(at+50<<10, len(whole))])
		r.turn(1_000_000)
	}
	writeAll(t, peer, frame([]byte("last")))
	r.until("three frames", func() bool { return len(r.frames) == 3 })
	if len(r.frames[1]) != 400<<10 || string(r.frames[2]) != "last" || c.lowWater > 1 {
		t.Fatalf("frames of %d and %d bytes, low water %d", len(r.frames[1]), len(r.frames[2]), c.lowWater)
	}
}
