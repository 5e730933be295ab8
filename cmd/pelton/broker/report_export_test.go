package broker

import (
	"context"
	"time"
)

// ReportWithin is the reporting of a failed directory on the clock of after.
func ReportWithin(ctx context.Context, limitNs int64, after func(ns int64) <-chan time.Time, report func(context.Context) error) error {
	return reportWithin(ctx, limitNs, after, report)
}
