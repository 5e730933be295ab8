package server

import (
	"errors"

	"github.com/pelton-broker/pelton/netpoll"
)

// doors is the plain port on the loop: newcomers are accepted where they are served, since a goroutine that accepts costs a switch and two
// wake-ups for each of them.
type doors struct {
	knocked bool  // somebody waits to be accepted
	againMs int64 // when the port is looked at again after there was no room, 0 while it is watched
}

const (
	// acceptMost bounds the newcomers of one turn, so that a storm of them does not hold up those who are in.
	acceptMost = 256
	// acceptAgainMs is the pause after there was no descriptor for another connection.
	acceptAgainMs = 50
)

func (l *loop) openDoors() error {
	return l.net.Watch(l.srv.listener.FD(), func() { l.doors.knocked = true })
}

// acceptWaiting takes newcomers in. It is called behind the turn's events: no descriptor is given back and taken again among them.
func (l *loop) acceptWaiting() {
	d := &l.doors
	if d.againMs > 0 && l.nowMs >= d.againMs {
		d.againMs, d.knocked = 0, true
		if err := l.openDoors(); err != nil {
			d.againMs = l.nowMs + acceptAgainMs
			return
		}
	}
	if !d.knocked {
		return
	}
	d.knocked = false
	err := l.srv.listener.AcceptReady(acceptMost, l.net.Adopt)
	if err == nil {
		return
	}
	if err := l.net.Unwatch(l.srv.listener.FD()); err != nil {
		l.o.Log.Debug("zk port", "err", err)
	}
	if errors.Is(err, netpoll.ErrClosed) {
		return // the end
	}
	l.o.Log.Warn("zk port takes nobody for a moment", "err", err)
	d.againMs = l.nowMs + acceptAgainMs
}
