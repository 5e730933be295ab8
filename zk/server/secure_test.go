package server

import (
	"log/slog"
	"net"
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
