package main

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pelton-broker/pelton/perf"
)

// recorded is a metrics page of a broker while 20 000 records a second of 1 000 bytes came in, and after they were read.
func recorded(t *testing.T, name string) *perf.Scrape {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := perf.ReadScrape(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pageOf(t *testing.T, lines ...string) *perf.Scrape {
	t.Helper()
	s, err := perf.ReadScrape(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTopViewOfRecordedPages(t *testing.T) {
	before, now := recorded(t, "metrics-1.txt"), recorded(t, "metrics-2.txt")
	v := viewOf(before, now, 10*time.Second)
	records := now.Sum("broker_produce_records_total") - before.Sum("broker_produce_records_total")
	if v.RecordsIn != records/10 || records < 1000 || len(v.Shards) != 2 || v.Backend != "uring" {
		t.Fatalf("records/s %v of %v, %d shards, backend %q", v.RecordsIn, records/10, len(v.Shards), v.Backend)
	}
	sent := 0.0
	for _, s := range v.Shards {
		sent += s.BytesOut * 10
		if s.CacheHits != 1 || s.Turns <= 0 {
			t.Errorf("shard %s: everything was read from the page cache: %+v", s.Shard, s)
		}
	}
	if want := now.Sum("broker_network_sent_bytes_total") - before.Sum("broker_network_sent_bytes_total"); math.Abs(sent-want) > 1 || want < 50e6 {
		t.Errorf("%v bytes out, want %v", sent, want)
	}
	if v.APIs[0].API != "Produce" || v.APIs[1].API != "Fetch" || v.APIs[1].Requests != 9.8 {
		t.Errorf("the busiest API first: %+v", v.APIs)
	}
	shares := map[string]float64{}
	for _, p := range v.Phases {
		shares[p.Class] += p.Share
	}
	if math.Abs(shares["produce"]-1) > 1e-9 || math.Abs(shares["fetch"]-1) > 1e-9 {
		t.Errorf("the phases of a class are all of its time: %v", shares)
	}
	if len(v.Requests) < 2 || v.Requests[0].Class != "produce" || v.Requests[0].P50Us <= 0 || v.Requests[0].P99Us < v.Requests[0].P50Us {
		t.Errorf("totals %+v", v.Requests)
	}
}

func TestTopShowsColdReadsPausesAndTheRing(t *testing.T) {
	before := pageOf(t, `broker_shard_turns_total{shard="0"} 5`, `broker_fetch_sent_bytes_total{shard="0"} 100`, `broker_disk_cold_read_bytes_total{shard="0"} 10`,
		`broker_disk_cold_reads_total{shard="0"} 1`)
	now := pageOf(t, `broker_shard_turns_total{shard="0"} 25`, `broker_fetch_sent_bytes_total{shard="0"} 1100`, `broker_disk_cold_read_bytes_total{shard="0"} 260`,
		`broker_disk_cold_reads_total{shard="0"} 5`, `broker_network_connections_paused_count{shard="0"} 3`, `broker_disk_inflight_count{shard="0"} 7`)
	s := viewOf(before, now, 2*time.Second).Shards[0]
	if s.CacheHits != 0.75 || s.ColdReads != 2 || s.Paused != 3 || s.RingDepth != 7 || s.Turns != 10 {
		t.Errorf("%+v", s)
	}
	var b strings.Builder
	if err := viewOf(before, now, 2*time.Second).print(&b, "x", screen{}); err != nil || !strings.Contains(b.String(), "75.0 %") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestTopDrawsDirtyPages(t *testing.T) {
	was, now := pageOf(t), pageOf(t, "broker_machine_dirty_bytes 4e6", "broker_machine_writeback_bytes 1e6")
	v := viewOf(was, now, time.Second)
	v.dirty = []float64{0, 1e6, 4e6, 2e6}
	var b strings.Builder
	if err := v.print(&b, "x", screen{}); err != nil || !strings.Contains(b.String(), "dirty pages 4.00 MB, being written 1.00 MB  ▁▃█▅\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := viewOf(was, was, time.Second).print(&b, "x", screen{}); err != nil || strings.Contains(b.String(), "dirty") {
		t.Errorf("a broker that does not tell: %v\n%s", err, b.String())
	}
}

// On a terminal no line is longer than it is wide, and no view longer than it is high, with many shards and APIs too.
func TestTopFitsItsTerminal(t *testing.T) {
	v := viewOf(recorded(t, "metrics-1.txt"), recorded(t, "metrics-2.txt"), 10*time.Second)
	v.Dirty, v.dirty = 5e9, make([]float64, sparkWidth)
	for len(v.Shards) < 4 {
		v.Shards = append(v.Shards, v.Shards[0])
	}
	for len(v.APIs) < 30 {
		v.APIs = append(v.APIs, v.APIs[0])
	}
	for _, on := range []screen{{80, 24}, {160, 50}, {40, 10}} {
		var b strings.Builder
		if err := v.print(&b, "127.0.0.1:9101", on); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		for _, l := range lines {
			if len([]rune(l)) > on.columns {
				t.Errorf("%v: %d columns: %s", on, len([]rune(l)), l)
			}
		}
		if len(lines) >= on.rows {
			t.Errorf("%v: %d lines", on, len(lines))
		}
		if text := b.String(); on.rows > 20 && (!strings.Contains(text, "WHERE THE TIME") || !strings.Contains(text, "BUDGET")) {
			t.Errorf("%v: something is left out:\n%s", on, text)
		}
	}
}

func TestTopOnceInADumbTerminalAndAsJSON(t *testing.T) {
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := []string{"metrics-1.txt", "metrics-2.txt"}[n%2]
		n++
		http.ServeFile(w, r, "testdata/"+name)
	}))
	defer server.Close()
	admin := strings.TrimPrefix(server.URL, "http://")
	code, out, errs := cli(t, "", "top", "--admin", admin, "--once", "--interval", "100ms")
	for _, want := range []string{"SHARD", "Produce", "hop ", "PAUSED", "100.0 %"} {
		if code != 0 || !strings.Contains(out, want) || strings.Contains(out, "\x1b") {
			t.Fatalf("code %d, %s, lacks %q or has escapes:\n%s", code, errs, want, out)
		}
	}
	code, out, _ = cli(t, "", "top", "--admin", server.URL+"/metrics", "--json", "--count", "1", "--interval", "100ms")
	var v topView
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 || len(v.Shards) != 2 {
		t.Fatalf("%v, code %d, %s", err, code, out)
	}
}

func TestTopNamesWhatIsMissing(t *testing.T) {
	if code, _, errs := cli(t, "", "top", "--admin", deadAddress(t), "--once"); code != 1 || !strings.Contains(errs, "admin.listener") {
		t.Errorf("code %d, %s", code, errs)
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if code, _, errs := cli(t, "", "top", "--admin", server.URL, "--once"); code != 1 || !strings.Contains(errs, "404") {
		t.Errorf("code %d, %s", code, errs)
	}
	if code, _, errs := cli(t, "", "top", "--interval", "1ms"); code != 2 || !strings.Contains(errs, "from 100ms on") {
		t.Errorf("code %d, %s", code, errs)
	}
}
