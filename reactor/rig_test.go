package reactor

import (
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/netpoll"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hooks are Hooks made of functions; nil ones do nothing.
type hooks struct {
	start func(s *Shard) error
	stop  func(s *Shard)
	frame func(s *Shard, c *netpoll.Conn, f netpoll.Frame)
	close func(s *Shard, c *netpoll.Conn, cause error)
	disk  func(s *Shard, op *disk.Op)
	turn  func(s *Shard)
}

func (h *hooks) OnStart(s *Shard) error {
	if h.start != nil {
		return h.start(s)
	}
	return nil
}

func (h *hooks) OnStop(s *Shard) {
	if h.stop != nil {
		h.stop(s)
	}
}

func (h *hooks) OnOpen(*Shard, *netpoll.Conn) {}

func (h *hooks) OnFrame(s *Shard, c *netpoll.Conn, f netpoll.Frame) {
	if h.frame != nil {
		h.frame(s, c, f)
		return
	}
	f.Buf.Release()
}

func (h *hooks) OnClose(s *Shard, c *netpoll.Conn, cause error) {
	if h.close != nil {
		h.close(s, c, cause)
	}
}

func (h *hooks) OnDisk(s *Shard, op *disk.Op) {
	if h.disk != nil {
		h.disk(s, op)
	}
}

func (h *hooks) OnTurn(s *Shard) {
	if h.turn != nil {
		h.turn(s)
	}
}

// fakeDisk completes every operation at once, without a file.
type fakeDisk struct{ done []*disk.Op }

func (d *fakeDisk) Submit(op *disk.Op) {
	op.N, op.Err = 0, nil
	for _, b := range op.Bufs {
		op.N += len(b)
	}
	d.done = append(d.done, op)
}

func (d *fakeDisk) Reap(dst []*disk.Op) []*disk.Op {
	dst = append(dst, d.done...)
	d.done = d.done[:0]
	return dst
}

func (*fakeDisk) Flush()            {}
func (d *fakeDisk) InFlight() int   { return len(d.done) }
func (*fakeDisk) WakeFD() int       { return -1 }
func (*fakeDisk) ResetWake()        {}
func (*fakeDisk) Backend() string   { return "fake" }
func (*fakeDisk) Stats() disk.Stats { return disk.Stats{} }
func (*fakeDisk) Close()            {}
func (*fakeDisk) Cached(*disk.File, int64, int64) bool {
	return true
}

func (*fakeDisk) ReadNow(*disk.File, []byte, int64) (int, error) { return 0, io.EOF }

func openFake(int) (disk.Disk, error) { return &fakeDisk{}, nil }

// serve starts a server; it is stopped with the test.
func serve(t testing.TB, o Options, h *hooks) (*Server, string) {
	t.Helper()
	v := New(o, h)
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Stop)
	l, err := netpoll.Listen("127.0.0.1:0", netpoll.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v.Serve(l)
	return v, l.Addr().String()
}

// fakeOptions are two shards on fake disks.
func fakeOptions() Options { return Options{Shards: 2, OpenDisk: openFake} }

func echoFrame(_ *Shard, c *netpoll.Conn, f netpoll.Frame) {
	head := c.Out().Append(4)
	binary.BigEndian.PutUint32(head, uint32(len(f.B)))
	c.Out().Borrow(f.B, f.Buf)
}

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func frameOf(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(r, b)
	return b, err
}

// onShard runs fn on a shard and waits for it.
func onShard(s *Shard, fn func(s *Shard)) {
	done := make(chan struct{})
	s.Post(&call{fn: func(s *Shard) { defer close(done); fn(s) }})
	<-done
}

type call struct{ fn func(s *Shard) }

func (c *call) Deliver(s *Shard) { c.fn(s) }
