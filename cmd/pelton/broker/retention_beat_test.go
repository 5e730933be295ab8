package broker_test

import (
	"testing"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// Records older than retention.ms live until the next check, whatever else a log looks at meanwhile.
func TestOldRecordsLiveUntilTheNextCheck(t *testing.T) {
	n := own(t, "log.retention.check.interval.ms=300000")
	c := n.dial(t)
	name := topic(t, c, 1)
	mustProduce(c, name, timed(batch.None, 1_600_000_000_000))
	wait := fetchRequest(name, 0, 1)
	wait.MaxWaitMillis, wait.MinBytes = 2500, 1 // two beats go by
	c.receive(c.send(12, wait), wait)
	want(t, "earliest offset", listOffset(c, 7, name, 0, -2).Offset, 0)
	want(t, "records", len(readAll(c, name, 0, 0)), 1)
}

// A log that is dirty is cleaned at the next look of the cleaner, however far away the next check of retention is.
func TestDirtyLogsAreCleanedAtTheCleanersBeat(t *testing.T) {
	n := own(t, "log.retention.check.interval.ms=300000", "log.cleaner.backoff.ms=100")
	c := n.dial(t)
	name := topic(t, c, 1, "cleanup.policy=compact", "segment.bytes=2000", "min.cleanable.dirty.ratio=0.01")
	for range 40 {
		b := batch.NewBuilder(batch.None)
		b.Add(baseTime, []byte("the only key"), make([]byte, 200))
		mustProduce(c, name, b.Bytes())
	}
	eventually(t, "most of the values are gone", func() bool { return len(readAll(c, name, 0, 0)) < 20 })
}
