package server

// Counts are the sizes of a running server, for whoever watches it.
type Counts struct {
	Connections, Outstanding, Sessions, Nodes, Watches int
	Zxid                                               int64
}

// Counts asks the loop; false when it has ended.
func (s *Server) Counts() (Counts, bool) {
	c := make(chan Counts, 1)
	ask := func(l *loop) {
		_, _, watches := l.tree.WatchCounts()
		c <- Counts{Connections: len(l.peers), Outstanding: l.stats.outstanding, Sessions: l.sessions.Len(), Nodes: l.tree.Count(), Watches: watches, Zxid: l.tree.Zxid}
	}
	if !s.mail.put(ask) {
		return Counts{}, false
	}
	select {
	case counts := <-c:
		return counts, true
	case <-s.done:
		return Counts{}, false
	}
}
