package group

import (
	"github.com/pelton-broker/pelton/internal/invariant"
)

// state is where a group stands.
type state uint8

const (
	// stateEmpty: no members; lives while it has offsets. Groups that only commit are always here.
	stateEmpty state = iota
	// statePreparing: members are asked to join again.
	statePreparing
	// stateCompleting: all have joined, the leader's assignment is awaited or being stored.
	stateCompleting
	// stateStable: the assignment is stored.
	stateStable
	// stateDead: removed from the machine; only steps already under way still see it.
	stateDead
)

// String is Kafka's name of the state.
func (s state) String() string {
	switch s {
	case stateEmpty:
		return "Empty"
	case statePreparing:
		return "PreparingRebalance"
	case stateCompleting:
		return "CompletingRebalance"
	case stateStable:
		return "Stable"
	default:
		return "Dead"
	}
}

const consumerType = "consumer"

// group is one group's whole state.
type group struct {
	id    string
	state state
	// stateMs is the wall time of the last change of state, which starts an empty group's retention; -1 when a
	// record of an old version did not tell.
	stateMs      int64
	generation   int32
	protocolType *string
	protocol     *string
	leader       string // empty for none

	members  []*member // in the order they came
	byID     map[string]*member
	static   map[string]string    // instance id → member id
	pending  map[string]*deadline // ids handed out by ErrMemberIDRequired and not yet used
	unsynced map[string]struct{}  // members that have joined this generation and not synced
	joining  int                  // members with awaitsJoin
	support  map[string]int       // protocol → members that offer it

	// newMember: somebody came during the initial delay, which is then prolonged.
	newMember bool
	// initial is the state of the initial delay while it runs.
	initial struct {
		running             bool
		delayMs, remainedMs int64
	}
	join deadline
	sync deadline

	// subscribed are the topics of all members; nil when the group cannot tell.
	subscribed map[string]struct{}

	offsets map[TopicPartition]*kept
	// storing are the commits under way for a partition; such an offset does not expire.
	storing map[TopicPartition][]*committing
}

// kept is a committed offset with the place of its record: a later record always wins.
type kept struct {
	Offset
	base int64
}

func newGroup(id string, wallMs int64) *group {
	g := &group{
		id: id, stateMs: wallMs,
		byID: map[string]*member{}, static: map[string]string{}, pending: map[string]*deadline{},
		unsynced: map[string]struct{}{}, support: map[string]int{},
		offsets: map[TopicPartition]*kept{}, storing: map[TopicPartition][]*committing{},
	}
	g.join = deadline{kind: deadlineJoin, group: g}
	g.sync = deadline{kind: deadlineSync, group: g}
	return g
}

func (g *group) moveTo(s state, wallMs int64) {
	ok := false
	switch s {
	case stateEmpty:
		ok = g.state == statePreparing
	case statePreparing:
		ok = g.state != stateDead && g.state != statePreparing
	case stateCompleting:
		ok = g.state == statePreparing
	case stateStable:
		ok = g.state == stateCompleting
	case stateDead:
		ok = true
	}
	if !ok {
		invariant.Broken("group: impossible change of state", g.id, g.state, s)
	}
	g.state, g.stateMs = s, wallMs
}

func (g *group) canRebalance() bool {
	return g.state == stateEmpty || g.state == stateStable || g.state == stateCompleting
}

func (g *group) add(m *member, to Ref) {
	if g.byID[m.id] != nil {
		invariant.Broken("group: member added twice", g.id, m.id)
	}
	if m.instance != nil {
		if _, ok := g.static[*m.instance]; ok {
			invariant.Broken("group: instance added twice", g.id, *m.instance)
		}
		g.static[*m.instance] = m.id
	}
	if g.leader == "" {
		g.leader = m.id
	}
	g.members = append(g.members, m)
	g.byID[m.id] = m
	g.count(m, 1)
	m.session = deadline{kind: deadlineSession, group: g, member: m}
	g.setJoin(m, to)
}

// remove takes m out and finds another leader where m was it. Whoever awaits an answer must have had it.
func (g *group) remove(m *member) {
	if m.awaitsSync != nil {
		invariant.Broken("group: a removed member still awaits its sync", g.id, m.id)
	}
	for i, x := range g.members {
		if x == m {
			g.members = append(g.members[:i], g.members[i+1:]...)
			break
		}
	}
	delete(g.byID, m.id)
	delete(g.unsynced, m.id)
	if m.instance != nil {
		delete(g.static, *m.instance)
	}
	g.count(m, -1)
	g.setJoin(m, nil)
	if g.leader == m.id {
		g.leader = ""
		if len(g.members) > 0 {
			g.leader = g.members[0].id
		}
	}
}

func (g *group) setJoin(m *member, to Ref) {
	if (m.awaitsJoin != nil) != (to != nil) {
		if to != nil {
			g.joining++
		} else {
			g.joining--
		}
	}
	m.awaitsJoin = to
}

func (g *group) setProtocols(m *member, p []Protocol) {
	g.count(m, -1)
	m.protocols = p
	g.count(m, 1)
}

func (g *group) count(m *member, by int) {
	for i := range m.protocols {
		name := m.protocols[i].Name
		if g.support[name] += by; g.support[name] == 0 {
			delete(g.support, name)
		}
	}
}

// rename gives m another id: a static member came back.
func (g *group) rename(m *member, id string) {
	delete(g.byID, m.id)
	if _, ok := g.unsynced[m.id]; ok {
		delete(g.unsynced, m.id)
		g.unsynced[id] = struct{}{}
	}
	if g.leader == m.id {
		g.leader = id
	}
	m.id = id
	g.byID[id] = m
	g.static[*m.instance] = id
}

// accepts tells whether a joiner's type and protocols go with the group.
func (g *group) accepts(protocolType string, p []Protocol) bool {
	if g.state == stateEmpty {
		return protocolType != "" && len(p) > 0
	}
	if g.protocolType == nil || *g.protocolType != protocolType {
		return false
	}
	for i := range p {
		if g.support[p[i].Name] == len(g.members) {
			return true
		}
	}
	return false
}

func (g *group) allJoined() bool { return g.joining == len(g.members) && len(g.pending) == 0 }

func (g *group) rebalanceMs() int64 {
	var most int32
	for _, m := range g.members {
		most = max(most, m.rebalanceMs)
	}
	return int64(most)
}

// selectProtocol is the protocol that most members prefer among those that all offer; at a tie the one voted for first.
func (g *group) selectProtocol() string {
	votes := map[string]int{}
	best := ""
	for _, m := range g.members {
		for i := range m.protocols {
			if name := m.protocols[i].Name; g.support[name] >= len(g.members) {
				votes[name]++
				break
			}
		}
	}
	for _, m := range g.members {
		for i := range m.protocols {
			if name := m.protocols[i].Name; votes[name] > votes[best] {
				best = name
			}
		}
	}
	if best == "" {
		invariant.Broken("group: members without a common protocol", g.id, len(g.members))
	}
	return best
}

// electJoined makes sure that the leader is a member that has joined. False when nobody has, or there is nobody.
func (g *group) electJoined() bool {
	leader := g.byID[g.leader]
	if leader == nil {
		return false
	}
	if leader.awaitsJoin != nil {
		return true
	}
	for _, m := range g.members {
		if m.awaitsJoin != nil {
			g.leader = m.id
			return true
		}
	}
	return false
}

// nextGeneration ends the preparing: the group is Completing, or Empty when nobody is left.
func (g *group) nextGeneration(wallMs int64) {
	g.generation++
	clear(g.unsynced)
	if len(g.members) == 0 {
		g.protocol = nil
		g.computeSubscribed()
		g.moveTo(stateEmpty, wallMs)
		return
	}
	p := g.selectProtocol()
	g.protocol = &p
	g.computeSubscribed()
	g.moveTo(stateCompleting, wallMs)
}

// memberError checks that the instance id, where given, is held by the member id, and that the member exists.
func (g *group) memberError(id string, instance *string) error {
	if instance != nil {
		holder, ok := g.static[*instance]
		if !ok {
			return ErrUnknownMember
		}
		if holder != id {
			return ErrFencedInstance
		}
	}
	if g.byID[id] == nil {
		return ErrUnknownMember
	}
	return nil
}

func (g *group) hasOffsets() bool { return len(g.offsets) > 0 || len(g.storing) > 0 }

func (g *group) joinedMembers() []JoinedMember {
	out := make([]JoinedMember, 0, len(g.members))
	for _, m := range g.members {
		out = append(out, JoinedMember{MemberID: m.id, Instance: m.instance, Metadata: m.metadata(*g.protocol)})
	}
	return out
}

// value is the group as a record. assigned gives a member's assignment.
func (g *group) value(assigned func(m *member) []byte) *GroupValue {
	v := &GroupValue{Generation: g.generation, Protocol: g.protocol, StateMs: g.stateMs}
	if g.protocolType != nil {
		v.ProtocolType = *g.protocolType
	}
	if g.leader != "" {
		v.Leader = &g.leader
	}
	for _, m := range g.members {
		v.Members = append(v.Members, GroupValueMember{
			MemberID: m.id, Instance: m.instance, ClientID: m.clientID, ClientHost: m.clientHost,
			RebalanceMs: m.rebalanceMs, SessionMs: m.sessionMs,
			Subscription: m.metadata(*g.protocol), Assignment: assigned(m),
		})
	}
	return v
}
