package api

import (
	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// Epochs of a fetch request that mean something else than "the next one" (KIP-227).
const (
	initialEpoch = 0
	finalEpoch   = -1
)

// sessionIDShards is how many low values of a session id name the shard that keeps it.
const sessionIDShards = 256

// fetchKey names a partition of a session: by id from version 13 on, by name before.
type fetchKey struct {
	name  string
	id    meta.ID
	index int32
}

// fetchEntry is one partition of a session: what was asked last, and what was told last.
type fetchEntry struct {
	key      fetchKey
	offset   int64
	max      int32
	epoch    int32
	lastRead int32
	// hw and start are what the last answer told; a change of either is news.
	hw, start  int64
	prev, next *fetchEntry
}

// fetchSession remembers a consumer's partitions, so that it names only those that changed.
type fetchSession struct {
	id      int32
	epoch   int32
	entries map[fetchKey]*fetchEntry
	// root is the ring of the entries in the order they are served; one that was served data goes to its end.
	root   fetchEntry
	usedNs int64
	byID   bool
	user   uint64 // the connection that used it last
}

// fetchSessions are those that a shard keeps.
type fetchSessions struct {
	byID map[int32]*fetchSession
	last int32
}

func (s *fetchSession) push(e *fetchEntry) {
	e.prev, e.next = s.root.prev, &s.root
	s.root.prev.next, s.root.prev = e, e
}

func (e *fetchEntry) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = nil, nil
}

// served moves an entry behind those that have not had data since. One that a later request, answered after this one, has made the session
// forget stays forgotten.
func (s *fetchSession) served(e *fetchEntry) {
	if e.next == nil {
		return
	}
	e.unlink()
	s.push(e)
}

// newFetchSession makes a session, or nil when the shard's share of the cache is full of live ones.
func (l *Local) newFetchSession(byID bool) *fetchSession {
	c := &l.fetchSessions
	o := l.broker.Options()
	if len(c.byID) >= max(1, o.FetchSessionSlots/len(l.broker.server.Shards())) && !l.evictFetchSession(o.FetchSessionEvictionMs*1e6) {
		return nil
	}
	if c.last == 0 {
		c.last = int32(l.shard.WallMs() & 0x3fffff)
	}
	for {
		c.last = (c.last + 1) & 0x7fffff
		id := c.last*sessionIDShards | int32(l.shard.ID)
		if id > 0 && c.byID[id] == nil {
			s := &fetchSession{id: id, epoch: 1, entries: map[fetchKey]*fetchEntry{}, byID: byID, usedNs: l.shard.Now()}
			s.root.prev, s.root.next = &s.root, &s.root
			c.byID[id] = s
			l.countSessions()
			return s
		}
	}
}

// evictFetchSession drops the session that was idle longest, when that is longer than idleNs.
func (l *Local) evictFetchSession(idleNs int64) bool {
	var oldest *fetchSession
	for _, s := range l.fetchSessions.byID {
		if oldest == nil || s.usedNs < oldest.usedNs {
			oldest = s
		}
	}
	if oldest == nil || l.shard.Now()-oldest.usedNs < idleNs {
		return false
	}
	l.dropSession(oldest.id)
	l.set.Add(perf.FetchSessionsEvicted, 1)
	return true
}

func (l *Local) dropSession(id int32) {
	delete(l.fetchSessions.byID, id)
	l.countSessions()
}

func (l *Local) countSessions() { l.set.SetGauge(perf.FetchSessions, int64(len(l.fetchSessions.byID))) }

// resolve works out which partitions the request is about and finds each.
func (f *fetch) resolve(route *Route) {
	r := &f.req
	cache := &f.local.fetchSessions
	if r.SessionEpoch == finalEpoch || r.SessionEpoch == initialEpoch {
		if r.SessionID != 0 {
			f.local.dropSession(r.SessionID)
		}
		if r.SessionEpoch == initialEpoch && f.version >= 7 {
			if f.session = f.local.newFetchSession(f.version >= 13); f.session != nil {
				f.session.user = f.sess.conn.ID
			}
		}
		f.resolveListed(route)
		return
	}
	s := cache.byID[r.SessionID]
	switch {
	case s == nil:
		f.code = wire.FetchSessionIDNotFound
		return
	case s.epoch != r.SessionEpoch:
		f.code = wire.InvalidFetchSessionEpoch
		return
	case s.byID != (f.version >= 13):
		f.code = wire.FetchSessionTopicIDError // a session keeps to names or to ids
		return
	}
	f.update(s, route)
	if len(s.entries) == 0 {
		f.local.dropSession(s.id)
		f.resolveListed(route)
		return
	}
	s.epoch = nextEpoch(s.epoch)
	s.usedNs, s.user = f.local.shard.Now(), f.sess.conn.ID
	f.session, f.sid, f.full = s, s.id, false
	for e := s.root.next; e != &s.root; e = e.next {
		f.add(route, e.key.name, e.key.id, e.key.index, e)
	}
	f.link()
}

func nextEpoch(e int32) int32 {
	if e == 1<<31-1 {
		return 1
	}
	return e + 1
}

// resolveListed takes the partitions that the request lists, into the session if there is one.
func (f *fetch) resolveListed(route *Route) {
	for i := range f.req.Parts {
		q := &f.req.Parts[i]
		name, id := f.topicOf(route, q.Topic)
		var e *fetchEntry
		if s := f.session; s != nil {
			key := s.key(name, id, q.Index)
			if e = s.entries[key]; e == nil {
				e = &fetchEntry{key: fetchKey{name: name, id: id, index: q.Index}, hw: -1, start: -1}
				s.entries[key] = e
				s.push(e)
			}
			e.ask(q)
		}
		p := f.add(route, name, id, q.Index, e)
		p.offset, p.max, p.epoch, p.lastRead = q.Offset, q.MaxBytes, q.LeaderEpoch, q.LastFetchedEpoch
	}
	if f.session != nil {
		f.sid = f.session.id
	}
	f.link()
}

// key is how this session looks a partition up.
func (s *fetchSession) key(name string, id meta.ID, index int32) fetchKey {
	if s.byID {
		return fetchKey{id: id, index: index}
	}
	return fetchKey{name: name, index: index}
}

func (e *fetchEntry) ask(q *wire.FetchPart) {
	e.offset, e.max, e.epoch, e.lastRead = q.Offset, q.MaxBytes, q.LeaderEpoch, q.LastFetchedEpoch
}

// update applies what an incremental request lists and forgets.
func (f *fetch) update(s *fetchSession, route *Route) {
	for i := range f.req.Parts {
		q := &f.req.Parts[i]
		t := &f.req.Topics[q.Topic]
		var e *fetchEntry
		if s.byID {
			e = s.entries[fetchKey{id: t.ID, index: q.Index}]
		} else {
			e = s.entries[fetchKey{name: string(t.Name), index: q.Index}]
		}
		if e == nil {
			name, id := f.topicOf(route, q.Topic)
			e = &fetchEntry{key: fetchKey{name: name, id: id, index: q.Index}, hw: -1, start: -1}
			s.entries[s.key(name, id, q.Index)] = e
			s.push(e)
		}
		e.ask(q)
	}
	for i := range f.req.Forgotten {
		g := &f.req.Forgotten[i]
		key := s.key(string(g.Name), g.ID, g.Index)
		if e := s.entries[key]; e != nil {
			e.unlink()
			delete(s.entries, key)
		}
	}
}

// topicOf gives a listed topic's name and id; a name that no topic has is copied, since the frame goes away.
func (f *fetch) topicOf(route *Route, topic int) (string, meta.ID) {
	t := &f.req.Topics[topic]
	if f.version >= 13 {
		if known := route.byID[meta.ID(t.ID)]; known != nil {
			return known.topic.Name, known.topic.ID
		}
		return "", t.ID
	}
	if known := route.byName(t.Name); known != nil {
		return known.topic.Name, known.topic.ID
	}
	return string(t.Name), meta.ID{}
}

// add appends one partition to the request's work.
func (f *fetch) add(route *Route, name string, id meta.ID, index int32, e *fetchEntry) *fetchPart {
	if len(f.parts) < cap(f.parts) {
		f.parts = f.parts[:len(f.parts)+1]
	} else {
		f.parts = append(f.parts, fetchPart{})
	}
	p := &f.parts[len(f.parts)-1]
	p.name, p.id, p.entry, p.host, p.has, p.send = name, id, e, nil, false, 0
	p.warming, p.warmed = false, 0
	p.span.Len = 0
	p.down, p.from, p.to = noConversion, 0, 0
	if e != nil {
		p.offset, p.max, p.epoch, p.lastRead = e.offset, e.max, e.epoch, e.lastRead
	}
	p.res = wire.FetchResult{Index: index, HighWatermark: -1, LastStable: -1, LogStart: -1, DivergingEpoch: -1,
		DivergingEnd: -1, LeaderID: -1, LeaderEpoch: -1, Aborted: p.res.Aborted[:0]}
	var t *topicRoute
	if f.version >= 13 {
		if t = route.byID[id]; t == nil {
			p.res.Err = int16(wire.UnknownTopicID)
			return p
		}
		p.name = t.topic.Name
	} else if t = route.topics[name]; t == nil {
		p.res.Err = int16(wire.UnknownTopicOrPartition)
		return p
	}
	if !authorize(f.sess, f.local.broker.table.row(keyFetch), p.name) {
		p.res.Err = int16(wire.TopicAuthorizationFailed)
		return p
	}
	if p.host = t.host(index); p.host == nil {
		p.res.Err = int16(t.missing(index, f.local.broker.Options().BrokerID))
	} else if f.version < 10 {
		p.res.Err = int16(p.older(f.version, &t.options))
	}
	return p
}

// link lets every part know its request, once the slice has stopped growing.
func (f *fetch) link() {
	for i := range f.parts {
		f.parts[i].f = f
	}
}
