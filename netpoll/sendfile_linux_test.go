package netpoll

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// sendThenTouch sends a file of 'o' bytes by sendfile, does something to the file while all of it waits in the socket,
// and gives what the reader then receives.
func sendThenTouch(t *testing.T, size int, touch func(f *os.File)) []byte {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reader, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	socket, err := accepted.(*net.TCPConn).File() // blocking
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	_ = accepted.Close()
	f, err := os.Create(filepath.Join(t.TempDir(), "segment"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(bytes.Repeat([]byte{'o'}, size)); err != nil {
		t.Fatal(err)
	}
	var off int64
	for off < int64(size) {
		if _, err := unix.Sendfile(int(socket.Fd()), int(f.Fd()), &off, size-int(off)); err != nil {
			t.Fatal(err)
		}
	}
	touch(f)
	got := make([]byte, size)
	if _, err := io.ReadFull(reader, got); err != nil {
		t.Fatal(err)
	}
	return got
}

// The kernel sends pages of a file by reference, also after sendfile has returned. A segment that was ever sent may
// therefore only be unlinked: what waits in sockets stays whole then, and does not when it is written over or cut.
func TestSendfileGivesPagesByReference(t *testing.T) {
	const size = 64 << 10
	original := bytes.Repeat([]byte{'o'}, size)
	unlinked := sendThenTouch(t, size, func(f *os.File) {
		if err := os.Remove(f.Name()); err != nil {
			t.Fatal(err)
		}
	})
	if !bytes.Equal(unlinked, original) {
		t.Fatal("the bytes of a file that was only unlinked changed on their way")
	}
	rewritten := sendThenTouch(t, size, func(f *os.File) {
		if _, err := f.WriteAt(bytes.Repeat([]byte{'x'}, size), 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(size - 100); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("of %d bytes sent before the file was written over, %d arrived as they were sent", size, bytes.Count(rewritten, []byte{'o'}))
	if bytes.Equal(rewritten, original) {
		t.Log("this kernel copied them; others do not, so the rule stands")
	}
}
