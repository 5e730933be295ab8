package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pelton-broker/pelton/logstore"
)

// reportEvery is the pause between tries to report a failed log directory.
const reportEvery = 500 * time.Millisecond

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
	limit, cancel := context.WithTimeout(ctx, time.Duration(b.config.Long("log.dir.failure.timeout.ms"))*time.Millisecond)
	defer cancel()
	for {
		err := b.cluster.ReportLogDirFailure(limit)
		if err == nil || ctx.Err() != nil {
			return
		}
		select {
		case <-time.After(reportEvery):
		case <-limit.Done():
			if !errors.Is(ctx.Err(), context.Canceled) {
				b.fatal(fmt.Errorf("the failure of log directory %s could not be reported within log.dir.failure.timeout.ms: %w", dir, err))
			}
			return
		}
	}
}
