package group

func (m *Machine) sync(in *Sync) {
	g := m.groups[in.Group]
	if err := syncError(g, in); err != nil {
		m.reply(in.To, &Synced{Err: err})
		return
	}
	mb := g.byID[in.MemberID]
	if g.state == stateStable {
		m.synced(g, mb)
		m.reply(in.To, &Synced{ProtocolType: g.protocolType, ProtocolName: g.protocol, Assignment: mb.assignment})
		m.beat(mb)
		return
	}
	m.answerSync(mb, &Synced{Err: ErrRebalanceInProgress}) // an earlier one of the same member
	mb.awaitsSync = in.To
	m.synced(g, mb)
	if g.leader == mb.id {
		m.storeAssignment(g, in.Assignments)
	}
}

func syncError(g *group, in *Sync) error {
	if g == nil {
		return ErrUnknownMember
	}
	if err := g.memberError(in.MemberID, in.Instance); err != nil {
		return err
	}
	switch {
	case in.Generation != g.generation:
		return ErrIllegalGeneration
	case in.ProtocolType != nil && (g.protocolType == nil || *g.protocolType != *in.ProtocolType),
		in.ProtocolName != nil && (g.protocol == nil || *g.protocol != *in.ProtocolName):
		return ErrInconsistentProtocol
	case g.state == stateEmpty:
		return ErrUnknownMember
	case g.state == statePreparing:
		return ErrRebalanceInProgress
	}
	return nil
}

func (m *Machine) synced(g *group, mb *member) {
	delete(g.unsynced, mb.id)
	if len(g.unsynced) == 0 {
		m.timers.disarm(&g.sync)
	}
}

// storeAssignment writes the generation with what the leader decided. Members that it left out get nothing.
func (m *Machine) storeAssignment(g *group, assignments []Assignment) {
	given := make(map[string][]byte, len(assignments))
	for i := range assignments {
		given[assignments[i].MemberID] = assignments[i].Bytes
	}
	v := g.value(func(mb *member) []byte { return given[mb.id] })
	m.store([]Record{{encodeGroupKey(g.id), encodeGroupValueAs(v, m.opt.written().Group)}}, &assignmentStored{group: g, generation: g.generation, given: given})
}

// assignmentStored hands the assignment out once it is in the log.
type assignmentStored struct {
	group      *group
	generation int32
	given      map[string][]byte
}

func (s *assignmentStored) stored(m *Machine, _ int64, err error) {
	g := s.group
	if g.state != stateCompleting || g.generation != s.generation {
		return // another has joined meanwhile; the syncs have been sent back
	}
	if err != nil {
		m.resetAssignment(g, storeError(err))
		m.maybePrepare(g)
		return
	}
	for _, mb := range g.members {
		mb.assignment = s.given[mb.id]
	}
	g.moveTo(stateStable, m.now.WallMs)
	for _, mb := range g.members {
		m.handOut(mb, &Synced{ProtocolType: g.protocolType, ProtocolName: g.protocol, Assignment: mb.assignment})
	}
}

func (m *Machine) resetAssignment(g *group, err error) {
	for _, mb := range g.members {
		mb.assignment = nil
		m.handOut(mb, &Synced{Err: err})
	}
}

// handOut answers a waiting sync. The session starts anew, since it could not end while the member waited.
func (m *Machine) handOut(mb *member, a *Synced) {
	if m.answerSync(mb, a) {
		m.beat(mb)
	}
}

// storeError is what a member learns of a failed store of the group.
func storeError(err error) error {
	switch err {
	case ErrTimedOut:
		return ErrRebalanceInProgress
	case ErrTooLarge:
		return ErrInternal
	}
	return err
}
