package client

import "sync"

// hosts gives the library the servers in turn. Its own provider waits a second before each first attempt when there is
// one server, resolves names once for ever, and fails the requests queued meanwhile; this one tries every server at
// once after a loss and leaves names to the dialer, so that a server that moved is found.
type hosts struct {
	mu struct {
		sync.Mutex
		list  []string
		next  int
		tried int // since the last connection or pause
	}
}

// Init implements zk.HostProvider.
func (h *hosts) Init(servers []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.list = servers
	return nil
}

// Len implements zk.HostProvider.
func (h *hosts) Len() int { h.mu.Lock(); defer h.mu.Unlock(); return len(h.mu.list) }

// Next implements zk.HostProvider: the second value asks for a pause.
func (h *hosts) Next() (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	pause := h.mu.tried == len(h.mu.list)
	if pause {
		h.mu.tried = 0
	}
	h.mu.tried++
	s := h.mu.list[h.mu.next]
	h.mu.next = (h.mu.next + 1) % len(h.mu.list)
	return s, pause
}

// Connected implements zk.HostProvider.
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.tried = 0
	// Stay with the server that took us: it was handed out last.
	h.mu.next = (h.mu.next + len(h.mu.list) - 1) % len(h.mu.list)
}
