package netpoll

import (
	"fmt"
	"net/netip"
)

// Dial begins an outgoing connection to IP:port on the loop's thread; it does not wait. OnOpen follows when it is established, or OnClose
// alone when it is not. What is put into its chain before is sent then.
func (n *Net) Dial(addr string) (*Conn, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %q", ErrNotNumeric, addr)
	}
	fd, err := dialTCP(addr, n.o.Socket)
	if err != nil {
		return nil, err
	}
	c := n.newConn(fd, to)
	c.state, c.want = connecting, EventWrite
	if err := n.register(c); err != nil {
		sysClose(fd)
		return nil, err
	}
	n.Stats.Dialed++
	return c, nil
}

// connected ends the wait of an outgoing connection.
func (c *Conn) connected(ev Event) {
	if ev&(EventWrite|EventError) == 0 {
		return
	}
	if err := sysSocketError(c.fd); err != nil {
		c.Close(err)
		return
	}
	c.state = open
	c.lastRead, c.lastSend = c.net.now, c.net.now
	c.touch()
	c.net.h.OnOpen(c)
}
