package ensemble

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/pelton-broker/pelton/internal/task"
)

// Links are the connections between this member and the others: one to each for what is sent, one from each for what comes.
type Links struct {
	me      uint64
	key     []byte
	log     *slog.Logger
	random  io.Reader
	group   *task.Group
	lis     net.Listener
	tls     *PeerTLS // nil in the clear
	stallMs int64    // how long unconfirmed bytes are waited for before a link is given up

	mu struct {
		sync.Mutex
		out    map[uint64]*outLink
		in     map[uint64]net.Conn
		open   map[net.Conn]struct{} // everything accepted, also what has not proven itself
		inbox  []Inbound
		waits  int        // bytes in inbox
		room   *sync.Cond // inbox was taken, or the end
		wake   func()
		closed bool
	}
}

// Inbound is a message that came, or, with a nil Body, the end of a link.
type Inbound struct {
	From uint64
	Body []byte
}

// outLink is the way to one member.
type outLink struct {
	to     uint64
	addr   string
	queue  [][]byte
	bytes  int // in queue, and handed to the connection and not yet taken by it
	kick   chan struct{}
	cancel context.CancelFunc
	up     bool
	sent   uint64 // messages
	got    uint64 // messages that came from the member
	lost   uint64 // messages dropped since the link came up, for want of room
}

const (
	queueBytes    = 64 << 20
	readBytes     = 64 << 10
	inboxBytes    = 64 << 20
	handshakeTime = 3 * time.Second
	redialFirst   = 20 * time.Millisecond
	redialMost    = 500 * time.Millisecond
	acceptAgain   = 200 * time.Millisecond
	maxStrangers  = 64
)

// newLinks listens at addr.
func newLinks(me uint64, addr string, key []byte, cover *PeerTLS, stallMs int64, random io.Reader, log *slog.Logger) (*Links, error) {
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	l := &Links{me: me, key: key, tls: cover, log: log, random: random, group: task.NewGroup(), lis: lis, stallMs: stallMs}
	l.mu.out, l.mu.in, l.mu.open = map[uint64]*outLink{}, map[uint64]net.Conn{}, map[net.Conn]struct{}{}
	l.mu.wake = func() {}
	l.mu.room = sync.NewCond(&l.mu)
	l.group.Go("zk-links", l.accept)
	return l, nil
}

// SetWake says how the loop is told that Take has something.
func (l *Links) SetWake(wake func()) {
	l.mu.Lock()
	l.mu.wake = wake
	l.mu.Unlock()
	wake()
}

// SetPeers says who the other members are and where.
func (l *Links) SetPeers(peers map[uint64]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, o := range l.mu.out {
		if peers[id] != o.addr {
			o.cancel()
			delete(l.mu.out, id)
			if c := l.mu.in[id]; c != nil && peers[id] == "" {
				_ = c.Close()
			}
		}
	}
	for id, addr := range peers {
		if l.mu.out[id] != nil || id == l.me || l.mu.closed {
			continue
		}
		ctx, cancel := context.WithCancel(l.group.Context())
		o := &outLink{to: id, addr: addr, kick: make(chan struct{}, 1), cancel: cancel}
		l.mu.out[id] = o
		l.group.Go("zk-link-out", func(context.Context) { l.keep(ctx, o) })
	}
}

// Send queues a message. What cannot be sent is lost, and its sender is told of the link's end.
func (l *Links) Send(p Packet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.mu.out[p.To]
	if o == nil || !o.up {
		return
	}
	if o.bytes+len(p.Body) > queueBytes && o.bytes > 0 {
		// The member does not take anything: its link ends by the stall. Raft sends again what matters.
		if o.lost++; o.lost == 1 {
			l.log.Warn("zk ensemble: a member does not take what it is sent, and more for it is dropped", "member", int64(o.to)-1, "bytes", o.bytes)
		}
		return
	}
	o.queue = append(o.queue, p.Body)
	o.bytes += len(p.Body)
	o.sent++
	select {
	case o.kick <- struct{}{}:
	default:
	}
}

// look fills in what is known of the links with a member.
func (l *Links) look(id uint64, to *Observer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.mu.out[id]; o != nil {
		to.Queued, to.QueuedBytes, to.Sent, to.Received = len(o.queue), o.bytes, o.sent, o.got
	}
	if c := l.mu.in[id]; c != nil {
		to.Remote = c.RemoteAddr().String()
	}
}

// Take takes what came.
func (l *Links) Take() []Inbound {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.mu.inbox
	l.mu.inbox, l.mu.waits = nil, 0
	l.mu.room.Broadcast()
	return in
}

// put hands a message to the loop. While the loop is busy and too much waits for it, the links are not read.
func (l *Links) put(in Inbound) {
	l.mu.Lock()
	for l.mu.waits > inboxBytes && !l.mu.closed {
		l.mu.room.Wait()
	}
	l.mu.inbox = append(l.mu.inbox, in)
	if o := l.mu.out[in.From]; o != nil && in.Body != nil {
		o.got++
	}
	l.mu.waits += len(in.Body)
	wake := l.mu.wake
	l.mu.Unlock()
	wake()
}

// Close ends all links.
func (l *Links) Close() {
	_ = l.lis.Close()
	l.mu.Lock()
	l.mu.closed = true
	l.mu.room.Broadcast()
	for c := range l.mu.open {
		_ = c.Close()
	}
	for _, o := range l.mu.out {
		o.cancel()
	}
	l.mu.Unlock()
	l.group.Stop()
}

// keep holds the way to one member open.
func (l *Links) keep(ctx context.Context, o *outLink) {
	wait := redialFirst
	said := ""
	for ctx.Err() == nil {
		err := l.connect(ctx, o)
		if err == nil {
			wait, said = redialFirst, ""
			continue
		}
		if text := err.Error(); errors.Is(err, ErrStranger) && text != said {
			said = text
			l.log.Warn("zk ensemble: a member does not let this server in", "member", int64(o.to)-1, "addr", o.addr, "err", err)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
		case <-t.C:
		}
		wait = min(2*wait, redialMost)
	}
}

// connect dials, proves the key and writes until the link breaks. Nil means that the link was up.
func (l *Links) connect(ctx context.Context, o *outLink) error {
	d := net.Dialer{Timeout: handshakeTime}
	raw, err := d.DialContext(ctx, "tcp", o.addr)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	defer raw.Close()
	stallAfter(raw, l.stallMs)
	deadline := time.AfterFunc(handshakeTime, func() { _ = raw.Close() })
	host, _, _ := net.SplitHostPort(o.addr)
	c, err := l.tls.dial(ctx, raw, host)
	var link, key []byte
	if err == nil {
		key, err = l.tls.key(c, l.key)
	}
	if err == nil {
		link, err = dialHandshake(c, key, l.me, o.to, l.random)
	}
	if !deadline.Stop() && err == nil {
		err = context.DeadlineExceeded
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	o.up, o.queue, o.bytes, o.lost = true, nil, 0, 0
	l.mu.Unlock()
	l.log.Debug("zk ensemble: link", "to", int64(o.to)-1)
	l.group.Go("zk-link-watch", func(context.Context) { watchEnd(c, o) })
	l.write(ctx, raw, c, o, link)
	l.mu.Lock()
	lost := o.lost
	o.up, o.queue, o.bytes = false, nil, 0
	l.mu.Unlock()
	if lost > 0 {
		l.log.Warn("zk ensemble: a link ended after messages were dropped", "member", int64(o.to)-1, "count", lost)
	}
	l.put(Inbound{From: o.to})
	return nil
}

// watchEnd notices that the other end closed, since nothing is ever read on this way, and ends the writer.
func watchEnd(c net.Conn, o *outLink) {
	var b [1]byte
	_, _ = c.Read(b[:])
	_ = c.Close()
	select {
	case o.kick <- struct{}{}:
	default:
	}
}

func (l *Links) write(ctx context.Context, raw, c net.Conn, o *outLink, link []byte) {
	var buf []byte
	for n := uint64(0); ; {
		l.mu.Lock()
		queue := o.queue
		o.queue = nil
		l.mu.Unlock()
		if len(queue) == 0 {
			select {
			case <-ctx.Done():
				return
			case <-o.kick:
			}
			l.mu.Lock()
			empty := len(o.queue) == 0
			l.mu.Unlock()
			if empty && closed(raw) {
				return
			}
			continue
		}
		buf = buf[:0]
		taken := 0
		for _, body := range queue {
			buf = appendFrame(buf, link, n, body)
			taken += len(body)
			n++
		}
		if _, err := c.Write(buf); err != nil {
			return
		}
		l.mu.Lock()
		o.bytes -= taken
		l.mu.Unlock()
		if cap(buf) > 4<<20 {
			buf = nil
		}
	}
}

// closed says whether this end of the connection was closed.
func closed(c net.Conn) bool { return errors.Is(c.SetDeadline(time.Time{}), net.ErrClosed) }

// accept takes connections until the group or the listener ends. An error, most likely that there are no descriptors left, stays for a while: asking
// again at once would burn a core.
func (l *Links) accept(ctx context.Context) {
	for {
		c, err := l.lis.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			l.log.Warn("zk ensemble: the peer port takes no connection", "err", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(acceptAgain):
			}
			continue
		}
		l.mu.Lock()
		crowd := len(l.mu.open) > maxStrangers+len(l.mu.out) || l.mu.closed
		if !crowd {
			l.mu.open[c] = struct{}{}
		}
		l.mu.Unlock()
		if crowd || !l.group.Go("zk-link-in", func(context.Context) { l.read(c) }) {
			_ = c.Close()
		}
	}
}

// read takes one member's messages until its link ends.
func (l *Links) read(raw net.Conn) {
	defer func() {
		_ = raw.Close()
		l.mu.Lock()
		delete(l.mu.open, raw)
		l.mu.Unlock()
	}()
	stallAfter(raw, l.stallMs)
	deadline := time.AfterFunc(handshakeTime, func() { _ = raw.Close() })
	from, link, c, err := l.welcome(raw)
	deadline.Stop()
	if err != nil {
		if errors.Is(err, ErrStranger) {
			l.log.Warn("zk ensemble: a stranger at the peer port", "remote", raw.RemoteAddr().String(), "err", err)
		}
		return
	}
	l.mu.Lock()
	if old := l.mu.in[from]; old != nil {
		_ = old.Close()
	}
	l.mu.in[from] = c
	l.mu.Unlock()
	r := bufio.NewReaderSize(c, readBytes)
	for n := uint64(0); ; n++ {
		body, err := readFrame(r, link, n)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				l.log.Info("zk ensemble: link ended", "from", int64(from)-1, "err", err)
			}
			break
		}
		l.put(Inbound{From: from, Body: body})
	}
	l.mu.Lock()
	if l.mu.in[from] == c {
		delete(l.mu.in, from)
	}
	l.mu.Unlock()
	l.put(Inbound{From: from})
}

// welcome finds out who came, and refuses whoever cannot prove it.
func (l *Links) welcome(raw net.Conn) (from uint64, link []byte, c net.Conn, err error) {
	if c, err = l.tls.accept(l.group.Context(), raw); err != nil {
		return 0, nil, nil, err
	}
	known := func(id uint64) bool {
		l.mu.Lock()
		o := l.mu.out[id]
		l.mu.Unlock()
		if o == nil {
			return false
		}
		host, _, _ := net.SplitHostPort(o.addr)
		err = l.tls.named(c, host)
		return err == nil
	}
	key, err := l.tls.key(c, l.key)
	if err != nil {
		return 0, nil, nil, err
	}
	var refused error
	from, link, refused = acceptHandshake(c, key, l.me, l.random, known)
	if err != nil {
		return 0, nil, nil, err
	}
	return from, link, c, refused
}

// stallAfter gives a connection up whose bytes are not confirmed for so long; else the kernel would wait for minutes after a split.
func stallAfter(c net.Conn, ms int64) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return
	}
	const tcpUserTimeout = 18
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(ms))
	})
}
