package netpoll

// iovMax bounds the vectors of one send.
const iovMax = 64

// send moves the chain's front into the socket until it is empty, the socket is full, or the connection has had its share of this turn.
func (c *Conn) send() {
	ch := &c.out
	if c.closed || c.state == connecting {
		return
	}
	if ch.empty() {
		if c.closeCause != nil {
			c.Close(c.closeCause)
		}
		return
	}
	// With something behind a span, the span's last packet waits for it; two calls cost less than one more packet, and its reader wakes once.
	cork := c.corks()
	if cork {
		c.net.Stats.Corks++
		sysCork(c.fd, true)
	}
	c.blocked = false
	for left := c.share(); !ch.empty() && !c.blocked && !c.closed; {
		if left <= 0 {
			c.touchOut() // the rest goes with the next turn
			break
		}
		if ch.items[ch.head].span && c.net.o.SendPath == SendFile {
			left -= c.sendSpan(left)
		} else if ch.items[ch.head].span {
			left -= c.sendCopied(left)
		} else {
			left -= c.sendBytes(left)
		}
	}
	if cork && !c.closed {
		sysCork(c.fd, false)
	}
	if c.choked && ch.bytes <= c.net.o.MaxOut/2 {
		c.choked = false
		c.readAgain()
	}
	if ch.empty() && c.closeCause != nil {
		c.Close(c.closeCause)
	}
}

// corks tells whether what goes now is held together.
func (c *Conn) corks() bool {
	ch := &c.out
	switch c.net.o.Cork {
	case CorkAlways:
		return true
	case CorkNever:
		return false
	}
	return ch.spans > 1 || ch.spans == 1 && !ch.items[len(ch.items)-1].span
}

// share is how many bytes the connection may send in this turn.
func (c *Conn) share() int {
	if c.frugal {
		return min(frugalPerTurn, c.net.o.SendPerTurn)
	}
	return c.net.o.SendPerTurn
}

// frugalPerTurn is the share of a frugal connection: a fifth more CPU per byte than with the whole one, and the others wait half as long.
const frugalPerTurn = 128 << 10

// SetFrugal gives the connection a small share of each turn: for bulk that nobody waits for beside others that somebody does.
func (c *Conn) SetFrugal(on bool) { c.frugal = on }

func (c *Conn) sendBytes(most int) int {
	n := c.net
	count, bytes, more := c.out.gather(n.iov[:], most)
	sent, err := sysSend(c.fd, n.iov[:count], bytes, more && n.o.Cork != CorkNever)
	clear(n.iov[:count])
	n.Stats.Sends++
	if err != nil {
		if isAgain(err) {
			c.blocked = true
		} else {
			c.Close(err)
		}
		return 0
	}
	c.blocked = sent < bytes
	c.progress(sent)
	c.out.sent(sent)
	return sent
}

func (c *Conn) sendSpan(most int) int {
	n := c.net
	it := &c.out.items[c.out.head]
	ask := min(it.n, int64(most))
	sent, err := sysSendfile(c.fd, int(it.file), it.off, ask)
	n.Stats.Sendfiles++
	switch {
	case err == nil && sent > 0:
		// Less than asked is a full socket: the next call would only say EAGAIN. A file that ended shows itself after the wait.
		c.blocked = int64(sent) < ask
		n.Stats.OutSpan += uint64(sent)
		c.progress(sent)
		c.out.sentSpan(int64(sent))
		return sent
	case err == nil:
		c.failFile(int(it.file), ErrShortFile)
	case isAgain(err):
		c.blocked = true
	case isConnError(err):
		c.Close(err)
	default:
		c.failFile(int(it.file), err)
	}
	return 0
}

// failFile closes the connection over its file: part of an answer may be out, and nothing can take its place.
func (c *Conn) failFile(fd int, err error) {
	c.Close(&FileError{FD: fd, Err: err})
	c.net.o.OnFileError(fd, err)
}

func (c *Conn) progress(sent int) {
	c.net.Stats.BytesOut += uint64(sent)
	c.lastSend = c.net.now
}
