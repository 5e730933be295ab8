package group

func (m *Machine) heartbeat(in *Heartbeat) error {
	g := m.groups[in.Group]
	if g == nil {
		return ErrUnknownMember
	}
	if err := g.memberError(in.MemberID, in.Instance); err != nil {
		return err
	}
	if in.Generation != g.generation {
		return ErrIllegalGeneration
	}
	switch g.state {
	case statePreparing:
		m.beat(g.byID[in.MemberID])
		return ErrRebalanceInProgress
	case stateCompleting, stateStable:
		m.beat(g.byID[in.MemberID])
		return nil
	default:
		return ErrUnknownMember
	}
}

func (m *Machine) leave(in *Leave) {
	g := m.groups[in.Group]
	a := &Left{Members: make([]LeftMember, 0, len(in.Members))}
	// The answer stands in front of what the leaving sets off.
	m.reply(in.To, a)
	for i := range in.Members {
		l := &in.Members[i]
		err := ErrUnknownMember
		if g != nil {
			err = m.leaveOne(g, l)
		}
		a.Members = append(a.Members, LeftMember{MemberID: l.MemberID, Instance: l.Instance, Err: err})
	}
}

func (m *Machine) leaveOne(g *group, l *Leaver) error {
	id := l.MemberID
	if id == "" {
		// An administrator names the instance alone.
		if l.Instance == nil {
			return ErrUnknownMember
		}
		if id = g.static[*l.Instance]; id == "" {
			return ErrUnknownMember
		}
	} else if g.pending[id] != nil {
		m.dropPending(g, id)
		m.tryCompleteJoin(g)
		return nil
	}
	if err := g.memberError(id, l.Instance); err != nil {
		return err
	}
	m.expel(g, g.byID[id])
	return nil
}
