package broker_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// exchange is a connection that asks the same thing again and again with raw calls and fixed memory: it allocates nothing, so what is
// allocated meanwhile the broker has allocated.
type exchange struct {
	t      *testing.T
	fd     int
	answer []byte
	got    int // bytes of the last answer, its size field included
}

// call connects without Go's poller.
func (n *node) call(t *testing.T) *exchange {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	at := netip.MustParseAddrPort(n.addr)
	limit := syscall.Timeval{Sec: int64(answerWithin.Seconds())}
	err = errors.Join(syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit), syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1),
		syscall.Connect(fd, &syscall.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}))
	if err != nil {
		t.Fatal(err)
	}
	return &exchange{t: t, fd: fd, answer: make([]byte, 8<<20)}
}

func (x *exchange) send(frame []byte) {
	for len(frame) > 0 {
		n, err := syscall.Write(x.fd, frame)
		if err != nil && err != syscall.EINTR {
			x.t.Fatal("sending:", err)
		}
		frame = frame[max(n, 0):]
	}
}

// receive reads one answer into x.answer[:x.got].
func (x *exchange) receive() {
	for x.got = 0; x.got < 4 || x.got < 4+int(binary.BigEndian.Uint32(x.answer)); {
		most := 4
		if x.got >= 4 {
			most = 4 + int(binary.BigEndian.Uint32(x.answer))
		}
		n, err := syscall.Read(x.fd, x.answer[x.got:most])
		switch {
		case err == syscall.EINTR:
		case err != nil:
			x.t.Fatal("waiting for an answer:", err)
		case n == 0:
			x.t.Fatal("the broker has closed the connection")
		default:
			x.got += n
		}
	}
}

func (x *exchange) ask(frame []byte) {
	x.send(frame)
	x.receive()
}

// decode is the last answer, decoded.
func (x *exchange) decode(req kmsg.Request) kmsg.Response {
	x.t.Helper()
	resp, err := decode(req, x.answer[8:x.got])
	if err != nil {
		x.t.Fatal(err)
	}
	return resp
}

// place finds where a request's frame holds a field, by the two frames of values that differ only there.
func place(t *testing.T, width int, frame func(value uint64) []byte) int {
	t.Helper()
	var mark [8]byte
	value := uint64(0x1122334455667788)
	if width == 4 {
		value = 0x11223344
	}
	binary.BigEndian.PutUint64(mark[:], value)
	b := frame(value)
	at := bytes.Index(b, mark[8-width:])
	if at < 0 || bytes.Contains(b[at+1:], mark[8-width:]) {
		t.Fatal(fmt.Errorf("the field is not in the frame exactly once: %x", b))
	}
	return at
}
