package broker

import (
	"context"
	"fmt"
	"slices"
	"sync"
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
	watchFailures(ctx, b.dirFailures, b.anyDirLeft, b.reportDir, func() {
		b.fatal(fmt.Errorf("%w: all of %v have failed", logstore.ErrNoDir, b.config.LogDirs()))
	})
}

func (b *Broker) anyDirLeft() bool {
	return slices.ContainsFunc(b.logs.Dirs(), func(d logstore.DirInfo) bool { return d.Offline == nil })
}

func (b *Broker) reportDir(ctx context.Context, dir string) {
	if err := reportWithin(ctx, b.config.Long("log.dir.failure.timeout.ms")*1e6, after, b.cluster.ReportLogDirFailure); err != nil {
		b.fatal(fmt.Errorf("the failure of log directory %s could not be reported within log.dir.failure.timeout.ms: %w", dir, err))
	}
}

// watchFailures reports what comes from failures, each directory at most once, in turn, until ctx ends. A report may hang for as long as nobody
// coordinates; that none is left is noticed all the same.
func watchFailures(ctx context.Context, failures <-chan string, left func() bool, report func(context.Context, string), none func()) {
	reports := make(chan string, cap(failures))
	var reporter sync.WaitGroup
	defer reporter.Wait()
	reporter.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case dir := <-reports:
				report(ctx, dir)
			}
		}
	})
	for {
		select {
		case <-ctx.Done():
			return
		case dir := <-failures:
			if !left() {
				none()
				continue
			}
			reports <- dir
		}
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
