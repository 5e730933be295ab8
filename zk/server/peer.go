package server

import (
	"errors"

	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/session"
	"github.com/pelton-broker/pelton/zk/tree"
)

// Why connections end; the text goes to the log.
var (
	errClosedByClient = errors.New("zk/server: session closed by its client")
	errBadConnect     = errors.New("zk/server: the first frame is no connect request")
	errRefused        = errors.New("zk/server: session refused")
	errAhead          = errors.New("zk/server: the client has seen a later transaction than this server")
	errTakenOver      = errors.New("zk/server: the session went on on another connection")
	errBadFrame       = errors.New("zk/server: a frame without a request header")
	errUnknownOp      = errors.New("zk/server: unknown operation")
	errAuthFailed     = errors.New("zk/server: authentication failed")
	errExpired        = errors.New("zk/server: session expired")
	errWord           = errors.New("zk/server: four-letter word answered")
)

type peerState uint8

const (
	fresh   peerState = iota // no connect request yet
	opening                  // its session is being written
	live
	ending // no more requests are taken
)

// peer is one connection and the order of its answers: a read waits for the writes before it, and for those only.
type peer struct {
	l     *loop
	c     *netpoll.Conn
	state peerState
	sess  *session.Session
	// caller: the session and whoever the client proved to be.
	caller  tree.Caller
	secure  bool       // it came by the TLS port
	sasl    *digestMD5 // nil until the client begins an exchange
	connect jute.ConnectRequest
	queue   []waiting // oldest first; the first one is always a write
	head    int
	stats   peerStats
}

// waiting is a request that cannot be answered yet.
type waiting struct {
	// key is what answers it: the zxid of a write, in an ensemble the member's number for it or for a sync; 0 for what waits only for its turn.
	key   int64
	xid   int32
	op    int32
	code  jute.Code     // the answer to a write that could not be parsed
	frame netpoll.Frame // of a read
	body  []byte        // of a read, in frame
	ms    int64         // when it came
}

const (
	// queueMax is how many requests of a connection may wait before it is not read any more; half of it reads on.
	queueMax = 1024
)

// OnOpen implements netpoll.Handler.
func (l *loop) OnOpen(c *netpoll.Conn) {
	p := &peer{l: l, c: c}
	p.caller.IDs = []jute.ID{{Scheme: "ip", ID: c.Remote.Addr().Unmap().String()}}
	p.stats.sinceMs = l.wallMs
	if p.secure = l.arriving.secure; l.arriving.subject != "" {
		if l.o.X509SuperUser == l.arriving.subject {
			p.addID(jute.ID{Scheme: "super", ID: l.arriving.subject})
		}
		p.addID(jute.ID{Scheme: "x509", ID: l.arriving.subject})
	}
	c.User = p
	l.peers[p] = struct{}{}
}

// OnClose implements netpoll.Handler. The session lives on until it expires.
func (l *loop) OnClose(c *netpoll.Conn, cause error) {
	p, ok := c.User.(*peer)
	if !ok {
		return
	}
	p.state = ending
	delete(l.peers, p)
	l.tree.RemoveWatcher(p)
	if p.sess != nil && p.sess.Owner == any(p) {
		p.sess.Owner = nil
	}
	for i := p.head; i < len(p.queue); i++ {
		p.queue[i].release()
	}
	p.queue, p.head = nil, 0
	l.o.Log.Debug("zk connection ended", "err", cause)
}

func (w *waiting) release() {
	if w.frame.Buf != nil {
		w.frame.Buf.Release()
		w.frame.Buf = nil
	}
}

// OnFrame implements netpoll.Handler.
func (l *loop) OnFrame(c *netpoll.Conn, f netpoll.Frame) {
	p := c.User.(*peer)
	p.stats.received++
	l.stats.received++
	l.m.bytesIn += uint64(len(f.B))
	if l.ens != nil && !l.ens.serving {
		p.c.Close(errNoLeader)
		f.Buf.Release()
		return
	}
	switch p.state {
	case ending:
	case fresh:
		l.openSession(p, f.B)
	default:
		if l.request(p, f) {
			return // the frame waits with its request
		}
	}
	f.Buf.Release()
}

// waits is true when an answer must wait for a write before it.
func (p *peer) waits() bool { return p.head < len(p.queue) }

func (p *peer) push(w waiting) {
	w.ms = p.l.nowMs
	p.queue = append(p.queue, w)
	p.l.stats.outstanding++
	if len(p.queue)-p.head >= queueMax {
		p.c.Pause()
	}
}

func (p *peer) pop() waiting {
	l := p.l.ens
	w := p.queue[p.head]
	p.queue[p.head] = waiting{}
	p.head++
	p.l.stats.outstanding--
	if n := len(p.queue) - p.head; n == 0 {
		p.queue, p.head = p.queue[:0], 0
	} else if p.head >= queueMax {
		p.queue = append(p.queue[:0], p.queue[p.head:]...)
		p.head = 0
	}
	if p.c.Paused() && p.state != ending && (l == nil || l.serving) && len(p.queue)-p.head <= queueMax/2 {
		p.c.Resume()
	}
	return w
}

// applied answers the write that is first in the queue, and the reads that waited for it.
func (p *peer) applied(x *tree.Txn, res *tree.Result, key int64) {
	if !p.waits() {
		return // the connection is gone
	}
	w := p.pop()
	if w.key != key {
		invariant.Broken("zk/server: answers out of order", w.key, key)
	}
	if w.op == jute.OpCreateSession {
		if s := p.l.sessions.Get(x.Session); s != nil {
			p.sess, s.Owner = s, p
		}
		p.l.sessionOpened(p)
	} else {
		p.l.answerWrite(p, &w, x, res)
	}
	p.drain()
}

func (p *peer) drain() {
	for p.waits() && p.queue[p.head].key == 0 {
		w := p.pop()
		switch {
		case p.c.Closed():
		case w.code != jute.OK:
			p.l.replyCode(p, w.xid, w.code, w.ms)
		default:
			p.l.answerRead(p, w.xid, w.op, w.body, w.ms)
		}
		w.release()
	}
}

// begin starts a frame in the loop's buffer; send ends it.
func (l *loop) begin() []byte { return append(l.buf[:0], 0, 0, 0, 0) }

// bufKept is the largest answer whose buffer is kept for the next.
const bufKept = 256 << 10

func (l *loop) send(p *peer, b []byte) {
	b = l.end(b)
	copy(p.c.Out().Append(len(b)), b)
	l.sent(p, len(b))
}

// end puts the length in front of a frame, and keeps the buffer for the next.
func (l *loop) end(b []byte) []byte {
	jute.PutInt(b, int32(len(b)-4))
	if cap(b) <= bufKept {
		l.buf = b
	} else {
		l.buf = nil
	}
	return b
}

// sent counts a frame of n bytes.
func (l *loop) sent(p *peer, n int) {
	p.stats.sent++
	l.stats.sent++
	l.m.sent(n - 4)
}

// replyCode answers with a header alone.
func (l *loop) replyCode(p *peer, xid int32, code jute.Code, sinceMs int64) {
	l.send(p, jute.AppendReplyHeader(l.begin(), xid, l.tree.Zxid, code))
	l.stats.answered(l.nowMs - sinceMs)
	p.stats.answered(l.nowMs-sinceMs, l.nowMs, xid, l.tree.Zxid)
}

// hangUp takes no more requests and closes when everything is sent, at once when nothing waits to be.
func (p *peer) hangUp(cause error) {
	p.state = ending
	if p.c.OutBytes() == 0 {
		p.c.Close(cause)
		return
	}
	p.c.CloseAfterFlush(cause)
}
