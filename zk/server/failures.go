package server

import (
	"log/slog"
	"net/netip"
	"sync"
)

// failuresEveryMs is the time between two lines about failed handshakes.
const failuresEveryMs = 1000

// failures tells of handshakes that failed, at most once a second: whoever connects and sends rubbish must not fill the log.
type failures struct {
	mu struct {
		sync.Mutex
		said   bool
		saidMs int64
		silent int // since the last line
	}
}

func (f *failures) tell(log *slog.Logger, nowMs int64, remote netip.AddrPort, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.said && nowMs-f.mu.saidMs < failuresEveryMs && nowMs >= f.mu.saidMs {
		f.mu.silent++
		return
	}
	log.Info("zk TLS handshake failed", "remote", remote, "err", err, "more_before", f.mu.silent)
	f.mu.said, f.mu.saidMs, f.mu.silent = true, nowMs, 0
}
