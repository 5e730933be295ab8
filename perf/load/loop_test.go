package load

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pelton-broker/pelton/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// simulated is a sink on a manual clock: each request is answered after its service time, in order,
// and between stallFrom and stallTo nothing is answered.
type simulated struct {
	clk                *clock.Manual
	service            func() int64
	stallFrom, stallTo int64
	ready              []int64 // when each outstanding answer comes
	corrs              []int32
	pending            []byte // part of a frame that came without its rest
}

func (s *simulated) Write(b []byte) (int, error) {
	s.pending = append(s.pending, b...)
	for len(s.pending) >= 12 {
		size := 4 + int(binary.BigEndian.Uint32(s.pending))
		if len(s.pending) < size {
			break
		}
		at := s.clk.Mono()
		if n := len(s.ready); n > 0 {
			at = max(at, s.ready[n-1])
		}
		at += s.service()
		if at >= s.stallFrom && at < s.stallTo {
			at = s.stallTo
		}
		s.ready = append(s.ready, at)
		s.corrs = append(s.corrs, int32(binary.BigEndian.Uint32(s.pending[8:])))
		s.pending = s.pending[size:]
	}
	return len(b), nil
}

func (s *simulated) Read(b []byte) (int, error) {
	if len(s.ready) == 0 {
		return 0, io.EOF
	}
	if wait := s.ready[0] - s.clk.Mono(); wait > 0 {
		s.clk.Advance(time.Duration(wait))
	}
	binary.BigEndian.PutUint32(b, 4)
	binary.BigEndian.PutUint32(b[4:], uint32(s.corrs[0]))
	s.ready, s.corrs = s.ready[1:], s.corrs[1:]
	return 8, nil
}

func (s *simulated) Wait(ns int64) (bool, error) {
	if len(s.ready) > 0 && s.ready[0]-s.clk.Mono() <= ns {
		s.clk.Advance(time.Duration(max(0, s.ready[0]-s.clk.Mono())))
		return true, nil
	}
	s.clk.Advance(time.Duration(ns))
	return false, nil
}

// Coordinated omission: a sink that stalls for 1 s at 1 000 requests a second makes about 1 000 late
// ones. A generator that timed from the moment of sending would show one.
func TestOpenLoopCountsEveryRequestThatAStallDelayed(t *testing.T) {
	clk := clock.NewManual(0)
	sim := &simulated{clk: clk, service: func() int64 { return 20_000 }, stallFrom: 2e9, stallTo: 3e9}
	l := newLoop(sim, newMessage(64), clk, newStats(nil))
	if err := l.open(clk.Mono(), 1e6, clk.Mono()+5e9); err != nil {
		t.Fatal(err)
	}
	if l.stats.Requests != 5000 || l.stats.Latency.TotalCount() != 5000 {
		t.Fatalf("sent %d, measured %d, of 5000", l.stats.Requests, l.stats.Latency.TotalCount())
	}
	late := int64(0)
	for _, bar := range l.stats.Latency.Distribution() {
		if bar.From > 1_000_000 {
			late += bar.Count
		}
	}
	if late < 950 || late > 1050 {
		t.Fatalf("%d late samples, a stall of 1 s at 1 000 a second makes about 1 000", late)
	}
	if p := l.stats.Quantile(0.90); p < 300e6 || p > 700e6 {
		t.Fatalf("p90 = %v; a tenth of all samples waited for more than half of the stall", time.Duration(p))
	}
}

// slowToSend is a simulated sink behind a connection on which every write takes its time.
type slowToSend struct {
	simulated
	each time.Duration
}

func (s *slowToSend) Write(b []byte) (int, error) {
	s.clk.Advance(s.each)
	return s.simulated.Write(b)
}

// A generator that is behind must read while it sends: each request here is answered at once, so no latency is longer than what its
// own sending is behind by, however much is still to be sent.
func TestOpenLoopReadsAnswersWhileItIsBehind(t *testing.T) {
	const requests = 1000
	clk := clock.NewManual(0)
	for _, size := range []int{64, smallFrame + 1} {
		sim := &slowToSend{simulated{clk: clk, service: func() int64 { return 1 }}, time.Millisecond}
		l := newLoop(sim, newMessage(size), clk, newStats(nil))
		start, n := clk.Mono(), int64(0)
		var first int64
		l.rawLatency = func(ns int64) {
			if first == 0 {
				first = ns
			}
		}
		err := l.paced(1, func() (int64, bool) { n++; return start, n <= requests }) // all of them are due at once
		if err != nil || l.stats.Latency.TotalCount() != requests {
			t.Fatalf("%d answers, %v", l.stats.Latency.TotalCount(), err)
		}
		if first > int64(maxBehind*time.Millisecond) {
			t.Errorf("frames of %d bytes: the first answer was read after %v, when all had been sent", size, time.Duration(first))
		}
	}
}

func TestOpenLoopPercentilesMatchRawSamples(t *testing.T) {
	clk, rng := clock.NewManual(0), rand.New(rand.NewSource(3))
	sim := &simulated{clk: clk, service: func() int64 { return int64(rng.ExpFloat64() * 300_000) }}
	l := newLoop(sim, newMessage(64), clk, newStats(nil))
	var raw []int64
	l.rawLatency = func(ns int64) { raw = append(raw, ns) }
	if err := l.open(clk.Mono(), 1e6, clk.Mono()+20e9); err != nil {
		t.Fatal(err)
	}
	slices.Sort(raw)
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		want := float64(raw[int(q*float64(len(raw)))-1])
		if got := float64(l.stats.Quantile(q)); got < want*0.995 || got > want*1.01 {
			t.Errorf("quantile %v: %v, raw samples say %v", q, got, want)
		}
	}
}

func TestClosedLoopKeepsItsWindowAndStopsAtTheCount(t *testing.T) {
	clk := clock.NewManual(0)
	sim := &simulated{clk: clk, service: func() int64 { return 1000 }}
	l := newLoop(sim, newMessage(64), clk, newStats(nil))
	worst := 0
	err := l.closed(7, func(sent int64) bool { worst = max(worst, int(l.tail-l.head)); return sent < 1000 })
	if err != nil || l.stats.Requests != 1000 || l.head != 1000 {
		t.Fatalf("sent %d, answered %d, err %v", l.stats.Requests, l.head, err)
	}
	if worst != 6 { // asked before the seventh
		t.Fatalf("%d were outstanding when one more was allowed, the window is 7", worst)
	}
}

// scripted gives what it holds, in the pieces it holds it.
type scripted struct{ pieces [][]byte }

func (s *scripted) Write(b []byte) (int, error) { return len(b), nil }
func (s *scripted) Wait(int64) (bool, error)    { return true, nil }
func (s *scripted) Read(b []byte) (n int, _ error) {
	if len(s.pieces) == 0 {
		return 0, io.EOF
	}
	n = copy(b, s.pieces[0])
	if s.pieces[0] = s.pieces[0][n:]; len(s.pieces[0]) == 0 {
		s.pieces = s.pieces[1:]
	}
	return n, nil
}

func answerOf(corr int32, body int) []byte {
	b := make([]byte, 8+body)
	binary.BigEndian.PutUint32(b, uint32(4+body))
	binary.BigEndian.PutUint32(b[4:], uint32(corr))
	return b
}

func TestLoopTakesAnswersCutAnywhere(t *testing.T) {
	var stream []byte
	for i, size := range []int{0, 3, 700_000, 1, 0, 300_000} {
		stream = append(stream, answerOf(int32(i), size)...)
	}
	for _, cut := range []int{1, 7, 4096, 299_999, len(stream)} {
		s := &scripted{}
		for rest := stream; len(rest) > 0; {
			n := min(cut, len(rest))
			s.pieces, rest = append(s.pieces, rest[:n:n]), rest[n:]
		}
		if cut == 1 {
			s.pieces = s.pieces[:2000] // enough to cross two answers and the start of a large one
		}
		l := newLoop(s, newMessage(12), clock.NewManual(0), newStats(nil))
		err := l.closed(6, func(sent int64) bool { return sent < 6 })
		if cut == 1 && l.head == 2 {
			continue
		}
		if err != nil || l.stats.Bytes != 1_000_004 {
			t.Fatalf("cut at %d: %d bytes, %v", cut, l.stats.Bytes, err)
		}
	}
}

func TestLoopRefusesAnAnswerOutOfTurn(t *testing.T) {
	s := &scripted{pieces: [][]byte{answerOf(1, 0)}}
	l := newLoop(s, newMessage(12), clock.NewManual(0), newStats(nil))
	if err := l.closed(2, func(sent int64) bool { return sent < 2 }); !errors.Is(err, ErrAnswer) {
		t.Fatalf("err = %v", err)
	}
}
