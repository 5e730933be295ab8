package netpoll

import (
	"errors"
	"net/netip"
	"testing"
)

// A place that is given back is one place: the address is then allowed one more connection, not all of them.
func TestLimiterGivesBackOnePlace(t *testing.T) {
	ip, other := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")
	l := NewLimiter(0, 2, map[netip.Addr]int{other: 1})
	mapped := netip.MustParseAddr("::ffff:127.0.0.1") // the same machine, as a socket of both families names it
	if err := errors.Join(l.Take(ip), l.Take(mapped), l.Take(other)); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		if err := l.Take(ip); !errors.Is(err, ErrTooManyFromIP) {
			t.Fatalf("round %d: a third place of two: %v", round, err)
		}
		l.Give(mapped)
		if err := l.Take(ip); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if err := l.Take(other); !errors.Is(err, ErrTooManyFromIP) {
		t.Fatalf("an address with a limit of its own: %v", err)
	}
	if l.Open() != 3 || l.Refused() != 4 {
		t.Fatalf("%d places taken, %d refused", l.Open(), l.Refused())
	}
}
