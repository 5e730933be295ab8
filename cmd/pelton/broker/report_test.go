package broker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/pelton-broker/pelton/cmd/pelton/broker"
	"github.com/pelton-broker/pelton/internal/clock"
)

// timers yield when a manual clock has come to them.
type timers struct {
	mu    sync.Mutex
	clk   *clock.Manual
	start int64
	due   map[chan time.Time]int64
	asked chan struct{} // one for each timer
}

func newTimers() *timers {
	clk := clock.NewManual(0)
	return &timers{clk: clk, start: clk.Mono(), due: map[chan time.Time]int64{}, asked: make(chan struct{}, 1000)}
}

func (t *timers) after(ns int64) <-chan time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := make(chan time.Time, 1)
	t.due[c] = t.clk.Mono() + ns
	t.asked <- struct{}{}
	return c
}

func (t *timers) advance(d time.Duration) {
	t.clk.Advance(d)
	t.mu.Lock()
	defer t.mu.Unlock()
	for c, due := range t.due {
		if due <= t.clk.Mono() {
			delete(t.due, c)
			c <- time.Time{}
		}
	}
}

// has tells whether one is due that long after the start.
func (t *timers) has(at time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, due := range t.due {
		if due-t.start == int64(at) {
			return true
		}
	}
	return false
}

var errNobody = errors.New("nobody coordinates")

// log.dir.failure.timeout.ms: a directory's failure is reported until that succeeds, and the broker ends when the time has run out, whether
// the reports fail or hang.
func TestFailureOfADirectoryThatCannotBeReported(t *testing.T) {
	const limit = 30 * time.Second
	begin := func(ctx context.Context, report func(context.Context) error) (*timers, chan error) {
		clk, ended := newTimers(), make(chan error, 1)
		go func() { ended <- broker.ReportWithin(ctx, int64(limit), clk.after, report) }()
		<-clk.asked // that of the limit
		if !clk.has(limit) {
			t.Fatal("nothing ends the reports at the limit")
		}
		return clk, ended
	}
	t.Run("refused", func(t *testing.T) {
		tries := 0
		clk, ended := begin(t.Context(), func(context.Context) error { tries++; return errNobody })
		for at := time.Duration(0); at < limit; at += 500 * time.Millisecond {
			<-clk.asked // the pause behind a try
			select {
			case err := <-ended:
				t.Fatalf("ended after %v: %v", at, err)
			default:
			}
			clk.advance(500 * time.Millisecond)
		}
		if err := <-ended; !errors.Is(err, errNobody) {
			t.Errorf("ended with %v", err)
		}
		if tries < 60 || tries > 61 {
			t.Errorf("%d tries", tries)
		}
	})
	t.Run("hanging", func(t *testing.T) {
		hanging := make(chan struct{})
		clk, ended := begin(t.Context(), func(ctx context.Context) error { close(hanging); <-ctx.Done(); return ctx.Err() })
		<-hanging
		clk.advance(limit - 1)
		select {
		case err := <-ended:
			t.Fatalf("ended too early: %v", err)
		default:
		}
		clk.advance(1)
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
	t.Run("in-time", func(t *testing.T) {
		tries := 0
		clk, ended := begin(t.Context(), func(context.Context) error {
			if tries++; tries < 3 {
				return errNobody
			}
			return nil
		})
		for range 2 {
			<-clk.asked
			clk.advance(500 * time.Millisecond)
		}
		if err := <-ended; err != nil || tries != 3 {
			t.Errorf("%v after %d tries", err, tries)
		}
	})
	t.Run("stopping", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		clk, ended := begin(ctx, func(context.Context) error { return errNobody })
		<-clk.asked
		stop()
		if err := <-ended; err != nil {
			t.Errorf("a broker that stops: %v", err)
		}
	})
}

// The last directory fails while the failure of another one still cannot be reported: the broker ends at once, not when its patience does.
func TestLastDirectoryFailsWhileAReportHangs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	failures, hangs, none, ended := make(chan string, 2), make(chan string), make(chan struct{}), make(chan struct{})
	left := 2
	go func() {
		defer close(ended)
		broker.WatchFailures(ctx, failures, func() bool { left--; return left > 0 }, func(ctx context.Context, dir string) {
			hangs <- dir
			<-ctx.Done()
		}, func() { close(none) })
	}()
	failures <- "/a"
	want(t, "what is reported", <-hangs, "/a")
	failures <- "/b"
	select {
	case <-none:
	case <-time.After(answerWithin):
		t.Error("nobody noticed that no directory is left")
	}
	cancel()
	<-ended
}
