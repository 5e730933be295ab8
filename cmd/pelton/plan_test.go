package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// planned runs the verb and gives the answers by question.
func planned(t *testing.T, flags ...string) (plan, map[string]float64) {
	t.Helper()
	code, out, errs := cli(t, "", append([]string{"plan", "--json"}, flags...)...)
	var p plan
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != 0 {
		t.Fatalf("plan %v: code %d, %v, %s", flags, code, err, errs)
	}
	answers := map[string]float64{}
	for _, a := range p.Answers {
		answers[a.Question] = a.Value
	}
	return p, answers
}

func TestPlanWorkedExamples(t *testing.T) {
	cases := []struct {
		flags, question string
		want            float64
		partitions      int
		brokers         int
	}{
		{"--topic-rate 1GB/s --consumer-rate 50MB/s", "partitions for the consumers", 20, 20, 0},
		{"--topic-rate 1GB/s --consumer-rate 50MB/s --producer-rate 30MB/s", "partitions for the producers", 34, 34, 0},
		{"--topic-rate 0.3GB/s --consumer-rate 0.1GB/s", "partitions for the consumers", 3, 3, 0}, // 0.3/0.1 is a little more than 3
		{"--per-day 1TB --keep-days 7", "kept, one copy", 7e12, 0, 0},
		{"--keep 10TB --broker-disk 2TB", "brokers by disk, one copy", 5, 0, 5},
		{"--keep 10TB --broker-disk 2TB --replication 2", "brokers by disk, all replicas", 10, 0, 10},
		{"--keep 10TB --broker-disk 2TB --disk-fill 0.8", "brokers by disk, one copy", 7, 0, 7},
		{"--nic-use 80% --consumers 2", "brokers by network", 2, 0, 2},
		{"--nic-use 0.8 --consumers 2 --replication 2", "brokers by network", 3, 0, 3},
		{"--topic-rate 300MB/s --nic 10Gbit --consumers 3 --replication 3", "bytes out", 1.5e9, 0, 2},
		{"--topic-rate 10MB/s --keep-days 2", "bytes a day", 864e9, 0, 0},
		{"--partitions 10000 --replication 3 --brokers 5", "replicas on a broker", 6000, 10000, 0},
		{"--partitions 10000 --replication 3 --brokers 5 --partition-election 2", "failover of a broker", 4000, 10000, 0},
		{"--partitions 100 --brokers 4 --partition-memory 100", "memory for them", 25 * 100 * 1024, 100, 0},
	}
	for _, c := range cases {
		p, answers := planned(t, strings.Fields(c.flags)...)
		if answers[c.question] != c.want || p.Partitions != c.partitions || p.Brokers != c.brokers {
			t.Errorf("%s: %s = %v (partitions %d, brokers %d), want %v (%d, %d)", c.flags, c.question, answers[c.question], p.Partitions, p.Brokers, c.want, c.partitions, c.brokers)
		}
	}
}

func TestPlanSaysWhatDoesNotFit(t *testing.T) {
	p, _ := planned(t, "--keep", "10TB", "--broker-disk", "2TB", "--brokers", "3", "--replication", "7")
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "35 are needed") {
		t.Errorf("notes %q", p.Notes)
	}
	if p, _ = planned(t, "--nic-use", "10%", "--replication", "3"); len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "3 replicas") {
		t.Errorf("notes %q", p.Notes)
	}
	for flags, want := range map[string]string{
		"":                            "too little is known",
		"--topic-rate 5furlongs/s":    "is not a number with one of",
		"--replication 0 --nic-use 1": "--replication from 1",
		"--disk-fill 2 --keep 1GB":    "--disk-fill",
	} {
		if code, _, errs := cli(t, "", append([]string{"plan"}, strings.Fields(flags)...)...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("plan %s: code %d, %q", flags, code, errs)
		}
	}
}

func TestPlanTableShowsTheArithmetic(t *testing.T) {
	code, out, _ := cli(t, "", "plan", "--topic-rate", "1GB/s", "--consumer-rate", "50MB/s")
	if code != 0 || !strings.Contains(out, "1 GB/s / 50 MB/s") || !strings.Contains(out, "partitions: 20") {
		t.Errorf("code %d\n%s", code, out)
	}
}
