package load

import (
	"encoding/binary"
	"fmt"

	"github.com/pelton-broker/pelton/internal/clock"
)

// transport is a connection as the loops need it; tests put a stalling sink behind it.
type transport interface {
	Read(b []byte) (int, error)
	Write(b []byte) (int, error)
	Wait(ns int64) (readable bool, err error)
}

// loop drives one connection.
type loop struct {
	t     transport
	ex    exchange
	clk   clock.Clock
	stats *Stats
	live  *live // may be nil

	out        []byte // small frames, sent together
	in         []byte // what came and is not taken yet: in[start:end]
	start, end int
	due        []int64 // ring: when the outstanding requests were sent, or should have been
	head, tail int64
	hold       int64 // open loop: the first record of a request waits so long for its last one
	warmUntil  int64 // latencies and counts before this moment are discarded

	rawLatency func(ns int64) // a test's second opinion, else nil
}

const (
	smallFrame = 32 << 10
	maxOut     = 256 << 10
	maxDue     = 1 << 16
	maxBehind  = 64 // requests, and maxOut bytes, that an open loop which is behind sends before it looks for answers
)

func newLoop(t transport, ex exchange, clk clock.Clock, stats *Stats) *loop {
	return &loop{t: t, ex: ex, clk: clk, stats: stats, out: make([]byte, 0, maxOut), in: make([]byte, 256<<10), due: make([]int64, maxDue)}
}

// closed keeps window requests outstanding until goOn says no; it then takes the answers that are due.
func (l *loop) closed(window int, goOn func(sent int64) bool) error {
	more := true
	for {
		for more && l.tail-l.head < int64(window) {
			if more = goOn(l.tail); !more {
				break
			}
			if _, err := l.send(l.clk.Mono()); err != nil {
				return err
			}
		}
		if err := l.flush(); err != nil {
			return err
		}
		if l.tail == l.head {
			return nil
		}
		if err := l.receive(); err != nil {
			return err
		}
	}
}

// open sends a request at start and then every intervalNs until endNs, however late the answers are,
// and counts each latency from the moment at which its request should have been sent.
func (l *loop) open(startNs, intervalNs, endNs int64) error {
	next := startNs
	return l.paced(intervalNs, func() (int64, bool) {
		at := next
		next += intervalNs
		return at, at < endNs
	})
}

// paced sends a request at each moment that next names, in order, until it says no; late is how much later than that one may be sent
// before it counts as late.
func (l *loop) paced(late int64, next func() (at int64, more bool)) error {
	at, more := next()
	for {
		now, sent := l.clk.Mono(), 0
		// An answer counts when it is read: one that lies there while a long backlog is sent would be charged with the rest of it.
		for n := 0; more && at+l.hold <= now && l.tail-l.head < maxDue && n < maxBehind && sent < maxOut; n++ {
			if now-at-l.hold > late {
				l.stats.Late++
			}
			size, err := l.send(at)
			if err != nil {
				return err
			}
			sent += size
			at, more = next()
		}
		if err := l.flush(); err != nil {
			return err
		}
		if !more && l.tail == l.head {
			return nil
		}
		if !more || l.tail-l.head == maxDue {
			if err := l.receive(); err != nil {
				return err
			}
			continue
		}
		wait := max(0, at+l.hold-l.clk.Mono())
		if wait == 0 && l.tail == l.head {
			continue
		}
		readable, err := l.t.Wait(wait)
		if err == nil && readable {
			err = l.receive()
		}
		if err != nil {
			return err
		}
	}
}

// send gives the size of what it has sent, or will with the next flush.
func (l *loop) send(at int64) (int, error) {
	if s, ok := l.ex.(stamper); ok {
		s.stamp(at)
	}
	frame := l.ex.next(int32(l.tail))
	if l.ex.answers() {
		l.due[l.tail%maxDue] = at
	} else {
		l.head++
		if err := l.ex.answer(nil, l.stats); err != nil {
			return 0, err
		}
	}
	l.tail++
	l.stats.Requests++
	if len(frame) > smallFrame {
		if err := l.flush(); err != nil {
			return 0, err
		}
		return l.t.Write(frame)
	}
	if len(l.out)+len(frame) > cap(l.out) {
		if err := l.flush(); err != nil {
			return 0, err
		}
	}
	l.out = append(l.out, frame...)
	return len(frame), nil
}

func (l *loop) flush() error {
	if len(l.out) == 0 {
		return nil
	}
	_, err := l.t.Write(l.out)
	l.out = l.out[:0]
	return err
}

// receive reads once and takes every whole answer.
func (l *loop) receive() error {
	n, err := l.t.Read(l.in[l.end:])
	if err != nil {
		return fmt.Errorf("reading an answer: %w", err)
	}
	l.end += n
	now := l.clk.Mono()
	for l.end-l.start >= 4 {
		size := 4 + int(binary.BigEndian.Uint32(l.in[l.start:]))
		if size < 8 || size > 256<<20 {
			return fmt.Errorf("%w: %d bytes", ErrAnswer, size)
		}
		if l.end-l.start < size {
			if l.start+size > len(l.in) {
				l.room(size)
			}
			break
		}
		if err := l.take(l.in[l.start+4:l.start+size], now); err != nil {
			return err
		}
		l.start += size
	}
	if l.start == l.end {
		l.start, l.end = 0, 0
	} else if l.end == len(l.in) {
		l.room(0) // fewer than the 4 bytes of a length are left
	}
	return nil
}

// room moves what is left to the front and makes space for an answer of size bytes.
func (l *loop) room(size int) {
	to := l.in
	if size > len(to) {
		to = make([]byte, size+64<<10)
	}
	l.end = copy(to, l.in[l.start:l.end])
	l.start, l.in = 0, to
}

func (l *loop) take(b []byte, now int64) error {
	if corr := int32(binary.BigEndian.Uint32(b)); l.head == l.tail || corr != int32(l.head) {
		return fmt.Errorf("%w: correlation id %d, expected %d", ErrAnswer, corr, int32(l.head))
	}
	at := l.due[l.head%maxDue]
	l.head++
	if at >= l.warmUntil {
		l.stats.observe(now - at)
		if l.live != nil {
			l.live.observe(now - at)
		}
		if l.rawLatency != nil {
			l.rawLatency(now - at)
		}
	}
	before := l.stats.Bytes
	err := l.ex.answer(b[4:], l.stats)
	if l.live != nil {
		l.live.count(l.stats.Bytes - before)
	}
	return err
}
