package ensemble

// Sizes are those of the bytes of something that comes again and again; -1 before it came.
type Sizes struct{ Last, Min, Max int64 }

func (s *Sizes) add(n int64) {
	s.Last = n
	s.Max = max(s.Max, n)
	if s.Min < 0 || n < s.Min {
		s.Min = n
	}
}

// Observer is an observer as its leader sees it.
type Observer struct {
	ID                  uint64
	Remote              string // where its link comes from
	SinceMs             int64  // by the wall clock
	Queued, QueuedBytes int
	Received, Sent      uint64 // messages
	Requests            int64  // of its clients
}

// Observers lists the observers that this leader hears of, in order.
func (m *Member) Observers() []Observer {
	var out []Observer
	for _, id := range m.Core.members() {
		l := m.Core.lags[id]
		if !m.Core.leading || !m.Core.isLearner(id) || !m.Core.heard(id) || l == nil {
			continue
		}
		o := Observer{ID: id - 1, SinceMs: l.bornMs}
		if f := m.Core.requests.flows[id]; f != nil {
			o.Requests = f.n
		}
		m.links.look(id, &o)
		out = append(out, o)
	}
	return out
}
