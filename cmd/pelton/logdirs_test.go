package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/perf"
)

func TestLogDirsTakeDurabilityFromTheMetricsPage(t *testing.T) {
	page, err := perf.ReadScrape(strings.NewReader(`# HELP broker_log_durable_offset x
# TYPE broker_log_durable_offset gauge
broker_log_durable_offset{topic="a",partition="0"} 7
broker_log_end_offset{topic="a",partition="0"} 9
broker_log_durable_offset{topic="b",partition="1"} 3
broker_logdir_offline_count{dir="/d1",cause=""} 0
broker_log_uncleanable_bytes{topic="a",partition="0",cause="it is damaged"} 17
broker_logdir_recovering_count{dir="/d1"} 3
broker_logdir_recovering_segments_count{dir="/d1"} 8
broker_logdir_offline_count{dir="/d\"2\"",cause="write: no\nroom"} 1
broker_up 1
`))
	if err != nil {
		t.Fatal(err)
	}
	views := []logDirView{
		{Dir: "/d1", Partitions: []logPartitionView{{Topic: "a"}}},
		{Dir: `/d"2"`},
		{Dir: "/other", Partitions: []logPartitionView{{Topic: "b", Partition: 1}}},
	}
	mergeDurability(page, views)
	a := views[0].Partitions[0]
	if a.Durable == nil || *a.Durable != 7 || a.End == nil || *a.End != 9 || views[0].Cause != "" {
		t.Errorf("%+v", views[0])
	}
	if views[1].Cause != "write: no\nroom" {
		t.Errorf("cause %q", views[1].Cause)
	}
	var out bytes.Buffer
	if err := printLogDirs(&connection{std: streams{out: &out}}, views, true); err != nil || !strings.Contains(out.String(), "online, 3 logs recovering (8 segments), 1 partitions uncleanable") ||
		!strings.Contains(out.String(), "uncleanable: it is damaged") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if p := views[2].Partitions[0]; p.Durable != nil {
		t.Error("another broker's partition got this one's figures")
	}
}

func TestLogDirsMove(t *testing.T) {
	dir := t.TempDir()
	s := session{t, brokerIn(t, dir, "one", "two")}
	s.ok("", "topics", "create", "goes")
	s.ok("a\nb\nc\n", "produce", "goes")
	from, to := dir+"/one", dir+"/two"
	if out := s.ok("", "log-dirs", "move", "goes", "0", from, "--json"); !onlyJSON(out) || !strings.Contains(out, `"state": "moved"`) && !strings.Contains(out, `"state": "there"`) {
		t.Fatal(out)
	}
	if out := s.ok("", "log-dirs", "move", "goes", "0", from, "--json"); !onlyJSON(out) || !strings.Contains(out, `"state": "there"`) {
		t.Error(out)
	}
	if out := s.ok("", "log-dirs", "move", "goes", "0", to); !strings.Contains(out, "goes-0 moved on broker 0") || !strings.Contains(out, "0 records missing") {
		t.Error(out)
	}
	if out := s.ok("", "consume", "goes", "-o", "beginning", "-e"); out != "a\nb\nc\n" {
		t.Errorf("%q", out)
	}
	for want, args := range map[string][]string{"has the log directory": {"goes", "0", "/nowhere"}, "in no log directory": {"goes", "5", to}, "no partition": {"goes", "x", to}} {
		code, _, errs := cli(t, "", append(append([]string{"log-dirs", "move"}, args...), "-b", s.address)...)
		if code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: code %d, %q", args, code, errs)
		}
	}
}
