package group

func (m *Machine) join(in *Join) {
	if in.SessionMs < m.opt.MinSessionMs || in.SessionMs > m.opt.MaxSessionMs {
		m.reply(in.To, joinError(in.MemberID, ErrInvalidSessionTimeout))
		return
	}
	g := m.groups[in.Group]
	if g == nil {
		if in.MemberID != "" {
			m.reply(in.To, joinError(in.MemberID, ErrUnknownMember))
			return
		}
		g = newGroup(in.Group, m.now.WallMs)
		m.groups[in.Group] = g
	}
	switch {
	case !m.hasRoom(g, in.MemberID):
		m.refuseFull(g, in)
	case in.MemberID == "":
		m.joinUnknown(g, in)
	default:
		m.joinKnown(g, in)
	}
	m.tryCompleteJoin(g)
}

func joinError(memberID string, err error) *Joined {
	return &Joined{Err: err, MemberID: memberID, Generation: -1}
}

// hasRoom tells whether one more may join. While the group prepares, those who have joined again count, so that
// a group above a lowered limit loses the last ones.
func (m *Machine) hasRoom(g *group, id string) bool {
	mb := g.byID[id]
	switch g.state {
	case statePreparing:
		return mb != nil && mb.awaitsJoin != nil || g.joining < m.opt.MaxSize
	case stateCompleting, stateStable:
		return mb != nil || len(g.members) < m.opt.MaxSize
	default:
		return true
	}
}

func (m *Machine) refuseFull(g *group, in *Join) {
	if mb := g.byID[in.MemberID]; mb != nil {
		m.drop(g, mb)
	}
	m.dropPending(g, in.MemberID)
	m.reply(in.To, joinError("", ErrMaxSize))
}

func (m *Machine) joinUnknown(g *group, in *Join) {
	if !g.accepts(in.ProtocolType, in.Protocols) {
		m.reply(in.To, joinError("", ErrInconsistentProtocol))
		return
	}
	if in.Instance != nil {
		id := *in.Instance + "-" + m.opt.NewMemberIDSuffix()
		if holder, ok := g.static[*in.Instance]; ok {
			m.joinStaticAgain(g, g.byID[holder], id, in)
			return
		}
		m.addMember(g, id, in)
		return
	}
	id := in.ClientID + "-" + m.opt.NewMemberIDSuffix()
	if !in.NeedID {
		m.addMember(g, id, in)
		return
	}
	t := &deadline{kind: deadlinePending, group: g, id: id}
	g.pending[id] = t
	m.timers.arm(t, m.now.MonoMs+int64(in.SessionMs))
	m.reply(in.To, joinError(id, ErrMemberIDRequired))
}

func (m *Machine) joinKnown(g *group, in *Join) {
	if !g.accepts(in.ProtocolType, in.Protocols) {
		m.reply(in.To, joinError(in.MemberID, ErrInconsistentProtocol))
		return
	}
	if g.pending[in.MemberID] != nil {
		if in.Instance != nil {
			m.reply(in.To, joinError("", ErrInternal))
			return
		}
		m.dropPending(g, in.MemberID)
		m.addMember(g, in.MemberID, in)
		return
	}
	if err := g.memberError(in.MemberID, in.Instance); err != nil {
		m.reply(in.To, joinError(in.MemberID, err))
		return
	}
	mb := g.byID[in.MemberID]
	isLeader := g.leader == mb.id
	switch {
	case g.state == statePreparing,
		// A leader that joins a stable group asks for a new assignment: something that only it sees has changed.
		g.state == stateStable && isLeader,
		!mb.matches(in.Protocols):
		m.rejoin(g, mb, in)
	default:
		// Nothing has changed; the first answer may have been lost.
		a := m.joinedNow(g, mb)
		if isLeader {
			a.Members = g.joinedMembers()
		}
		m.reply(in.To, a)
	}
}

// joinedNow describes the current generation to mb.
func (m *Machine) joinedNow(g *group, mb *member) *Joined {
	return &Joined{MemberID: mb.id, Generation: g.generation, ProtocolType: g.protocolType, ProtocolName: g.protocol, Leader: g.leader}
}

func (m *Machine) addMember(g *group, id string, in *Join) {
	mb := &member{
		id: id, instance: in.Instance, clientID: in.ClientID, clientHost: in.ClientHost,
		rebalanceMs: in.RebalanceMs, sessionMs: in.SessionMs, protocols: in.Protocols, isNew: true,
	}
	if g.state == statePreparing && g.generation == 0 {
		g.newMember = true
	}
	if len(g.members) == 0 {
		t := in.ProtocolType
		g.protocolType = &t
	}
	g.add(mb, in.To)
	m.timers.arm(&mb.session, m.now.MonoMs+NewMemberJoinMs)
	m.maybePrepare(g)
}

// rejoin updates a known member and leaves it waiting.
func (m *Machine) rejoin(g *group, mb *member, in *Join) {
	m.update(g, mb, in)
	m.maybePrepare(g)
}

// update takes over what a joiner says of itself. A join of the same member that still waits is told to come again:
// each request has one answer, and only the last one counts.
func (m *Machine) update(g *group, mb *member, in *Join) {
	m.answerJoin(g, mb, joinError(mb.id, ErrRebalanceInProgress))
	g.setProtocols(mb, in.Protocols)
	mb.rebalanceMs, mb.sessionMs = in.RebalanceMs, in.SessionMs
	g.setJoin(mb, in.To)
}

func (m *Machine) answerJoin(g *group, mb *member, a *Joined) {
	if mb.awaitsJoin == nil {
		return
	}
	m.reply(mb.awaitsJoin, a)
	g.setJoin(mb, nil)
}

// answerSync answers a waiting sync and tells whether there was one.
func (m *Machine) answerSync(mb *member, a *Synced) bool {
	if mb.awaitsSync == nil {
		return false
	}
	m.reply(mb.awaitsSync, a)
	mb.awaitsSync = nil
	return true
}

// dropPending forgets an id that was handed out.
func (m *Machine) dropPending(g *group, id string) {
	if t := g.pending[id]; t != nil {
		m.timers.disarm(t)
		delete(g.pending, id)
	}
}
