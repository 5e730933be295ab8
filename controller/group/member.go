package group

import "bytes"

// member is one member of a group.
type member struct {
	id          string
	instance    *string
	clientID    string
	clientHost  string
	rebalanceMs int32
	sessionMs   int32
	protocols   []Protocol
	assignment  []byte

	// isNew holds from the first join until the first answer to it: such a member has no id it could heartbeat
	// with, so its session deadline counts even while it waits.
	isNew bool
	// awaitsJoin and awaitsSync hold whom to answer. Changed only through group, which counts the joins.
	awaitsJoin Ref
	awaitsSync Ref
	session    deadline
}

func (m *member) isStatic() bool { return m.instance != nil }

// keptByWaiting tells whether the member's session cannot end now: the coordinator owes it an answer.
func (m *member) keptByWaiting() bool {
	return !m.isNew && (m.awaitsJoin != nil || m.awaitsSync != nil)
}

func (m *member) offers(protocol string) bool {
	for i := range m.protocols {
		if m.protocols[i].Name == protocol {
			return true
		}
	}
	return false
}

func (m *member) metadata(protocol string) []byte {
	for i := range m.protocols {
		if m.protocols[i].Name == protocol {
			return m.protocols[i].Metadata
		}
	}
	return nil
}

// matches tells whether the member offers exactly these protocols in this order.
func (m *member) matches(p []Protocol) bool {
	if len(p) != len(m.protocols) {
		return false
	}
	for i := range p {
		if p[i].Name != m.protocols[i].Name || !bytes.Equal(p[i].Metadata, m.protocols[i].Metadata) {
			return false
		}
	}
	return true
}
