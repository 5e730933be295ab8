package api

import "github.com/pelton-broker/pelton/reactor/wire"

// unknownIsolation tells an isolation level that is neither read_uncommitted nor read_committed.
func unknownIsolation(level int8) bool { return level != 0 && level != 1 }

// refuseIsolation answers a fetch whose isolation level nobody knows, as Kafka does, which notices late: the session has moved on by then,
// one that was to be opened is not, and the answer tells the error at its head and, below version 13, for every partition that was listed.
func (f *fetch) refuseIsolation() {
	if f.full && f.session != nil {
		f.local.dropSession(f.session.id)
	}
	f.code, f.sid, f.session = wire.UnknownServerError, f.req.SessionID, nil
	f.parts = f.parts[:0]
	if f.version >= 13 {
		return
	}
	route := f.local.broker.route.Load()
	for i := range f.req.Parts {
		q := &f.req.Parts[i]
		name, id := f.topicOf(route, q.Topic)
		p := f.add(route, name, id, q.Index, nil)
		p.host, p.res.Err = nil, int16(wire.UnknownServerError)
	}
	f.link()
}
