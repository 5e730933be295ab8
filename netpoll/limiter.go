package netpoll

import (
	"net/netip"
	"sync"
)

// Limiter counts the connections of a server, in all and per address. Places are taken by the listener before a socket costs
// anything else and given back by the loop that closes it, so it is the one thing here with a lock; neither is a hot path.
type Limiter struct {
	mu struct {
		sync.Mutex
		all     int
		perIP   map[netip.Addr]int
		refused uint64
	}
	maxAll   int
	maxPerIP int
	special  map[netip.Addr]int
}

// NewLimiter allows maxAll connections, maxPerIP from one address; zero means no limit. special are limits of single addresses.
func NewLimiter(maxAll, maxPerIP int, special map[netip.Addr]int) *Limiter {
	l := &Limiter{maxAll: maxAll, maxPerIP: maxPerIP, special: make(map[netip.Addr]int, len(special))}
	for ip, n := range special {
		l.special[ip.Unmap()] = n
	}
	l.mu.perIP = map[netip.Addr]int{}
	return l
}

// Take takes a place or says which limit is in the way.
func (l *Limiter) Take(ip netip.Addr) error {
	ip = ip.Unmap()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.maxAll > 0 && l.mu.all >= l.maxAll {
		l.mu.refused++
		return ErrTooManyConnections
	}
	most, special := l.special[ip]
	if !special {
		most = l.maxPerIP
	}
	if (most > 0 || special) && l.mu.perIP[ip] >= most {
		l.mu.refused++
		return ErrTooManyFromIP
	}
	l.mu.all++
	l.mu.perIP[ip]++
	return nil
}

// Give returns a place.
func (l *Limiter) Give(ip netip.Addr) {
	ip = ip.Unmap()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.perIP[ip] == 0 {
		return // not one of ours: adopted without a listener
	}
	l.mu.all--
	if l.mu.perIP[ip]--; l.mu.perIP[ip] == 0 {
		delete(l.mu.perIP, ip)
	}
}

// Refused is how often there was no place.
func (l *Limiter) Refused() uint64 { l.mu.Lock(); defer l.mu.Unlock(); return l.mu.refused }

// Open is the number of places taken.
func (l *Limiter) Open() int { l.mu.Lock(); defer l.mu.Unlock(); return l.mu.all }
