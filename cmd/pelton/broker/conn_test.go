package broker_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is a client's connection without a client: one request out, one answer in, in any version.
type conn struct {
	t    *testing.T
	c    *net.TCPConn
	in   *bufio.Reader
	corr int32
}

// dial connects; the connection closes with the test.
func (n *node) dial(t *testing.T) *conn {
	t.Helper()
	c, err := n.connect(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

func (n *node) connect(t *testing.T) (*conn, error) {
	c, err := net.DialTimeout("tcp", n.addr, answerWithin)
	if err != nil {
		return nil, err
	}
	return &conn{t: t, c: c.(*net.TCPConn), in: bufio.NewReader(c)}, nil
}

func (c *conn) close() { c.c.Close() }

// encode makes the frame of a request.
func (c *conn) encode(version int16, req kmsg.Request) []byte {
	c.corr++
	return frameOf(c.corr, version, req)
}

func frameOf(corr int32, version int16, req kmsg.Request) []byte {
	req.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("case")).AppendRequest(nil, req, corr)
}

// write sends bytes as they are.
func (c *conn) write(b []byte) {
	c.t.Helper()
	if err := c.tryWrite(b); err != nil {
		c.t.Fatal("sending:", err)
	}
}

func (c *conn) tryWrite(b []byte) error {
	if err := c.c.SetWriteDeadline(time.Now().Add(answerWithin)); err != nil {
		return err
	}
	_, err := c.c.Write(b)
	return err
}

// send sends a request and gives its correlation id.
func (c *conn) send(version int16, req kmsg.Request) int32 {
	c.t.Helper()
	c.write(c.encode(version, req))
	return c.corr
}

// frame reads the next answer: its correlation id and what follows.
func (c *conn) frame() (int32, []byte) {
	c.t.Helper()
	corr, body, err := c.tryFrame()
	if err != nil {
		c.t.Fatal("waiting for an answer:", err)
	}
	return corr, body
}

func (c *conn) tryFrame() (int32, []byte, error) {
	if err := c.c.SetReadDeadline(time.Now().Add(answerWithin)); err != nil {
		return 0, nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return 0, nil, err
	}
	size := int32(binary.BigEndian.Uint32(head[:]))
	if size < 4 {
		return 0, nil, fmt.Errorf("an answer of %d bytes", size)
	}
	body := make([]byte, size-4)
	_, err := io.ReadFull(c.in, body)
	return int32(binary.BigEndian.Uint32(head[4:])), body, err
}

// receive reads the answer to a request that was sent.
func (c *conn) receive(corr int32, req kmsg.Request) kmsg.Response {
	c.t.Helper()
	got, body := c.frame()
	if got != corr {
		c.t.Fatalf("answer %d where %d was due", got, corr)
	}
	resp, err := decode(req, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}

func decode(req kmsg.Request, body []byte) (kmsg.Response, error) {
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if resp.IsFlexible() && req.Key() != int16(kmsg.ApiVersions) {
		if len(body) == 0 || body[0] != 0 {
			return nil, fmt.Errorf("%T v%d: no empty tags in the header", resp, req.GetVersion())
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%T v%d: %w", resp, req.GetVersion(), err)
	}
	return resp, nil
}

// ask sends a request and waits for its answer.
func ask[R kmsg.Response](c *conn, version int16, req kmsg.Request) R {
	c.t.Helper()
	return c.receive(c.send(version, req), req).(R)
}

// tryAsk is ask for goroutines and for connections that may be closed.
func tryAsk[R kmsg.Response](c *conn, version int16, req kmsg.Request) (r R, err error) {
	if err := c.tryWrite(c.encode(version, req)); err != nil {
		return r, err
	}
	corr, body, err := c.tryFrame()
	if err != nil {
		return r, err
	}
	if corr != c.corr {
		return r, fmt.Errorf("answer %d where %d was due", corr, c.corr)
	}
	resp, err := decode(req, body)
	if err != nil {
		return r, err
	}
	return resp.(R), nil
}

// closed waits until the broker closes the connection; it fails when anything but answers comes before, or nothing at all.
func (c *conn) closed() {
	c.t.Helper()
	if err := c.drain(); err != nil {
		c.t.Fatal("waiting for the broker to close:", err)
	}
}

// drain reads until the connection ends; nil when it ended by the broker's hand.
func (c *conn) drain() error {
	if err := c.c.SetReadDeadline(time.Now().Add(answerWithin)); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, c.in)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return err
	}
	return nil // end of stream or a reset
}

// works shows that the connection is alive and that nothing is left to read on it.
func (c *conn) works() {
	c.t.Helper()
	resp := ask[*kmsg.ApiVersionsResponse](c, 0, kmsg.NewPtrApiVersionsRequest())
	if resp.ErrorCode != 0 || len(resp.ApiKeys) == 0 {
		c.t.Fatalf("ApiVersions v0: error %d, %d keys", resp.ErrorCode, len(resp.ApiKeys))
	}
}
