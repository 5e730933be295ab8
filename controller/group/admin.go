package group

import "strings"

func (m *Machine) describe(id string) *Described {
	g := m.groups[id]
	if g == nil {
		return &Described{State: stateDead.String()}
	}
	a := &Described{Found: true, State: g.state.String()}
	if g.protocolType != nil {
		a.ProtocolType = *g.protocolType
	}
	stable := g.state == stateStable
	if stable {
		a.Protocol = *g.protocol
	}
	for _, mb := range g.members {
		d := DescribedMember{MemberID: mb.id, Instance: mb.instance, ClientID: mb.clientID, ClientHost: mb.clientHost}
		if stable {
			d.Metadata, d.Assignment = mb.metadata(a.Protocol), mb.assignment
		}
		a.Members = append(a.Members, d)
	}
	return a
}

func (m *Machine) list(states []string, err error) *Listed {
	a := &Listed{Err: err}
	for _, id := range sortedKeys(m.groups) {
		g := m.groups[id]
		if len(states) > 0 && !containsFold(states, g.state.String()) {
			continue
		}
		l := ListedGroup{Group: id, State: g.state.String()}
		if g.protocolType != nil {
			l.ProtocolType = *g.protocolType
		}
		a.Groups = append(a.Groups, l)
	}
	return a
}

func containsFold(list []string, s string) bool {
	for _, x := range list {
		if strings.EqualFold(x, s) {
			return true
		}
	}
	return false
}

func (m *Machine) deleteGroup(in *Delete) {
	g := m.groups[in.Group]
	switch {
	case g == nil:
		m.reply(in.To, &Deleted{Err: ErrNotFound})
		return
	case g.state != stateEmpty:
		m.reply(in.To, &Deleted{Err: ErrNonEmpty})
		return
	}
	all := g.known(func(TopicPartition) bool { return true })
	records := m.removeOffsets(g, all)
	if len(records) == 0 {
		m.reply(in.To, &Deleted{})
		return
	}
	m.store(records, &groupGone{to: in.To})
}

// groupGone answers a deletion once the tombstones are in the log.
type groupGone struct{ to Ref }

func (s *groupGone) stored(m *Machine, _ int64, err error) {
	if err != nil {
		err = commitStoreError(err)
	}
	m.reply(s.to, &Deleted{Err: err})
}
