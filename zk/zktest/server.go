package zktest

import (
	"sort"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
)

// Server is one ZooKeeper.
type Server struct {
	mu struct {
		sync.Mutex
		tree    *tree
		session int64 // last one given out
		conns   map[int64]*Conn
		down    bool
		orphans []*Conn // whose session ended while the server was down
		lose    []loss
		refuse  []refusal
		log     []string
		awaited []awaited
	}
	held sync.RWMutex // write-locked while requests are held
}

// NewServer returns an empty server whose clock shows nowMs.
func NewServer(nowMs int64) *Server {
	s := &Server{}
	s.mu.tree = newTree()
	s.mu.tree.nowMs = nowMs
	s.mu.session = 0x1000
	s.mu.conns = map[int64]*Conn{}
	return s
}

// SetTime moves the server's clock, which stamps znodes.
func (s *Server) SetTime(nowMs int64) { s.mu.Lock(); defer s.mu.Unlock(); s.mu.tree.nowMs = nowMs }

type awaited struct {
	match string
	ch    chan struct{}
}

// Await returns a channel that is closed once a later log entry contains match.
func (s *Server) Await(match string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := awaited{match, make(chan struct{})}
	s.mu.awaited = append(s.mu.awaited, a)
	return a.ch
}

func (s *Server) noteLocked(entry string) {
	s.mu.log = append(s.mu.log, entry)
	left := s.mu.awaited[:0]
	for _, a := range s.mu.awaited {
		if strings.Contains(entry, a.match) {
			close(a.ch)
			continue
		}
		left = append(left, a)
	}
	s.mu.awaited = left
}

// Entry is one znode as Dump shows it.
type Entry struct {
	Data      []byte
	Ephemeral bool
	Version   int32
	Cversion  int32
	ACL       []zk.ACL
}

// Dump returns every znode at and below root, root itself under "/".
func (s *Server) Dump(root string) map[string]Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]Entry{}
	for path, n := range s.mu.tree.nodes {
		rel, below := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
		if !below || rel != "" && rel[0] != '/' {
			continue
		}
		if rel == "" {
			rel = "/"
		}
		st := n.shown()
		out[rel] = Entry{Data: n.data, Ephemeral: st.EphemeralOwner != 0, Version: st.Version, Cversion: st.Cversion, ACL: n.acl}
	}
	return out
}

// Log lists the writes that were tried, in order: "create /a", "multi check /e, set /b", with " -> error" when refused.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.mu.log...)
}

// Sessions lists the live sessions.
func (s *Server) Sessions() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]int64, 0, len(s.mu.conns))
	for id := range s.mu.conns {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	return ids
}

// openLocked gives c a new session.
func (s *Server) openLocked(c *Conn) {
	s.mu.session++
	c.session.Store(s.mu.session)
	c.watches = map[watch]bool{}
	s.mu.conns[s.mu.session] = c
	c.events(zk.Event{Type: zk.EventSession, State: zk.StateHasSession})
}

// endLocked removes a session and what belongs to it.
func (s *Server) endLocked(session int64) {
	t := s.mu.tree
	delete(s.mu.conns, session)
	var gone []string
	for path, n := range t.nodes {
		if n.stat.EphemeralOwner == session {
			gone = append(gone, path)
		}
	}
	if len(gone) == 0 {
		return
	}
	sort.Strings(gone)
	t.zxid++
	for _, path := range gone {
		_ = t.delete(path, -1)
	}
	s.deliverLocked()
}

// deliverLocked hands the fired events to whoever watches.
func (s *Server) deliverLocked() {
	t := s.mu.tree
	fired := t.fired
	t.fired, t.undo = nil, nil
	for _, ev := range fired {
		for _, c := range s.mu.conns {
			c.notify(ev)
		}
	}
}
