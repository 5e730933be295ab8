package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pelton-broker/pelton/perf/load"
)

func TestPerfAgainstABroker(t *testing.T) {
	s := session{t, ownBroker(t)}
	result := func(args ...string) (r load.Result) {
		t.Helper()
		if err := json.Unmarshal([]byte(s.ok("", append([]string{"perf"}, append(args, "--json", "--quiet")...)...)), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	made := result("produce", "--records", "3000", "--warmup", "0", "--keep", "--partitions", "4", "--keys", "500", "--key-distribution", "zipf", "--acks", "all", "--idempotent", "--batch-bytes", "8000")
	if made.Records < 3000 {
		t.Fatalf("%d records", made.Records)
	}
	read := result("consume", "--group", "readers", "--connections", "3")
	if read.Records != made.Records || !strings.Contains(strings.Join(read.Notes, " "), "3 members") {
		t.Fatalf("the group read %d of %d records: %v", read.Records, made.Records, read.Notes)
	}
	if list := s.ok("", "groups", "list"); strings.Contains(list, "readers") {
		t.Errorf("the group is left behind: %s", list)
	}
	if r := result("mixed", "--records", "2000", "--topic", "both", "--consumers", "2", "--batch-bytes", "4000"); r.Consumed == nil || r.Consumed.Records != 2*r.Records {
		t.Errorf("mixed: %+v", r.Consumed)
	}
}

// What other people's clients wrote comes again with its own pauses, twice as fast.
func TestPerfReplayKeepsThePace(t *testing.T) {
	s := session{t, ownBroker(t)}
	s.ok("", "topics", "create", "paced", "--partitions", "2")
	c, err := kgo.NewClient(kgo.SeedBrokers(s.address), kgo.DefaultProduceTopic("paced"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	begin := time.UnixMilli(1_700_000_000_000)
	for i := range 5 {
		r := &kgo.Record{Partition: int32(i % 2), Value: make([]byte, 100*(i+1)), Timestamp: begin.Add(time.Duration(i) * 100 * time.Millisecond)}
		if err := c.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "paced.load")
	s.ok("", "perf", "record", "--topic", "paced", "--file", file, "--quiet")
	trace, err := load.LoadTrace(file)
	if err != nil || len(trace.Entries) != 5 || trace.Entries[4].AtUs != 400_000 || trace.Entries[3].Partition != 1 {
		t.Fatalf("%v: %+v", err, trace)
	}
	var r load.Result
	out := s.ok("", "perf", "replay", "--topic", "again", "--partitions", "2", "--file", file, "--speed", "2", "--json", "--quiet")
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Records != 5 || r.Seconds < 0.2 || fmt.Sprintf("%.0f", r.AskedPerSecond) != "25" {
		t.Fatalf("%v: %s", err, out)
	}
}

// A log that holds more than what this run was told is a run whose figures nobody may believe: exit code 2, and the figures all the same.
func TestPerfEndsWithCode2WhenTheCountsDiffer(t *testing.T) {
	s := session{t, ownBroker(t)}
	s.ok("", "topics", "create", "shared", "--partitions", "1")
	c, err := kgo.NewClient(kgo.SeedBrokers(s.address), kgo.DefaultProduceTopic("shared"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { // somebody else writes all the time
		defer close(done)
		for ctx.Err() == nil {
			c.ProduceSync(ctx, kgo.StringRecord("x"))
		}
	}()
	args := []string{"perf", "produce", "-b", s.address, "--topic", "shared", "--partitions", "0", "--rate", "1000", "--records", "500", "--warmup", "0", "--quiet"}
	code, out, errs := cli(t, "", args...)
	sane, _, _ := cli(t, "", append(args, "--no-verify")...)
	cancel()
	<-done
	if code != exitCounts || !strings.Contains(errs, "counts differ") || !strings.Contains(out, "p99.9") || sane != 0 {
		t.Fatalf("code %d, %s\n%s\nwithout the comparison code %d", code, errs, out, sane)
	}
}
