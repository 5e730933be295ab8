package server

import (
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/netpoll"
)

// secure is the port for TLS. Records are taken off by goroutines beside the loop, which gets a plain local stream for each
// connection: handshakes and ciphers never hold it up.
type secure struct {
	s        *Server
	live     *liveTLS
	listener net.Listener
	failures failures
}

const (
	// handshakeWithin bounds a handshake.
	handshakeWithin = 10 * time.Second
	// acceptAgain is the pause after an error of the listener.
	acceptAgain = 200 * time.Millisecond
)

func openSecure(s *Server) (*secure, error) {
	live, err := newLiveTLS(s.o.FS, &s.o.TLS, s.o.Log)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", s.o.TLS.Addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTLS, err)
	}
	return &secure{s: s, live: live, listener: l}, nil
}

// accept hands every connection to goroutines of its own. An error, most likely that there are no descriptors left, stays for a while: asking again at
// once would burn a core and fill the log.
func (t *secure) accept(ctx context.Context) {
	for {
		c, err := t.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			t.s.o.Log.Warn("zk secure port", "err", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(acceptAgain):
			}
			continue
		}
		remote := c.RemoteAddr().(*net.TCPAddr).AddrPort()
		if t.s.limiter.Take(remote.Addr()) != nil || !t.s.group.Go("zk-tls", func(ctx context.Context) { t.serve(ctx, c, remote) }) {
			_ = c.Close()
		}
	}
}

// serve shakes hands and then carries bytes both ways until either side has ended.
func (t *secure) serve(ctx context.Context, raw net.Conn, remote netip.AddrPort) {
	c := tls.Server(raw, t.live.current())
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	shake, cancel := context.WithTimeout(ctx, handshakeWithin)
	err := c.HandshakeContext(shake)
	cancel()
	fd, far := -1, net.Conn(nil)
	if err == nil {
		fd, far, err = netpoll.Pair()
	}
	if err != nil {
		t.failures.tell(t.s.o.Log, t.s.o.Clock.WallMs(), remote, err)
		t.s.limiter.Give(remote.Addr())
		return
	}
	defer far.Close()
	who := subject(c)
	if !t.s.mail.put(func(l *loop) { l.adoptSecure(fd, remote, who) }) {
		_ = disk.NewFile(fd, "socket").Close()
		t.s.limiter.Give(remote.Addr())
		return
	}
	t.s.group.Go("zk-tls-out", func(context.Context) {
		_, _ = io.Copy(c, far)
		_ = c.Close() // the loop has closed, or the client is gone
	})
	_, _ = io.Copy(far, c)
}

// subject is the name in the client's certificate as Java writes it, empty when there is none.
func subject(c *tls.Conn) string {
	certs := c.ConnectionState().PeerCertificates
	if len(certs) == 0 {
		return ""
	}
	var name pkix.RDNSequence
	if _, err := asn1.Unmarshal(certs[0].RawSubject, &name); err != nil {
		return ""
	}
	return name.String()
}
