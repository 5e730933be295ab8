package group

// joinStaticAgain takes a static member back under a new id. Whoever still waits under the old id is fenced.
func (m *Machine) joinStaticAgain(g *group, mb *member, id string, in *Join) {
	old := staticBefore{id: mb.id, leader: g.leader, protocols: mb.protocols, rebalanceMs: mb.rebalanceMs, sessionMs: mb.sessionMs}
	m.answerJoin(g, mb, joinError(mb.id, ErrFencedInstance))
	m.answerSync(mb, &Synced{Err: ErrFencedInstance})
	g.rename(mb, id)
	m.beat(mb)
	m.update(g, mb, in)
	switch g.state {
	case stateStable:
		if g.protocol == nil || *g.protocol != g.selectProtocol() {
			m.maybePrepare(g)
			return
		}
		// The assignment stays; only the new id has to be remembered.
		v := g.value(func(x *member) []byte { return x.assignment })
		m.store([]Record{{encodeGroupKey(g.id), encodeGroupValueAs(v, m.opt.written().Group)}},
			&staticStored{group: g, member: mb, to: in.To, before: old, id: id, canSkip: in.CanSkip})
	case stateCompleting:
		// The leader may have assigned to the old id already: everybody joins again.
		m.prepare(g)
	case statePreparing, stateEmpty, stateDead:
	}
}

// staticBefore is what a failed store puts back.
type staticBefore struct {
	id, leader  string
	protocols   []Protocol
	rebalanceMs int32
	sessionMs   int32
}

// staticStored answers a static member's join once its new id is in the log.
type staticStored struct {
	group   *group
	member  *member
	to      Ref
	before  staticBefore
	id      string
	canSkip bool
}

func (s *staticStored) stored(m *Machine, _ int64, err error) {
	g, mb := s.group, s.member
	if mb.awaitsJoin == nil || mb.awaitsJoin != s.to {
		return // a rebalance, another join or the unloading has answered
	}
	if err != nil {
		m.revertStatic(s, storeError(err))
		return
	}
	if g.state != stateStable {
		return // the rebalance will answer
	}
	a := m.joinedNow(g, mb)
	switch {
	case !s.canSkip:
		// Older clients would run the assignor if they learned that they lead, and a stable group would not
		// take the result: they are told the leader's old id.
		a.Leader = s.before.leader
	case g.leader == mb.id:
		a.Members, a.SkipAssignment = g.joinedMembers(), true
	}
	m.answerJoin(g, mb, a)
	m.beat(mb) // its session could not end while it waited, and its deadline may have passed
}

func (m *Machine) revertStatic(s *staticStored, err error) {
	g, mb := s.group, s.member
	m.answerJoin(g, mb, &Joined{
		Err: err, Generation: g.generation, ProtocolType: g.protocolType, ProtocolName: g.protocol, Leader: s.before.leader,
	})
	if g.byID[s.id] != mb {
		return
	}
	g.setProtocols(mb, s.before.protocols)
	mb.rebalanceMs, mb.sessionMs = s.before.rebalanceMs, s.before.sessionMs
	g.rename(mb, s.before.id)
	m.beat(mb)
	m.tryCompleteJoin(g)
}
