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
