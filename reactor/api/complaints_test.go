package api

import (
	"net/netip"
	"testing"
)

func TestOneComplaintPerRemoteAndSecond(t *testing.T) {
	var c complaints
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	for _, step := range []struct {
		remote     netip.Addr
		atMs       int64
		ok         bool
		suppressed int64
	}{
		{a, 10_000, true, 0}, {a, 10_001, false, 0}, {b, 10_001, true, 0}, {a, 10_999, false, 0},
		{a, 11_000, true, 2}, {b, 12_000, true, 0}, {a, 11_500, false, 0}, {a, 12_000, true, 1},
	} {
		suppressed, ok := c.allow(step.remote, step.atMs)
		if ok != step.ok || suppressed != step.suppressed {
			t.Fatalf("%v at %d: %v, %d suppressed; want %v, %d", step.remote, step.atMs, ok, suppressed, step.ok, step.suppressed)
		}
	}
}

func TestComplaintsAboutManyRemotesAreBounded(t *testing.T) {
	var c complaints
	said := 0
	for i := range 5 * complaintRemotes {
		if _, ok := c.allow(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 50_000); ok {
			said++
		}
	}
	if n := len(c.mu.remotes); n > complaintRemotes+1 {
		t.Fatalf("%d remotes are remembered", n)
	}
	if said > complaintRemotes+1 {
		t.Fatalf("%d lines within a second", said)
	}
	if _, ok := c.allow(netip.MustParseAddr("10.200.0.1"), 51_000); !ok {
		t.Fatal("a second later nobody is complained about any more")
	}
	if suppressed, ok := c.allow(netip.Addr{}, 52_000); !ok || suppressed != int64(5*complaintRemotes-said) {
		t.Fatalf("%v, %d suppressed of %d", ok, suppressed, 5*complaintRemotes-said)
	}
}
