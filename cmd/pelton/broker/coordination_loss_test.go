package broker_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/zk/jute"
)

// zkFrame is one frame of ZooKeeper's wire.
func zkFrame(body []byte) []byte { return append(jute.AppendInt(nil, int32(len(body))), body...) }

// endSession takes the session of a broker over, puts a node that stays into the place of its registration, and closes the session: all in
// one write, or the broker would take it back in between.
func endSession(t *testing.T, addr string, session int64, password []byte, registration string, data []byte) {
	t.Helper()
	b := jute.AppendInt(jute.AppendLong(jute.AppendInt(nil, 0), 0), 10_000)
	out := zkFrame(jute.AppendBool(jute.AppendBuffer(jute.AppendLong(b, session), password), false))

	b = jute.AppendInt(jute.AppendInt(nil, 1), jute.OpMulti)
	b = jute.AppendMultiHeader(b, jute.OpDelete, false, -1)
	b = jute.AppendInt(jute.AppendText(b, registration), -1)
	b = jute.AppendMultiHeader(b, jute.OpCreate, false, -1)
	b = jute.AppendBuffer(jute.AppendText(b, registration), data)
	b = jute.AppendInt(jute.AppendACL(b, []jute.ACL{{Perms: jute.PermAll, ID: jute.ID{Scheme: "world", ID: "anyone"}}}), jute.FlagPersistent)
	out = append(out, zkFrame(jute.AppendMultiHeader(b, -1, true, -1))...)
	out = append(out, zkFrame(jute.AppendInt(jute.AppendInt(nil, 2), jute.OpCloseSession))...)

	c, err := net.DialTimeout("tcp", addr, answerWithin)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(out); err != nil {
		t.Fatal(err)
	}
	// The broker comes back for its session at once, and that closes this connection: what was done the registration tells.
	_, _ = io.Copy(io.Discard, c)
}

// F22: a broker whose session has ended leads nothing until it is registered again, and then in a new epoch. Nothing that was acknowledged is lost.
func TestSessionOfTheBrokerEnds(t *testing.T) {
	if raceDetector {
		t.Skip("go-zookeeper 1.0.4 races with itself when it connects again while requests wait (lastZxid, in sendSetWatches and recvLoop); make release-test runs this")
	}
	n := own(t)
	c := n.dial(t)
	makeTopic(t, c, "kept", 2)
	for i := range 20 {
		mustProduce(c, "kept", values(fmt.Sprint(i)))
	}
	z, root := n.coordinator(t)
	for round := range 3 {
		path := root + "/brokers/ids/0"
		data, stat, err := z.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		servers, _ := n.coordinatedBy()
		// The broker may have its session back before its end is read from the connection: then again, until what else was the session's is gone.
		for try := 0; try == 0 || has(t, z, root+"/controller", stat.EphemeralOwner); try++ {
			endSession(t, servers[(round+try)%len(servers)], stat.EphemeralOwner, n.password(t, outside.coordination, stat.EphemeralOwner), path, data)
		}
		// The registration is taken, so the broker waits, and until then it leads nothing.
		eventually(t, "the broker leads nothing", func() bool { return describe(c, "kept").Topics[0].Partitions[0].Leader == -1 })
		for p, part := range describe(c, "kept").Topics[0].Partitions {
			want(t, "leader", part.Leader, -1)
			want(t, "error of a partition without leader", part.ErrorCode, 5)
			want(t, "produce", produceTo(c, "kept", int32(p), values("refused")).ErrorCode, 6)
			want(t, "list offsets", listOffset(c, listVersion, "kept", int32(p), -1).ErrorCode, 6)
		}
		if err := z.Delete(path, -1); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it leads again", func() bool { return led(c, "kept") })
		again := registered(t, z, path)
		if again.EphemeralOwner == 0 || again.EphemeralOwner == stat.EphemeralOwner || again.Czxid <= stat.Czxid {
			t.Fatalf("registered as %+v, before as %+v", again, stat)
		}
		want(t, "the next offset", mustProduce(c, "kept", values(fmt.Sprint(20+round))), int64(20+round))
		makeTopic(t, c, fmt.Sprint("new-", round), 1)
	}
	for i, r := range readAll(c, "kept", 0, 0) {
		want(t, "value", r.value, fmt.Sprint(i))
	}
}

// has tells whether a node is there and is the session's.
func has(t *testing.T, z *zk.Conn, path string, session int64) bool {
	t.Helper()
	_, stat, err := z.Get(path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	return err == nil && stat.EphemeralOwner == session
}

func registered(t *testing.T, z *zk.Conn, path string) *zk.Stat {
	t.Helper()
	_, stat, err := z.Get(path)
	if err != nil {
		t.Fatal(err)
	}
	return stat
}

// apart is a broker in a process of its own on a coordination of its own, so that both can be harmed.
func apart(t *testing.T) (*process, *coordination) {
	t.Helper()
	if kindOfCoordination() == "embedded" {
		return spawn(t, "zookeeper.session.timeout.ms=4000"), nil
	}
	c, err := startCoordination(kindOfCoordination())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return spawn(t, "zookeeper.session.timeout.ms=4000", "zookeeper.connect="+c.connect("/kafka")), c
}

// steady produces to a topic for as long as it is not ended, through whatever happens.
type steady struct {
	history
	wait     sync.WaitGroup
	stop     chan struct{}
	progress chan struct{}
}

func (s *steady) begin(t *testing.T, addr func() string, name string) {
	s.known, s.stop, s.progress = map[int64]string{}, make(chan struct{}), make(chan struct{})
	for i, acks := range []int16{1, -1} {
		s.wait.Add(1)
		go func() {
			defer s.wait.Done()
			for attempt := 0; !s.ended(); attempt++ {
				n := &node{addr: addr()}
				c, err := n.connect(t)
				if err != nil {
					continue // refused at once, until the broker is back
				}
				prefix := fmt.Sprintf("w%d-%d", i, attempt)
				for k := 0; !s.ended() && s.once(c, name, fmt.Sprintf("%s-%d", prefix, k), acks); k++ {
				}
				c.close()
			}
		}()
	}
}

func (s *steady) ended() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// once produces one record, and is false when it was not acknowledged: it may be there all the same.
func (s *steady) once(c *conn, name, value string, acks int16) bool {
	resp, err := tryAsk[*kmsg.ProduceResponse](c, produceVersion, produceRequest(name, 0, acks, values(value)))
	if err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		return false
	}
	s.mu.Lock()
	s.known[resp.Topics[0].Partitions[0].BaseOffset] = value
	s.acked++
	s.mu.Unlock()
	select {
	case s.progress <- struct{}{}:
	default:
	}
	return true
}

// moves returns after some more records were acknowledged.
func (s *steady) moves(t *testing.T, what string) {
	t.Helper()
	limit := time.NewTimer(2 * answerWithin)
	defer limit.Stop()
	for range 20 {
		select {
		case <-s.progress:
		case <-limit.C:
			t.Fatal("nothing is acknowledged:", what)
		}
	}
}

// makeTopicAgain makes a topic on a broker that may be about to notice that its session is over and it no controller.
func makeTopicAgain(t *testing.T, c *conn, name string) {
	t.Helper()
	eventually(t, "topic "+name+" is made", func() bool {
		code := ask[*kmsg.CreateTopicsResponse](c, 5, creation(name, 1)).Topics[0].ErrorCode
		return code == 0 || code == 36
	})
	eventually(t, "every partition has a leader that takes writes", func() bool { return led(c, name) })
}

func (s *steady) end() { close(s.stop); s.wait.Wait() }

// Losing coordination, by a crash or by a pause that is longer than the session, and getting it back loses no record that was acknowledged.
func TestCoordinationLostAndBack(t *testing.T) {
	p, apartFrom := apart(t)
	c := p.dial(t)
	makeTopic(t, c, "kept", 1)
	var at struct {
		sync.Mutex
		addr string
	}
	at.addr = p.addr
	s := &steady{}
	s.begin(t, func() string { at.Lock(); defer at.Unlock(); return at.addr }, "kept")
	s.moves(t, "at the beginning")
	kill := func(servers ...int) {
		t.Helper()
		if apartFrom == nil { // the coordination is in the broker
			p.kill()
			p.start(t)
			at.Lock()
			at.addr = p.addr
			at.Unlock()
			c = p.dial(t)
			return
		}
		for _, i := range servers {
			apartFrom.kill(i)
		}
		s.moves(t, "without coordination the broker goes on")
		if err := apartFrom.startAll(); err != nil {
			t.Fatal(err)
		}
	}
	every := []int{0}
	if apartFrom != nil && len(apartFrom.servers) > 1 {
		every = nil
		for i := range apartFrom.servers {
			kill(i)
			every = append(every, i)
		}
	}
	rounds := 2
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		kill(every...)
		eventually(t, "the partition has its leader", func() bool { return led(c, "kept") })
		s.moves(t, "after a crash")
		makeTopicAgain(t, c, fmt.Sprint("crash-", round))

		pause := func(sig syscall.Signal) {
			if apartFrom == nil {
				_ = p.cmd.Process.Signal(sig)
			} else {
				apartFrom.signal(sig)
			}
		}
		pause(syscall.SIGSTOP)
		<-time.After(5 * time.Second) // the pause itself: longer than the session's 4 s
		pause(syscall.SIGCONT)
		eventually(t, "the partition has its leader", func() bool { return led(c, "kept") })
		s.moves(t, "after a pause")
		makeTopicAgain(t, c, fmt.Sprint("pause-", round))
	}
	s.end()
	s.check(t, c, "kept", false)
	if s.acked < 100 {
		t.Errorf("only %d records were acknowledged", s.acked)
	}
}
