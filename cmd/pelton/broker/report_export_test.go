package broker

import (
	"context"
	"time"
)

// ReportWithin is the reporting of a failed directory on the clock of after.
func ReportWithin(ctx context.Context, limitNs int64, after func(ns int64) <-chan time.Time, report func(context.Context) error) error {
	return reportWithin(ctx, limitNs, after, report)
}

// WatchFailures is the watch over failing directories.
func WatchFailures(ctx context.Context, failures <-chan string, left func() bool, report func(context.Context, string), none func()) {
	watchFailures(ctx, failures, left, report, none)
}
