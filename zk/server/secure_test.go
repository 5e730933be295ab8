package server

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// exhausted is a listener of a process without descriptors, closed from its second call on.
type exhausted struct {
	net.Listener
	calls int
}

func (e *exhausted) Accept() (net.Conn, error) {
	if e.calls++; e.calls > 1 {
		return nil, net.ErrClosed
	}
	return nil, syscall.EMFILE
}

func TestSecureAcceptWaitsAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lis, began := &exhausted{}, time.Now()
		(&secure{s: &Server{o: Options{Log: slog.New(slog.DiscardHandler)}}, listener: lis}).accept(t.Context())
		if passed := time.Since(began); lis.calls != 2 || passed != acceptAgain {
			t.Fatalf("%d calls with %v of the bubble's clock between them", lis.calls, passed)
		}
	})
}

func TestFailedHandshakesAreToldOnceASecond(t *testing.T) {
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, nil))
	var f failures
	bad, remote := errors.New("no certificate"), netip.MustParseAddrPort("10.0.0.1:5000")
	for ms := range int64(3000) {
		f.tell(log, 1_700_000_000_000+ms, remote, bad)
	}
	f.tell(log, 0, remote, bad) // the clock was put back
	text := out.String()
	if got := strings.Count(text, "\n"); got != 4 {
		t.Fatalf("3000 failures in 3 s and one later made %d lines:\n%s", got, text)
	}
	for _, want := range []string{"remote=10.0.0.1:5000", `err="no certificate"`, "more_before=0", "more_before=999"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
