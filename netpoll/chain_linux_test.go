package netpoll

import (
	"bytes"
	"errors"
	"math/rand"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func r4(last byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, last}) }

// readFull reads without allocating.
func readFull(fd int, b []byte) int {
	got := 0
	for got < len(b) {
		n, err := sysRead(fd, b[got:], nil)
		if err != nil || n == 0 {
			break
		}
		got += n
	}
	return got
}

func tempFile(t testing.TB, content []byte) int {
	t.Helper()
	name := filepath.Join(t.TempDir(), "span")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// mixed queues about size bytes of every kind on c and returns what the peer must get.
func mixed(c *Conn, rnd *rand.Rand, size int, file int, content []byte, released *countReleases) (want []byte, pieces int) {
	for len(want) < size {
		n := 1 + rnd.Intn(200)
		if rnd.Intn(4) == 0 {
			n = 1 + rnd.Intn(60_000)
		}
		switch rnd.Intn(3) {
		case 0:
			b := pattern(n, rnd.Int())
			copy(c.Out().Append(n), b)
			want = append(want, b...)
		case 1:
			b := pattern(n, rnd.Int())
			c.Out().Borrow(b, released)
			want = append(want, b...)
			pieces++
		case 2:
			off := rnd.Intn(len(content) - n)
			c.Out().Span(file, int64(off), int64(n), released)
			want = append(want, content[off:off+n]...)
			pieces++
		}
	}
	return want, pieces
}

// regression: C-50, short sends of answers that mix memory and file.
func TestChainArrivesByteExactAtSlowReaders(t *testing.T) {
	bothPollers(t, func(t *testing.T, poller string) {
		conns, size := 50, 5<<20
		if testing.Short() {
			conns, size = 10, 1<<20
		}
		content := pattern(1<<20, 77)
		file := tempFile(t, content)
		r := newRig(t, Options{Poller: poller})
		rnd := rand.New(rand.NewSource(1))
		type reader struct {
			fd   int
			want []byte
			at   int
		}
		var readers []*reader
		var released countReleases
		pieces := 0
		for range conns {
			fd, c := r.tcpPair(SocketOptions{SendBuffer: 4096})
			want, n := mixed(c, rnd, size, file, content, &released)
			readers = append(readers, &reader{fd: fd, want: want})
			pieces += n
		}
		b := make([]byte, 256<<10)
		r.until("all bytes", func() bool {
			done := true
			for _, rd := range readers {
				n := readSome(t, rd.fd, b[:1+rnd.Intn(len(b))])
				if !bytes.Equal(b[:n], rd.want[rd.at:rd.at+n]) {
					t.Fatalf("bytes %d to %d differ", rd.at, rd.at+n)
				}
				rd.at += n
				done = done && rd.at == len(rd.want)
			}
			return done
		})
		if int(released) != pieces {
			t.Fatalf("%d of %d pieces were released", released, pieces)
		}
		if r.n.Stats.Mods == 0 {
			t.Fatal("no send was ever blocked: the test tests nothing")
		}
	})
}

func TestChainOfAKilledReaderIsReleased(t *testing.T) {
	content := pattern(1<<20, 5)
	file := tempFile(t, content)
	r := newRig(t, Options{})
	before := openFDs(t)
	for round := range 20 {
		peer, c := r.tcpPair(SocketOptions{SendBuffer: 4096})
		var released countReleases
		_, pieces := mixed(c, rand.New(rand.NewSource(int64(round))), 5<<20, file, content, &released)
		c.Out().Append(100_000) // an arena buffer of its own
		r.turn(0)
		b := make([]byte, 1000)
		for range round {
			readSome(t, peer, b)
			r.turn(0)
		}
		dupAndClose(t, peer)
		r.until("closed", func() bool { _, ok := r.closed[c]; return ok })
		if int(released) != pieces {
			t.Fatalf("%d of %d pieces were released", released, pieces)
		}
		if !isConnError(r.closed[c]) && r.closed[c].Error() != "EOF" {
			t.Fatalf("closed with %v", r.closed[c])
		}
	}
	// The peers' numbers hold /dev/null until the test ends.
	if after := openFDs(t); after != before+20 {
		t.Fatalf("%d descriptors, %d before and 20 of the test", after, before)
	}
}

func TestChainSpanIsNeverCopied(t *testing.T) {
	content := pattern(1<<20, 9)
	file := tempFile(t, content)
	r := newRig(t, Options{})
	peer, c := r.tcpPair(SocketOptions{})
	const head, spans = 50, 8
	for range spans {
		copy(c.Out().Append(head), pattern(head, 1))
		c.Out().Span(file, 0, int64(len(content)), nil)
	}
	got := 0
	b := make([]byte, 1<<20)
	r.until("all", func() bool { got += readSome(t, peer, b); return got == spans*(head+len(content)) })
	s := r.n.Stats
	if s.OutSpan != uint64(spans*len(content)) || s.OutOwned != spans*head || s.OutBorrowed != 0 || s.Copied != 0 {
		t.Fatalf("by sendfile %d, own memory %d, borrowed %d, copied %d", s.OutSpan, s.OutOwned, s.OutBorrowed, s.Copied)
	}
}

func TestChainSmallAnswerWithASpanIsOnePacket(t *testing.T) {
	file := tempFile(t, pattern(10_000, 9))
	r := newRig(t, Options{})
	peer, c := r.tcpPair(SocketOptions{})
	segments := func() uint32 {
		info, err := unix.GetsockoptTCPInfo(c.FD(), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			t.Fatal(err)
		}
		return info.Data_segs_out
	}
	b := make([]byte, 4096)
	for _, tail := range []int{0, 3} {
		before := segments()
		c.Out().Append(60)
		c.Out().Span(file, 10, 1000, nil)
		c.Out().Append(tail)
		r.turn(0)
		if got := readFull(peer, b[:1060+tail]); got != 1060+tail {
			t.Fatalf("%d bytes", got)
		}
		if n := segments() - before; n != 1 {
			t.Fatalf("with a tail of %d bytes the answer took %d packets", tail, n)
		}
	}
}

func TestChainFileErrorIsToldFromPeerError(t *testing.T) {
	short := tempFile(t, pattern(100, 1))
	dir, err := unix.Open(t.TempDir(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	for _, c := range []struct {
		name string
		fd   int
		want error
	}{{"beyond-the-end", short, ErrShortFile}, {"unreadable", dir, unix.EINVAL}} {
		t.Run(c.name, func(t *testing.T) {
			var told []int
			r := newRig(t, Options{OnFileError: func(fd int, _ error) { told = append(told, fd) }})
			_, conn := r.tcpPair(SocketOptions{})
			var released countReleases
			conn.Out().Span(c.fd, 50, 1000, &released)
			r.until("closed", func() bool { return len(r.closed) == 1 })
			var fe *FileError
			if !errors.As(r.closed[conn], &fe) || fe.FD != c.fd || !errors.Is(fe, c.want) || len(told) != 1 || told[0] != c.fd || released != 1 {
				t.Fatalf("closed with %v, told %v, released %d", r.closed[conn], told, released)
			}
		})
	}
	for _, err := range []error{unix.EIO, unix.EINVAL, unix.ESTALE, unix.EUCLEAN} {
		if isConnError(err) {
			t.Errorf("%v counts as the peer's", err)
		}
	}
	for _, err := range []error{unix.EPIPE, unix.ECONNRESET, unix.ETIMEDOUT} {
		if !isConnError(err) {
			t.Errorf("%v counts as the file's", err)
		}
	}
}

func TestChainGivesOthersTheirTurn(t *testing.T) {
	r := newRig(t, Options{SendPerTurn: 64 << 10})
	peer, c := r.tcpPair(SocketOptions{})
	c.Out().Borrow(pattern(300<<10, 1), nil)
	c.Out().Borrow(pattern(300<<10, 2), nil)
	r.turn(0)
	sends := r.n.Stats.Sends + r.n.Stats.Sendfiles
	if c.OutBytes() == 0 || sends > 1 {
		t.Fatalf("%d bytes left after %d sends of one turn", c.OutBytes(), sends)
	}
	b := make([]byte, 1<<20)
	got := 0
	r.until("all", func() bool { got += readSome(t, peer, b); return got == 600<<10 })
}

func TestFrugalConnectionTakesLessOfATurn(t *testing.T) {
	for frugal, want := range map[bool]int64{false: 400 << 10, true: frugalPerTurn} {
		r := newRig(t, Options{SendPerTurn: 400 << 10})
		peer, c := r.tcpPair(SocketOptions{})
		if err := unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 8<<20); err != nil {
			t.Skipf("the send buffer cannot be made large enough to show a share: %v", err)
		}
		c.SetFrugal(frugal)
		for i := range 32 {
			c.Out().Borrow(pattern(32<<10, i), nil)
		}
		r.turn(0)
		if sent := int64(1<<20) - c.OutBytes(); sent > want+32<<10 || sent < want/2 { // pieces go whole
			t.Errorf("frugal %v: %d bytes in one turn, want %d", frugal, sent, want)
		}
		b := make([]byte, 1<<20)
		got := 0
		r.until("all", func() bool { got += readSome(t, peer, b); return got == 1<<20 })
	}
}
