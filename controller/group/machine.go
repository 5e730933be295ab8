package group

import (
	"github.com/pelton-broker/pelton/internal/invariant"
)

// Machine holds the groups of one partition.
type Machine struct {
	opt    Options
	now    Now
	phase  phase
	groups map[string]*group
	timers deadlines
	expire deadline
	// expiring are the groups that the round of expiry under way has still to look at.
	expiring []string
	// appends under way, by token, and what happens when they end.
	appends map[uint64]stored
	token   uint64
	fx      Effects
	// rebalances and commits count what was completed.
	rebalances, commits uint64
}

type phase uint8

const (
	phaseLoading phase = iota
	phaseActive
	phaseUnloaded
)

// stored is the second half of a step that had to wait for the log.
type stored interface {
	stored(m *Machine, base int64, err error)
}

// New returns a machine that is loading: it answers so until Loaded.
func New(o Options) *Machine {
	o.check()
	m := &Machine{opt: o, groups: map[string]*group{}, appends: map[uint64]stored{}}
	m.expire.kind = deadlineExpire
	return m
}

// Step tells the machine what happened at now and returns what is to be done. Deadlines that have passed are
// dealt with before the input, and those that the input set to now after it.
func (m *Machine) Step(now Now, in Input) Effects {
	m.now = now
	m.fx.Appends, m.fx.Replies = m.fx.Appends[:0], m.fx.Replies[:0]
	m.runDue()
	switch in := in.(type) {
	case *Tick:
	case *Appended:
		m.appended(in)
	case *Loaded:
		m.loaded(in)
	case *Unload:
		m.unload()
	case *TopicsDeleted:
		m.topicsDeleted(in)
	default:
		m.request(in)
	}
	m.runDue()
	m.fx.Deadline = m.timers.next()
	return m.fx
}

// Groups is the number of groups.
func (m *Machine) Groups() int { return len(m.groups) }

// Counts are sizes of a machine and what it has done since New.
type Counts struct {
	States              map[string]int // groups by the name of their state
	Members, Offsets    int
	Rebalances, Commits uint64
}

// Done is what the machine has done since New: rebalances that gave a generation, offsets stored.
func (m *Machine) Done() (rebalances, commits uint64) { return m.rebalances, m.commits }

// Counts walks over all groups.
func (m *Machine) Counts() Counts {
	c := Counts{States: map[string]int{}, Rebalances: m.rebalances, Commits: m.commits}
	for _, g := range m.groups {
		c.States[g.state.String()]++
		c.Members += len(g.members)
		c.Offsets += len(g.offsets)
	}
	return c
}

// Waiting is the number of appends that have not ended.
func (m *Machine) Waiting() int { return len(m.appends) }

func (m *Machine) request(in Input) {
	if reply, ok := m.refuse(in); ok {
		m.fx.Replies = append(m.fx.Replies, reply)
		return
	}
	switch in := in.(type) {
	case *Join:
		m.join(in)
	case *Sync:
		m.sync(in)
	case *Heartbeat:
		m.reply(in.To, &Beat{Err: m.heartbeat(in)})
	case *Leave:
		m.leave(in)
	case *Commit:
		m.commit(in)
	case *Fetch:
		m.fetch(in)
	case *Describe:
		m.reply(in.To, m.describe(in.Group))
	case *List:
		m.reply(in.To, m.list(in.States, nil))
	case *Delete:
		m.deleteGroup(in)
	case *DeleteOffsets:
		m.deleteOffsets(in)
	default:
		invariant.Broken("group: unknown input", in)
	}
}

func (m *Machine) reply(to Ref, a Answer) {
	m.fx.Replies = append(m.fx.Replies, Reply{To: to, Answer: a})
}

// store asks for records to be appended; then runs when that has ended.
func (m *Machine) store(records []Record, then stored) {
	m.token++
	m.appends[m.token] = then
	m.fx.Appends = append(m.fx.Appends, Append{Token: m.token, TimestampMs: m.now.WallMs, Records: records})
}

func (m *Machine) appended(in *Appended) {
	then, ok := m.appends[in.Token]
	if !ok {
		invariant.Broken("group: an append ended twice", in.Token)
	}
	delete(m.appends, in.Token)
	then.stored(m, in.Base, in.Err)
}

func (m *Machine) runDue() {
	for t := m.timers.due(m.now.MonoMs); t != nil; t = m.timers.due(m.now.MonoMs) {
		switch t.kind {
		case deadlineSession:
			m.sessionEnded(t.group, t.member)
		case deadlinePending:
			delete(t.group.pending, t.id)
			m.tryCompleteJoin(t.group)
		case deadlineJoin:
			m.joinTimeUp(t.group)
		case deadlineSync:
			m.syncTimeUp(t.group)
		case deadlineExpire:
			m.expireOffsets()
		}
	}
}

// beat starts mb's session anew.
func (m *Machine) beat(mb *member) {
	m.timers.arm(&mb.session, m.now.MonoMs+int64(mb.sessionMs))
}

// drop removes mb and its timer.
func (m *Machine) drop(g *group, mb *member) {
	m.timers.disarm(&mb.session)
	g.remove(mb)
}

// bury takes g out of the machine. Its waiting members have been answered.
func (m *Machine) bury(g *group) {
	for _, mb := range g.members {
		m.timers.disarm(&mb.session)
	}
	for _, t := range g.pending {
		m.timers.disarm(t)
	}
	m.timers.disarm(&g.join)
	m.timers.disarm(&g.sync)
	g.moveTo(stateDead, m.now.WallMs)
	delete(m.groups, g.id)
}

func (m *Machine) unload() {
	if m.phase == phaseUnloaded {
		return
	}
	m.phase = phaseUnloaded
	for _, id := range sortedKeys(m.groups) {
		g := m.groups[id]
		for _, mb := range g.members {
			m.answerJoin(g, mb, &Joined{Err: ErrNotCoordinator, MemberID: mb.id, Generation: -1})
			m.answerSync(mb, &Synced{Err: ErrNotCoordinator})
		}
		m.bury(g)
	}
	m.timers.disarm(&m.expire)
}
