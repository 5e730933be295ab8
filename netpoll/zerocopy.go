package netpoll

import "github.com/pelton-broker/pelton/internal/arena"

// zcBuf is a buffer that the kernel may still send from: the socket's id-th send by reference.
type zcBuf struct {
	id  uint32
	buf *arena.Buf
}

// zeroCopy is a connection's part in sending by reference from memory. The kernel counts the sends of a socket, and tells on its error queue
// which of them it has done with; only then may their memory be used again, however long ago the peer has read the bytes.
type zeroCopy struct {
	on   bool // the socket was told
	next uint32
	out  []zcBuf // in order of id
}

// lingering is the socket of a connection that is gone, kept until the kernel has done with its buffers.
type lingering struct {
	fd     int
	out    []zcBuf
	bornNs int64
}

// lingerNs is how long a closed socket may go on sending what it has before it is cut off.
const lingerNs = 30_000_000_000

// bounceBytes is how much of a span is read at once to be sent from memory: about what a socket takes.
const bounceBytes = 128 << 10

// sendCopied sends the front of a span from memory: the default's counterpart for measuring what it saves.
func (c *Conn) sendCopied(most int) int {
	n := c.net
	if n.o.SendPath == SendZeroCopy {
		if sent, ok := c.sendByReference(most); ok {
			return sent
		}
	}
	if n.bounce == nil {
		if n.bounce = n.arena.Get(bounceBytes); n.bounce == nil {
			c.Close(ErrNoMemory)
			return 0
		}
	}
	b, ok := c.readSpan(n.bounce.B, most)
	if !ok {
		return 0
	}
	setIovec(&n.iov[0], b)
	sent, err := sysSend(c.fd, n.iov[:1], len(b), c.moreBehind(len(b)))
	clear(n.iov[:1])
	n.Stats.Sends++
	return c.sentFromMemory(sent, len(b), err)
}

// readSpan reads the front of the first span into b.
func (c *Conn) readSpan(b []byte, most int) ([]byte, bool) {
	it := &c.out.items[c.out.head]
	b = b[:min(int64(len(b)), it.n, int64(most))]
	got, err := sysReadAt(int(it.file), b, it.off)
	switch {
	case err != nil:
		c.failFile(int(it.file), err)
		return nil, false
	case got == 0:
		c.failFile(int(it.file), ErrShortFile)
		return nil, false
	}
	c.net.Stats.SpanReads++
	c.net.Stats.SpanCopied += uint64(got)
	return b[:got], true
}

// moreBehind tells whether something follows n bytes of the first span.
func (c *Conn) moreBehind(n int) bool {
	ch := &c.out
	return c.net.o.Cork != CorkNever && (ch.items[ch.head].n > int64(n) || ch.head+1 < len(ch.items))
}

// sentFromMemory accounts for a send of a span's bytes. What the socket did not take is read again later.
func (c *Conn) sentFromMemory(sent, asked int, err error) int {
	switch {
	case err == nil:
		c.blocked = sent < asked
		c.progress(sent)
		c.out.sentSpan(int64(sent))
		return sent
	case isAgain(err):
		c.blocked = true
	default:
		c.Close(err)
	}
	return 0
}

// sendByReference is the span's front by MSG_ZEROCOPY; false: the kernel or the arena has no room for that now.
func (c *Conn) sendByReference(most int) (int, bool) {
	n := c.net
	if !c.zc.on {
		if sysZeroCopy(c.fd) != nil {
			return 0, false // not TCP
		}
		c.zc.on = true
	}
	if len(c.zc.out) > 0 {
		c.reapZeroCopy() // what the kernel has done with is used first
	}
	buf := n.arena.Get(int(min(bounceBytes, c.out.items[c.out.head].n, int64(most))))
	if buf == nil {
		return 0, false
	}
	b, ok := c.readSpan(buf.B, most)
	if !ok {
		buf.Release()
		return 0, true
	}
	sent, err := sysSendZeroCopy(c.fd, b, c.moreBehind(len(b)))
	n.Stats.Sends++
	if err != nil {
		buf.Release()
		if isNoBuffers(err) {
			return 0, false
		}
		return c.sentFromMemory(0, len(b), err), true
	}
	n.Stats.ZeroCopies++
	c.zc.out = append(c.zc.out, zcBuf{id: c.zc.next, buf: buf})
	c.zc.next++
	return c.sentFromMemory(sent, len(b), nil), true
}

// reapZeroCopy gives back the buffers that the kernel has done with.
func (c *Conn) reapZeroCopy() {
	c.zc.out = c.net.zeroCopyDone(c.fd, c.zc.out)
}

func (n *Net) zeroCopyDone(fd int, out []zcBuf) []zcBuf {
	rest, copied := zeroCopyDone(fd, out)
	n.Stats.ZeroCopiesCopied += uint64(copied)
	return rest
}

// errorIsNews reads a socket's error queue, if that may be what is reported, and tells whether there is an error beside it.
func (c *Conn) errorIsNews() bool {
	if !c.zc.on {
		return true
	}
	c.reapZeroCopy()
	return stillBroken(c.fd)
}

// linger keeps the socket of a finished connection while the kernel may send from its buffers; false: it does not.
func (n *Net) linger(c *Conn) bool {
	if len(c.zc.out) > 0 {
		c.reapZeroCopy()
	}
	if len(c.zc.out) == 0 || n.closed {
		for i := range c.zc.out { // the loop ends
			c.zc.out[i].buf.Release()
		}
		return false
	}
	_ = n.poller.Del(c.fd)
	sysShutdown(c.fd)
	n.lingers = append(n.lingers, lingering{fd: c.fd, out: c.zc.out, bornNs: n.now})
	c.zc = zeroCopy{}
	return true
}

// sweepLingers closes the sockets whose buffers are free. One that takes too long is cut off first: that frees its output, and the kernel
// then tells of all its buffers.
func (n *Net) sweepLingers(all bool) {
	kept := n.lingers[:0]
	for _, l := range n.lingers {
		l.out = n.zeroCopyDone(l.fd, l.out)
		switch {
		case len(l.out) == 0:
			sysClose(l.fd)
			continue
		case all || n.now-l.bornNs >= lingerNs:
			sysAbort(l.fd)
			if l.out = n.zeroCopyDone(l.fd, l.out); len(l.out) == 0 || all {
				for i := range l.out {
					l.out[i].buf.Release()
				}
				sysClose(l.fd)
				continue
			}
		}
		kept = append(kept, l)
	}
	clear(n.lingers[len(kept):])
	n.lingers = kept
}
