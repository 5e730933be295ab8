package netpoll

import (
	"net/netip"

	"github.com/pelton-broker/pelton/internal/arena"
)

type Frame struct {
	B   []byte
	Buf *arena.Buf
}

type Handler interface {
	OnOpen(c *Conn)
	OnFrame(c *Conn, f Frame)
	OnClose(c *Conn, cause error)
	OnRaw(c *Conn, first []byte) bool
}

type Releaser interface{ Release() }

type Options struct {
	Sniff       bool
	MaxFrame    int32
	OnFileError func(fd int, err error)
}

type Net struct{}

func NewNet(o Options, a *arena.Arena, h Handler) (*Net, error) { return &Net{}, nil }
func (n *Net) Turn(timeoutNs int64) error                       { return nil }
func (n *Net) FlushOut()                                        {}
func (n *Net) Wake()                                            {}
func (n *Net) Watch(fd int, fn func())                          {}
func (n *Net) Adopt(fd int, remote netip.AddrPort)              {}
func (n *Net) Dial(addr string) (*Conn, error)                  { return nil, nil }
func (n *Net) Close()                                           {}

type ListenOptions struct{}
type Listener struct{}

func Listen(addr string, o ListenOptions) (*Listener, error) { return nil, nil }
func (l *Listener) Addr() netip.AddrPort                     { return netip.AddrPort{} }
func (l *Listener) Accept() (int, netip.AddrPort, error)     { return 0, netip.AddrPort{}, nil }
func (l *Listener) Close()                                   {}

type Conn struct {
	ID     uint64
	Remote netip.AddrPort
	User   any
}

func (c *Conn) Out() *Chain         { return nil }
func (c *Conn) Pause()              {}
func (c *Conn) Resume()             {}
func (c *Conn) SetMaxFrame(n int32) {}
func (c *Conn) Close(cause error)   {}
func (c *Conn) OutBytes() int64     { return 0 }

type Chain struct{}

func (ch *Chain) Append(n int) []byte                         { return make([]byte, n) }
func (ch *Chain) Borrow(b []byte, r Releaser)                 {}
func (ch *Chain) Span(fd int, off int64, n int64, r Releaser) {}
