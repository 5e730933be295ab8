package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/pelton-broker/pelton/logstore"
)

// reportEveryNs is the pause between tries to report a failed log directory.
const reportEveryNs = 500_000_000

// dirFailed is told of every log directory that fails, once each, on any thread. A broker without any stops.
func (b *Broker) dirFailed(dir string, err error) {
	b.log.Error("log directory is offline", "dir", dir, "err", err.Error())
	b.dirFailures <- dir
}

// watchDirs tells the controller of log directories that failed, at the start or since.
func (b *Broker) watchDirs(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case dir := <-b.dirFailures:
			b.dirGone(ctx, dir)
		}
	}
}

func (b *Broker) dirGone(ctx context.Context, dir string) {
	left := 0
	for _, d := range b.logs.Dirs() {
		if d.Offline == nil {
			left++
		}
	}
	if left == 0 {
		b.fatal(fmt.Errorf("%w: all of %v have failed", logstore.ErrNoDir, b.config.LogDirs()))
		return
	}
	if err := reportWithin(ctx, b.config.Long("log.dir.failure.timeout.ms")*1e6, after, b.cluster.ReportLogDirFailure); err != nil {
		b.fatal(fmt.Errorf("the failure of log directory %s could not be reported within log.dir.failure.timeout.ms: %w", dir, err))
	}
}

// after yields once the nanoseconds have gone by.
func after(ns int64) <-chan time.Time { return time.After(time.Duration(ns)) }

// reportWithin reports until that succeeds. The last error when the time has run out: a broker whose partitions have a leader that cannot serve
// them, and who cannot say so, is worse than one that is gone. Nil also when ctx has ended.
func reportWithin(ctx context.Context, limitNs int64, after func(ns int64) <-chan time.Time, report func(context.Context) error) error {
	limit, cancel := context.WithCancel(ctx)
	defer cancel()
	late := after(limitNs)
	go func() { // a report may hang as long as nobody coordinates
		select {
		case <-late:
			cancel()
		case <-limit.Done():
		}
	}()
	for {
		err := report(limit)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if limit.Err() == nil {
			select {
			case <-after(reportEveryNs):
				continue
			case <-limit.Done():
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
}
