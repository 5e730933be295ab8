package session

import "sort"

// Session is one client's session.
type Session struct {
	ID        int64
	TimeoutMs int32
	// Owner is the connection that the session is on, nil when none.
	Owner any
	// Closing: its end is decided and ordered; it can neither be touched nor taken up again.
	Closing bool

	bucket int64 // the end of the interval in which it expires
}

// Tracker keeps all sessions in buckets of one tick, so that looking for the expired costs nothing per session:
// a session lives at least its timeout and at most one tick more.
type Tracker struct {
	tickMs   int64
	sessions map[int64]*Session
	buckets  map[int64]map[*Session]struct{}
	next     int64 // the end of the oldest interval not looked at
}

// NewTracker starts at nowMs.
func NewTracker(tickMs, nowMs int64) *Tracker {
	t := &Tracker{tickMs: tickMs, sessions: map[int64]*Session{}, buckets: map[int64]map[*Session]struct{}{}}
	t.next = t.round(nowMs)
	return t
}

func (t *Tracker) round(ms int64) int64 { return (ms/t.tickMs + 1) * t.tickMs }

// Add opens a session, or finds it when it is open already.
func (t *Tracker) Add(id int64, timeoutMs int32, nowMs int64) *Session {
	s := t.sessions[id]
	if s == nil {
		s = &Session{ID: id}
		t.sessions[id] = s
	}
	s.TimeoutMs = timeoutMs
	t.Touch(s, nowMs)
	return s
}

// Get finds a session.
func (t *Tracker) Get(id int64) *Session { return t.sessions[id] }

// Touch puts the end of a session off.
func (t *Tracker) Touch(s *Session, nowMs int64) bool {
	if s.Closing || t.sessions[s.ID] != s {
		return false
	}
	to := t.round(nowMs + int64(s.TimeoutMs))
	if to <= s.bucket {
		return true
	}
	t.leave(s)
	set := t.buckets[to]
	if set == nil {
		set = map[*Session]struct{}{}
		t.buckets[to] = set
	}
	set[s] = struct{}{}
	s.bucket = to
	return true
}

func (t *Tracker) leave(s *Session) {
	if set := t.buckets[s.bucket]; set != nil {
		delete(set, s)
		if len(set) == 0 {
			delete(t.buckets, s.bucket)
		}
	}
}

// Close marks a session as closing; it expires no more.
func (t *Tracker) Close(s *Session) {
	s.Closing = true
	t.leave(s)
}

// Reopen gives every session its whole timeout from nowMs on: whoever decides on their ends has begun anew.
func (t *Tracker) Reopen(nowMs int64) {
	for _, s := range t.sessions {
		if s.Closing {
			s.Closing, s.bucket = false, 0 // it was in no bucket any more
		}
		t.Touch(s, nowMs)
	}
	t.next = max(t.next, t.round(nowMs))
}

// Remove forgets a session.
func (t *Tracker) Remove(id int64) {
	if s := t.sessions[id]; s != nil {
		t.leave(s)
		delete(t.sessions, id)
	}
}

// Due appends the sessions that have expired by nowMs, in order of their ids, each of them once; the caller closes them.
func (t *Tracker) Due(nowMs int64, dst []*Session) []*Session {
	for t.next <= nowMs {
		set := t.buckets[t.next]
		delete(t.buckets, t.next)
		t.next += t.tickMs
		from := len(dst)
		for s := range set {
			s.Closing = true
			dst = append(dst, s)
		}
		sort.Slice(dst[from:], func(i, j int) bool { return dst[from+i].ID < dst[from+j].ID })
	}
	return dst
}

// NextMs is when Due is worth calling again.
func (t *Tracker) NextMs() int64 { return t.next }

// Len is the number of sessions.
func (t *Tracker) Len() int { return len(t.sessions) }

// Timeouts lists the open sessions with their timeouts, as a snapshot holds them.
func (t *Tracker) Timeouts() map[int64]int32 {
	out := make(map[int64]int32, len(t.sessions))
	for id, s := range t.sessions {
		out[id] = s.TimeoutMs
	}
	return out
}

// Buckets calls fn for each time at which sessions expire, in order, with their ids in order.
func (t *Tracker) Buckets(fn func(ms int64, ids []int64)) {
	times := make([]int64, 0, len(t.buckets))
	for ms := range t.buckets {
		times = append(times, ms)
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	for _, ms := range times {
		var ids []int64
		for s := range t.buckets[ms] {
			ids = append(ids, s.ID)
		}
		sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
		fn(ms, ids)
	}
}
