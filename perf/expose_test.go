package perf

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func pageOf(t *testing.T, r *Registry) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := r.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageIsPrometheusText(t *testing.T) {
	r := NewRegistry(2)
	r.Shard(0).AddAt(Requests, 0, 3)
	r.Shard(1).AddAt(Requests, 0, 4)
	r.Shard(0).ObserveAt(PhaseSeconds, PhaseAt(ClassProduce, PhaseSync), 1500)
	r.Shard(0).Observe(TurnSeconds, 2_000_000)
	r.Gauge(Partitions, func() int64 { return 12 })
	r.Read(LogDirFree, func(emit Emit) { emit(7, `/a"b\c`) })
	r.Shared().Add(BadFrames, 1)
	r.Shard(1).AddAt(DiskOps, DiskAt(BackendUring, DiskSync), 2)
	r.Count(DiskOps, 1, DiskAt(BackendUring, DiskSync), func() int64 { return 40 })
	if got := r.Total(DiskOps); got != 42 {
		t.Errorf("total of a counter that is kept elsewhere: %d", got)
	}
	text := pageOf(t, r)
	for _, want := range []string{
		`broker_api_requests_total{shard="1",api="Produce"} 4`,
		`kafka_network_requestmetrics_requests_total{api="Produce"} 7`,
		`broker_request_phase_seconds_bucket{shard="0",class="produce",phase="fsync",le="2.048e-06"} 1`,
		`broker_request_phase_seconds_bucket{shard="0",class="produce",phase="fsync",le="1.024e-06"} 0`,
		`broker_shard_turn_seconds_sum{shard="0"} 0.002`,
		`broker_replica_partitions_count 12`,
		`broker_disk_operations_total{shard="1",backend="uring",kind="sync"} 42`,
		`kafka_server_replicamanager_partitioncount 12`,
		`broker_logdir_free_bytes{dir="/a\"b\\c"} 7`,
		`broker_network_bad_frames_total{shard="off"} 1`,
		`broker_shard_turns_total{shard="0"} 0`,
		`# TYPE broker_shard_turn_seconds histogram`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the page lacks %s", want)
		}
	}
	line := regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)+\})? [0-9.e+-]+)$`)
	seen := map[string]bool{}
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		if !line.MatchString(l) {
			t.Errorf("not a line of the text format: %s", l)
		}
		series, _, _ := strings.Cut(l, "} ")
		if strings.HasPrefix(l, "# TYPE") || !strings.HasPrefix(l, "#") {
			if seen[series] {
				t.Errorf("series twice: %s", series)
			}
			seen[series] = true
		}
	}
}

func TestPageLeavesOutWhatNeverCounted(t *testing.T) {
	if text := pageOf(t, NewRegistry(1)); strings.Contains(text, `api="`) || strings.Contains(text, "broker_log_end_offset") {
		t.Fatal("positions that never counted and gauges without a callback must not be on the page")
	}
}

func TestTraceKeepsTheNewestInOrder(t *testing.T) {
	tr := NewTrace(3)
	for i := range 5 {
		tr.Note(int64(i), EventSlowDisk, 10, int64(i*i))
	}
	var b bytes.Buffer
	if err := tr.Dump(&b); err != nil {
		t.Fatal(err)
	}
	want := "at=2 event=slow-disk took=10 detail=4\nat=3 event=slow-disk took=10 detail=9\nat=4 event=slow-disk took=10 detail=16\n"
	if b.String() != want {
		t.Fatalf("dump:\n%s", b.String())
	}
}
