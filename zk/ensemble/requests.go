package ensemble

import (
	"encoding/binary"
	"maps"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// Request is what a client of this member wants to be ordered.
type Request struct {
	Session   int64
	Xid       int32
	Op        int32  // a write, OpCreateSession or OpCloseSession
	Body      []byte // of a write; kept by the Core
	TimeoutMs int32  // of a session
	IDs       []jute.ID
}

// opResume asks whether a session may go on at this member; it takes no place in the order.
const opResume int32 = -100

// requests are those of this member's clients that wait, and, on the leader, what is known of each member's.
type requests struct {
	// gen names the time between two losses; n numbers the requests in it, without gaps.
	gen   int64
	n     int64
	inbox []Request // numbers n-len+1 … n, not yet ordered or sent
	// done is the highest number answered: those between it and n wait.
	done int64
	// sinceTick is when done rose last, or the first request after it was sent.
	sinceTick int64
	flows     map[uint64]*flow
}

// flow is what a leader knows of the requests of one member.
type flow struct{ gen, n int64 }

// Submit queues a write and returns its number. The answer is Sink.Applied, or Sink.Lost.
func (c *Core) Submit(r Request) int64 {
	q := &c.requests
	if q.done == q.n {
		q.sinceTick = c.ticks
	}
	q.n++
	q.inbox = append(q.inbox, r)
	return q.n
}

// Resume asks the leader whether a session is open and moves it here. The answer is Sink.Resumed, or Sink.Lost.
func (c *Core) Resume(session int64, timeoutMs int32) int64 {
	return c.Submit(Request{Session: session, Op: opResume, TimeoutMs: timeoutMs})
}

func (c *Core) answered(n int64) {
	c.requests.done = max(c.requests.done, n)
	c.requests.sinceTick = c.ticks
}

// lost gives up what is outstanding.
func (c *Core) lost() {
	q := &c.requests
	q.gen++
	q.n, q.done, q.inbox = 0, 0, nil
	c.reads.waiting, c.reads.asked = nil, false
	c.sink.Lost()
}

// giveUp ends the wait for a leader that does not carry out what it was sent.
func (c *Core) giveUp() {
	q := &c.requests
	if q.done < q.n && (c.ticks-q.sinceTick)*c.o.TickMs > c.o.SyncLimitMs {
		c.log.Warn("zk ensemble: the leader carries out no requests", "leader", c.lead, "waiting", q.n-q.done)
		c.lost()
	}
}

// LinkDown says that what was sent to a member may be lost, or what it sent.
func (c *Core) LinkDown(peer uint64) {
	c.raft.ReportUnreachable(peer)
	if peer == c.lead && !c.leading {
		c.forgetLeader()
	}
	c.endOutflow(peer, false)
}

// forgetLeader is for a leader whose connection broke: it is most likely dead, and nobody needs to wait for the election time to
// find out. The members try in turn, so that they do not split the votes; one that lives is heard of again before that.
func (c *Core) forgetLeader() {
	turn := int64(1)
	for _, id := range c.conf.GetVoters() {
		if id < c.o.ID && id != c.lead {
			turn += 2
		}
	}
	if err := c.raft.ForgetLeader(); err != nil {
		c.log.Debug("zk raft", "err", err)
	}
	c.campaignAt = c.ticks + turn
	c.observe()
}

// campaign asks for votes when it is this member's turn.
func (c *Core) campaign() {
	if c.campaignAt == 0 || c.ticks < c.campaignAt {
		return
	}
	c.campaignAt = 0
	if c.lead == 0 && !c.isLearner(c.o.ID) {
		if err := c.raft.Campaign(); err != nil {
			c.log.Debug("zk raft", "err", err)
		}
	}
}

// Resign hands the lead to the follower that knows most, so that a server that is stopped leaves no gap. False when there is none.
func (c *Core) Resign() bool {
	best, match := uint64(0), uint64(0)
	c.raft.WithProgress(func(id uint64, kind raft.ProgressType, pr tracker.Progress) {
		if id != c.o.ID && kind == raft.ProgressTypePeer && pr.RecentActive && pr.Match > match {
			best, match = id, pr.Match
		}
	})
	if !c.leading || best == 0 {
		return false
	}
	c.ready = false // nothing is ordered any more
	c.raft.TransferLeader(best)
	return true
}

// Leading is true while raft takes this member for the leader.
func (c *Core) Leading() bool { return c.leading }

// pump orders or sends on what clients asked for.
func (c *Core) pump() {
	q := &c.requests
	if len(q.inbox) > 0 {
		inbox := q.inbox
		first := q.n - int64(len(inbox)) + 1
		switch {
		case c.ready:
			q.inbox = nil
			for i := range inbox {
				c.order(c.o.ID, q.gen, first+int64(i), &inbox[i])
			}
		case c.serving:
			q.inbox = nil
			for i := range inbox {
				c.send(c.lead, appendForward(nil, q.gen, first+int64(i), &inbox[i]))
			}
		default:
			c.lost()
		}
	}
	c.propose()
	c.askReads()
}

// propose hands everything that was ordered to raft at once.
func (c *Core) propose() {
	if len(c.batch) == 0 {
		return
	}
	m := &pb.Message{Type: pb.MsgProp.Enum(), From: &c.o.ID, Entries: c.batch}
	c.batch = nil
	if err := c.raft.Step(m); err != nil {
		// What was checked against these transactions is void: the member begins anew as a leader would.
		c.log.Warn("zk ensemble: requests given up", "err", err)
		c.stepDown()
	}
}

// onForward takes a request of another member's client.
func (c *Core) onForward(from uint64, r *jute.Reader) {
	gen, n := r.Long(), r.Long()
	req := readRequest(r)
	if r.Err() != nil {
		return
	}
	f := c.requests.flows[from]
	if f == nil {
		f = &flow{}
		c.requests.flows[from] = f
	}
	if gen > f.gen {
		*f = flow{gen: gen}
	}
	if !c.ready || gen < f.gen || n != f.n+1 {
		c.send(from, jute.AppendLong(jute.AppendLong([]byte{kindNack}, gen), f.gen))
		return
	}
	f.n = n
	c.order(from, gen, n, &req)
}

func (c *Core) onNack(from uint64, r *jute.Reader) {
	gen, known := r.Long(), r.Long()
	if r.Err() == nil && from == c.lead && gen == c.requests.gen {
		// A clock that was set back makes this life's generations look older than those of the last one.
		c.requests.gen = max(gen, known)
		c.lost()
	}
}

// order gives a request its place: it is checked against everything before it and becomes a transaction.
func (c *Core) order(from uint64, gen, n int64, req *Request) {
	switch req.Op {
	case opResume:
		c.resumeAtLeader(from, gen, n, req)
		return
	case jute.OpReconfig:
		c.orderReconfig(from, gen, n, req)
		return
	}
	x := c.newTxn(req.Session, req.Xid)
	switch {
	case req.Op == jute.OpCreateSession:
		c.Sessions.Add(req.Session, req.TimeoutMs, c.nowMs)
		c.unborn[req.Session] = struct{}{}
		c.owners[req.Session] = from
		c.prep.CreateSession(x, req.TimeoutMs)
	case !c.owns(from, req.Session):
		tree.Refuse(x, jute.SessionMoved)
	case req.Op == jute.OpCloseSession:
		if s := c.Sessions.Get(req.Session); s != nil {
			c.Sessions.Close(s)
		}
		c.prep.CloseSession(x)
	default:
		r := jute.NewReader(req.Body)
		who := tree.Caller{Session: req.Session, IDs: req.IDs, Gone: c.gone(req.Session)}
		if err := c.prep.Request(req.Op, &r, &who, x); err != nil {
			// The member that sent it has parsed it already: it takes its place all the same, or its client would wait.
			tree.Refuse(x, jute.MarshallingError)
		}
	}
	c.place(from, gen, n, x)
}

func (c *Core) gone(session int64) bool {
	s := c.Sessions.Get(session)
	return s == nil || s.Closing
}

// newTxn begins the transaction with the next zxid.
func (c *Core) newTxn(session int64, xid int32) *tree.Txn {
	c.counter++
	return &tree.Txn{Session: session, Cxid: xid, Zxid: int64(c.epoch())<<32 | c.counter, TimeMs: c.wallMs}
}

// lastCounter is where an epoch ends, since its zxids do. A margin is left for what is under way.
const lastCounter = 0xFFFF0000

func (c *Core) place(from uint64, gen, n int64, x *tree.Txn) {
	data := appendOrdered(nil, from, gen, n, x)
	c.Proposals.add(int64(len(data) - orderedHead))
	c.batch = append(c.batch, &pb.Entry{Data: data})
	if c.counter > lastCounter {
		c.propose()
		c.stepDown()
	}
}

// stepDown ends a lead that cannot go on; an election follows.
func (c *Core) stepDown() {
	term := c.term + 1
	from := c.o.ID
	c.batch = nil
	c.step(&pb.Message{Type: pb.MsgHeartbeatResp.Enum(), From: &from, To: &from, Term: &term})
	c.observe()
}

// An entry holds who asked (member, generation, number) and the transaction as ZooKeeper's log does.
func appendOrdered(dst []byte, from uint64, gen, n int64, x *tree.Txn) []byte {
	dst = binary.BigEndian.AppendUint64(dst, from)
	dst = jute.AppendLong(jute.AppendLong(dst, gen), n)
	return x.AppendTo(dst)
}

func appendForward(dst []byte, gen, n int64, q *Request) []byte {
	dst = append(dst, kindForward)
	dst = jute.AppendLong(jute.AppendLong(dst, gen), n)
	dst = jute.AppendInt(jute.AppendLong(dst, q.Session), q.Xid)
	dst = jute.AppendInt(jute.AppendInt(dst, q.Op), q.TimeoutMs)
	dst = jute.AppendInt(dst, int32(len(q.IDs)))
	for _, id := range q.IDs {
		dst = jute.AppendText(jute.AppendText(dst, id.Scheme), id.ID)
	}
	return append(dst, q.Body...)
}

func readRequest(r *jute.Reader) Request {
	q := Request{Session: r.Long(), Xid: r.Int(), Op: r.Int(), TimeoutMs: r.Int()}
	for range r.Count(8) {
		q.IDs = append(q.IDs, jute.ID{Scheme: r.String(), ID: r.String()})
	}
	q.Body = r.Rest()
	return q
}

// sweepContainers deletes containers that had children and are empty, and TTL nodes whose time is over.
func (c *Core) sweepContainers() {
	for _, path := range c.Tree.Expired(c.wallMs) {
		x := c.newTxn(0, 0)
		r := jute.NewReader(jute.AppendText(nil, path))
		if err := c.prep.Request(jute.OpDeleteContainer, &r, &tree.Caller{}, x); err != nil {
			tree.Refuse(x, jute.MarshallingError)
		}
		c.place(0, 0, 0, x)
	}
}

func (c *Core) sortedTouched() []int64 { return slices.Sorted(maps.Keys(c.touched)) }
