package ensemble

import (
	"log/slog"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/zk/session"
	"github.com/pelton-broker/pelton/zk/tree"
)

// Sink is told what becomes of requests and of the state, in the order in which it happens. Its methods must not call the Core
// but for Submit, Resume, Sync and Touch, which only queue.
type Sink interface {
	// Applied follows each transaction; n is what Submit gave for it, 0 when it was asked elsewhere or nobody waits for it any more.
	Applied(x *tree.Txn, res *tree.Result, n int64)
	// Resumed answers Resume.
	Resumed(n int64, ok bool)
	// Synced answers Sync.
	Synced(id int64)
	// Lost says that nothing outstanding will be answered: whether it happens is unknown.
	Lost()
	// Serving says whether clients may be served: the member follows a leader and has caught up with it, or leads.
	Serving(on bool)
	// Moved says that a session went on at another member.
	Moved(session int64)
	// Replaced says that Tree and Sessions are other ones now: a snapshot came from the leader.
	Replaced()
	// Secret says what session passwords are made with, where the members agree on it: Options.Secret.
	Secret(secret []byte)
}

// Options describe one member. Times are in milliseconds.
type Options struct {
	ID    uint64
	Nonce int64 // larger at every start of this member, so that requests of an earlier life are told apart

	NowMs, WallMs  int64 // at the start, NowMs monotonic
	TickMs         int64 // of raft
	ElectionTicks  int
	HeartbeatTicks int
	SessionTickMs  int64
	SyncLimitMs    int64 // how long a member may lag behind before its clients are sent away

	Tree     *tree.Tree
	Sessions map[int64]int32
	State    State
	// Secret is what this member proposes for session passwords; nil where the host has the ensemble's key to make them with.
	Secret []byte

	Servers         []Server // of the configuration file
	ReconfigEnabled bool
	StandaloneOff   bool // standaloneEnabled=false: the last but one voter may be taken out
	SkipACL         bool
	KeepEntries     int // how many applied entries are kept for members that lag
	PieceBytes      int // of a state that is sent to another member
	Log             *slog.Logger
	Sink            Sink
}

// State is what the raft log held at the start.
type State struct {
	Base    Base
	Hard    *pb.HardState
	Entries []*pb.Entry // from Base.Index+1 on
}

// Base is where a raft log begins: everything up to Index has been applied to the tree, whose last transaction was Zxid.
type Base struct {
	Index, Term uint64
	Zxid        int64
	Conf        *pb.ConfState
	Secret      []byte // what was agreed on by then; nil before, and in an ensemble with a shared key
}

// Packet is a message to another member.
type Packet struct {
	To   uint64
	Body []byte
}

// Core is one member of an ensemble as a pure machine.
type Core struct {
	o     Options
	raft  *raft.RawNode
	store *store
	sink  Sink
	log   *slog.Logger

	// Tree and Sessions are replaced as a whole when a snapshot comes from the leader.
	Tree     *tree.Tree
	Sessions *session.Tracker
	prep     *tree.Prep // of the leader
	conf     *pb.ConfState
	book     map[uint64]Server // who is reached where

	nowMs, wallMs, tickAtMs int64
	ticks                   int64

	// term, lead and leading are raft's, as last looked at.
	term    uint64
	lead    uint64
	leading bool
	// ready: the leader has applied everything of earlier terms, and gives places in the order.
	ready   bool
	readyMs int64 // since when
	serving bool
	applied uint64
	removed bool
	// campaignAt is the tick at which this member asks for votes, after the leader's connection broke; 0 when it did not.
	campaignAt int64

	out      []Packet
	persists []*Persist
	result   tree.Result
	batch    []*pb.Entry

	requests    requests
	reads       reads
	owners      map[int64]uint64 // leader: which member each session is on
	touched     map[int64]struct{}
	touchAtMs   int64
	counter     int64 // leader: of the last zxid in this epoch
	sweepAtMs   int64
	outflows    map[uint64]*outflow
	inflow      *inflow
	inflows     int64
	pieces      []Piece
	bookChanged bool
	installed   map[uint64]*inflow // snapshots handed to raft, by index
	lags        map[uint64]*lag
	unborn      map[int64]struct{} // leader: sessions ordered and not yet applied
	unstable    uint64             // last index handed to the disk
	streams     int64
	snapZxid    int64 // of the tree when raft was last given a snapshot
	// Proposals are the sizes of what this member has ordered as a leader.
	Proposals Sizes
	secret    []byte // agreed on; never changes again
	reconfig  uint64 // leader: index up to which a change of members is under way, 0 when none
}

const containerEveryMs = 60_000

// NewCore builds the machine from what was on disk.
func NewCore(o Options) (*Core, error) {
	nowMs, wallMs := o.NowMs, o.WallMs
	if o.PieceBytes == 0 {
		o.PieceBytes = pieceBytes
	}
	c := &Core{o: o, sink: o.Sink, log: o.Log, Tree: o.Tree, conf: o.State.Base.Conf, nowMs: nowMs, wallMs: wallMs, tickAtMs: nowMs + o.TickMs,
		owners: map[int64]uint64{}, touched: map[int64]struct{}{}, outflows: map[uint64]*outflow{}, installed: map[uint64]*inflow{}, unborn: map[int64]struct{}{}, lags: map[uint64]*lag{}}
	c.Proposals = Sizes{Last: -1, Min: -1, Max: -1}
	c.Sessions = session.NewTracker(o.SessionTickMs, nowMs)
	for id, timeout := range o.Sessions {
		c.Sessions.Add(id, timeout, nowMs)
	}
	c.requests.gen, c.reads.ctx = o.Nonce, uint64(o.Nonce)
	c.store = newStore(c, o.State)
	c.applied = o.State.Base.Index
	c.unstable = c.lastIndex()
	c.secret = o.State.Base.Secret
	c.seedConfig()
	c.readBook()
	var err error
	c.raft, err = raft.NewRawNode(&raft.Config{
		ID: o.ID, ElectionTick: o.ElectionTicks, HeartbeatTick: o.HeartbeatTicks, Storage: c.store, Applied: c.applied,
		AsyncStorageWrites: true, MaxSizePerMsg: maxAppendBytes, MaxCommittedSizePerReady: maxAppendBytes, MaxInflightMsgs: 256,
		MaxUncommittedEntriesSize: maxUncommitted, CheckQuorum: true, PreVote: true, ReadOnlyOption: raft.ReadOnlySafe,
		DisableProposalForwarding: true, StepDownOnRemoval: true, Logger: raftLogger{o.Log},
	})
	if err != nil {
		return nil, err
	}
	c.observe()
	return c, nil
}

const (
	maxAppendBytes = 1 << 20
	// maxUncommitted bounds the memory of a leader that has lost its majority: requests are given up beyond it.
	maxUncommitted = 256 << 20
)

// Turn lets time pass and carries out everything that is due. After it the host takes Packets and Persists.
func (c *Core) Turn(nowMs, wallMs int64) {
	c.nowMs, c.wallMs = nowMs, wallMs
	c.drain()
	if nowMs >= c.tickAtMs {
		// After a pause only one tick is made up for: a member that was stopped must hear the others first.
		c.tickAtMs = max(c.tickAtMs+c.o.TickMs, nowMs)
		c.ticks++
		c.raft.Tick()
		c.timers()
	}
	c.drain()
}

// NextMs is when Turn is due again although nothing came.
func (c *Core) NextMs() int64 { return c.tickAtMs }

// Packets takes what is to be sent.
func (c *Core) Packets() []Packet {
	out := c.out
	c.out = nil
	return out
}

func (c *Core) drain() {
	for {
		c.pump()
		if !c.raft.HasReady() {
			return
		}
		rd := c.raft.Ready()
		if rd.SoftState != nil || rd.HardState != nil {
			c.observe()
		}
		for _, rs := range rd.ReadStates {
			c.readState(rs)
		}
		for _, m := range rd.Messages {
			switch m.GetTo() {
			case raft.LocalAppendThread:
				c.persist(m)
			case raft.LocalApplyThread:
				c.applyEntries(m.GetEntries())
				for _, r := range m.GetResponses() {
					c.step(r)
				}
			default:
				c.sendRaft(m)
			}
		}
	}
}

// step feeds raft. What it refuses is a message that came too late, or from somebody who is no member any more.
func (c *Core) step(m *pb.Message) {
	if err := c.raft.Step(m); err != nil {
		c.log.Debug("zk raft takes no message", "type", m.GetType().String(), "from", m.GetFrom(), "err", err)
	}
}

// observe follows raft's idea of who leads. Every change ends what was outstanding.
func (c *Core) observe() {
	st := c.raft.BasicStatus()
	leading := st.RaftState == raft.StateLeader
	if st.HardState.GetTerm() == c.term && st.Lead == c.lead && leading == c.leading {
		return
	}
	was := c.lead
	c.term, c.lead, c.leading = st.HardState.GetTerm(), st.Lead, leading
	c.ready = false
	c.prep = nil
	c.requests.flows = map[uint64]*flow{}
	c.owners = map[int64]uint64{}
	c.lags = map[uint64]*lag{}
	c.reconfig = 0
	c.batch = nil
	c.endOutflows()
	for id := range c.unborn {
		c.Sessions.Remove(id)
	}
	clear(c.unborn)
	c.Sessions.Reopen(c.nowMs)
	if was != c.lead {
		c.log.Info("zk ensemble leader", "leader", int64(c.lead)-1, "epoch", int64(c.term)-1, "me", int64(c.o.ID)-1)
	}
	c.lost()
	c.setServing(false)
	c.join()
}

// takeLead begins to give places in the order: everything of earlier terms has been applied.
func (c *Core) takeLead() {
	c.ready, c.readyMs = true, c.nowMs
	c.counter = 0
	c.prep = tree.NewPrep(c.Tree)
	c.Sessions.Reopen(c.nowMs)
	c.sweepAtMs = c.nowMs + containerEveryMs
	if int64(c.epoch()) < c.Tree.Zxid>>32 {
		invariant.Broken("zk/ensemble: epoch behind the tree", c.epoch(), c.Tree.Zxid)
	}
	c.agreeOnSecret()
	c.setServing(true)
}

// epoch is ZooKeeper's word for a leader's time: the upper half of its zxids. Raft's terms begin one higher.
func (c *Core) epoch() uint64 { return c.term - 1 }

func (c *Core) setServing(on bool) {
	if c.serving != on {
		c.serving = on
		c.sink.Serving(on)
	}
}

// Role of a member, in ZooKeeper's words.
func (c *Core) Role() string {
	switch {
	case c.leading && c.serving:
		return "leader"
	case !c.serving:
		return ""
	case c.book[c.o.ID].Observer:
		return "observer"
	}
	return "follower"
}

// Leader is the id of the leader, 0 when there is none.
func (c *Core) Leader() uint64 { return c.lead }

// IsServing is what Sink.Serving was told last.
func (c *Core) IsServing() bool { return c.serving }

func (c *Core) timers() {
	c.retryReads()
	c.giveUp()
	c.campaign()
	c.inflowTimers()
	if c.nowMs >= c.touchAtMs {
		c.touchAtMs = c.nowMs + c.o.SessionTickMs/2
		c.flushTouches()
	}
	if !c.ready {
		return
	}
	c.expire()
	c.lagTimers()
	c.dismiss()
	c.outflowTimers()
	if c.nowMs >= c.sweepAtMs {
		c.sweepAtMs = c.nowMs + containerEveryMs
		c.sweepContainers()
	}
}
