package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/perf"
)

// topView is one interval of a broker's life, made of two metrics pages.
type topView struct {
	Seconds    float64      `json:"seconds"`
	Uptime     float64      `json:"uptime_s"`
	Backend    string       `json:"disk_backend"`
	Dirty      float64      `json:"dirty_bytes"` // of the machine's page cache; -1: the broker does not tell
	Writeback  float64      `json:"writeback_bytes"`
	dirty      []float64    // the last intervals', this one's too
	Partitions float64      `json:"partitions"`
	RecordsIn  float64      `json:"records_in_per_second"`
	Shards     []shardView  `json:"shards"`
	APIs       []apiView    `json:"apis"`
	Phases     []phaseView  `json:"phases"`
	Requests   []classTotal `json:"request_totals"`
}

// shardView is a shard's interval. Rates are per second; what has no rate is as it stood at the end.
type shardView struct {
	Shard        string  `json:"shard"`
	Turns        float64 `json:"turns_per_second"`
	SlowTurns    float64 `json:"slow_turns"`
	Requests     float64 `json:"requests_per_second"`
	BytesIn      float64 `json:"bytes_in_per_second"`
	BytesOut     float64 `json:"bytes_out_per_second"`
	Connections  float64 `json:"connections"`
	Paused       float64 `json:"paused_connections"`
	RingDepth    float64 `json:"ring_depth"`
	WaitProduce  float64 `json:"waiting_produce"`
	WaitFetch    float64 `json:"waiting_fetch"`
	ColdReads    float64 `json:"cold_reads_per_second"`
	CacheHits    float64 `json:"page_cache_hit_share"` // of the bytes sent to consumers; −1: none were sent
	BudgetBytes  float64 `json:"budget_used_bytes"`
	BudgetPauses float64 `json:"budget_pauses"`
}

// apiView is an API's interval.
type apiView struct {
	API      string  `json:"api"`
	Requests float64 `json:"requests_per_second"`
	Errors   float64 `json:"errors_per_second"`
	BytesIn  float64 `json:"request_bytes_per_second"`
	BytesOut float64 `json:"response_bytes_per_second"`
}

// phaseView is where the sampled requests of a class were.
type phaseView struct {
	Class  string  `json:"class"`
	Phase  string  `json:"phase"`
	MeanUs float64 `json:"mean_us"` // over all sampled requests of the class, those that did not meet the phase too
	P99Us  float64 `json:"p99_us"`
	Share  float64 `json:"share"`
}

// classTotal is how long whole requests of a class took.
type classTotal struct {
	Class  string  `json:"class"`
	Rate   float64 `json:"requests_per_second"`
	MeanUs float64 `json:"mean_us"`
	P50Us  float64 `json:"p50_us"`
	P99Us  float64 `json:"p99_us"`
}

// viewOf compares two pages that lie length apart.
func viewOf(before, now *perf.Scrape, length time.Duration) topView {
	s := max(length.Seconds(), 1e-3)
	d := now.Since(before)
	v := topView{Seconds: s, Uptime: now.Sum("broker_process_uptime_seconds"), Partitions: now.Sum("broker_replica_partitions_count"), RecordsIn: d.Sum("broker_produce_records_total") / s}
	if v.Dirty = -1; len(now.Samples("broker_machine_dirty_bytes")) > 0 {
		v.Dirty, v.Writeback = now.Sum("broker_machine_dirty_bytes"), now.Sum("broker_machine_writeback_bytes")
	}
	for _, l := range now.Samples("broker_disk_backend_info") {
		if l.Value == 1 {
			v.Backend = l.Label("backend")
		}
	}
	for _, shard := range now.Values("broker_shard_turns_total", "shard") {
		if shard != "off" {
			v.Shards = append(v.Shards, shardOf(d, now, shard, s))
		}
	}
	for _, api := range now.Values("broker_api_requests_total", "api") {
		a := apiView{API: api, Requests: d.Sum("broker_api_requests_total", "api", api) / s, Errors: d.Sum("broker_api_request_errors_total", "api", api) / s,
			BytesIn: d.Sum("broker_api_request_bytes_total", "api", api) / s, BytesOut: d.Sum("broker_api_response_bytes_total", "api", api) / s}
		if a.Requests > 0 {
			v.APIs = append(v.APIs, a)
		}
	}
	slices.SortStableFunc(v.APIs, func(a, b apiView) int { return int(max(-1, min(1, b.Requests-a.Requests))) })
	for _, class := range []string{"produce", "fetch", "other"} {
		v.Phases = append(v.Phases, phasesOf(d, class)...)
		const total = "broker_request_total_seconds"
		if n := d.Sum(total+"_count", "class", class); n > 0 {
			v.Requests = append(v.Requests, classTotal{class, n / s, d.Sum(total+"_sum", "class", class) / n * 1e6, d.Quantile(0.5, total, "class", class) * 1e6, d.Quantile(0.99, total, "class", class) * 1e6})
		}
	}
	return v
}

func shardOf(d, now *perf.Scrape, shard string, s float64) shardView {
	grew := func(name string) float64 { return d.Sum(name, "shard", shard) }
	at := func(name string) float64 { return now.Sum(name, "shard", shard) }
	v := shardView{Shard: shard, Turns: grew("broker_shard_turns_total") / s, SlowTurns: grew("broker_shard_slow_turns_total"), Requests: grew("broker_api_requests_total") / s,
		BytesIn: grew("broker_network_received_bytes_total") / s, BytesOut: grew("broker_network_sent_bytes_total") / s,
		Connections: at("broker_network_connections_active_count"), Paused: at("broker_network_connections_paused_count"), RingDepth: at("broker_disk_inflight_count"),
		WaitProduce: at("broker_purgatory_produce_waiting_count"), WaitFetch: at("broker_purgatory_fetch_waiting_count"), ColdReads: grew("broker_disk_cold_reads_total") / s,
		CacheHits: -1, BudgetBytes: at("broker_shard_budget_used_bytes"), BudgetPauses: grew("broker_shard_budget_pauses_total")}
	if sent := grew("broker_fetch_sent_bytes_total"); sent > 0 {
		v.CacheHits = max(0, 1-grew("broker_disk_cold_read_bytes_total")/sent)
	}
	return v
}

// phasesOf is each phase's part of a class' sampled requests, in the order in which a request meets them.
func phasesOf(d *perf.Scrape, class string) (list []phaseView) {
	const name = "broker_request_phase_seconds"
	all, sampled := d.Sum(name+"_sum", "class", class), 0.0
	for p := range perf.NumPhases {
		sampled = max(sampled, d.Sum(name+"_count", "class", class, "phase", p.String()))
	}
	if all == 0 || sampled == 0 {
		return nil
	}
	for p := range perf.NumPhases {
		sum := d.Sum(name+"_sum", "class", class, "phase", p.String())
		if sum == 0 {
			continue
		}
		list = append(list, phaseView{class, p.String(), sum / sampled * 1e6, d.Quantile(0.99, name, "class", class, "phase", p.String()) * 1e6, sum / all})
	}
	return list
}

// print draws the view for a screen; one of no size takes everything.
func (v topView) print(w io.Writer, admin string, on screen) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  up %v  %d shards  %g partitions  disk %s  %.1f s  %s records/s in\n%s\n", admin, (time.Duration(v.Uptime) * time.Second).String(), len(v.Shards), v.Partitions, orDash(v.Backend), v.Seconds, counted(v.RecordsIn), v.dirtyLine())
	traffic, state := []string{"SHARD", "TURNS/S", "SLOW", "REQUESTS/S", "MB/S IN", "MB/S OUT"}, []string{"CONNS", "PAUSED", "RING", "WAITING P/F", "COLD/S", "CACHE", "BUDGET"}
	narrow := on.columns > 0 && on.columns < shardColumns
	one, two := newTable(append(slices.Clone(traffic), state...)...), newTable(append([]string{"SHARD"}, state...)...)
	if narrow {
		one = newTable(traffic...)
	}
	for _, s := range v.Shards {
		hits := "-"
		if s.CacheHits >= 0 {
			hits = fmt.Sprintf("%.1f %%", s.CacheHits*100)
		}
		moves := []any{s.Shard, counted(s.Turns), s.SlowTurns, counted(s.Requests), mega(s.BytesIn), mega(s.BytesOut)}
		holds := []any{s.Connections, s.Paused, s.RingDepth, fmt.Sprintf("%g/%g", s.WaitProduce, s.WaitFetch), counted(s.ColdReads), hits, humanBytes(int64(s.BudgetBytes))}
		if narrow {
			one.add(moves...)
			two.add(append([]any{s.Shard}, holds...)...)
			continue
		}
		one.add(append(moves, holds...)...)
	}
	requests := newTable("REQUESTS", "PER S", "MEAN", "P50", "P99", "WHERE THE TIME GOES")
	for _, r := range v.Requests {
		requests.add(r.Class, counted(r.Rate), micros(r.MeanUs), micros(r.P50Us), micros(r.P99Us), v.phaseBar(r.Class))
	}
	tables := []*table{one, v.apiTable(on, narrow), requests}
	if narrow {
		tables = slices.Insert(tables, 1, two)
	}
	for i, t := range tables {
		if i > 0 {
			b.WriteString("\n")
		}
		if err := t.print(&b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, on.cut(b.String()))
	return err
}

// dirtyLine shows what of the page cache waits for the disk, and how that went: a rising line ends in writers that are stopped.
func (v topView) dirtyLine() string {
	if v.Dirty < 0 {
		return ""
	}
	return fmt.Sprintf("dirty pages %s MB, being written %s MB  %s\n", mega(v.Dirty), mega(v.Writeback), spark(v.dirty))
}

// spark draws values as bars, the largest one full.
func spark(values []float64) string {
	if len(values) < 2 {
		return ""
	}
	bars, most := []rune("▁▂▃▄▅▆▇█"), slices.Max(values)
	var b strings.Builder
	for _, v := range values {
		b.WriteRune(bars[int(v/max(most, 1)*float64(len(bars)-1)+0.5)])
	}
	return b.String()
}

// shardColumns is the width that a shard's line wants.
const shardColumns = 112

// apiTable has the busiest APIs, as many as there is room for beside the rest.
func (v topView) apiTable(on screen, narrow bool) *table {
	t := newTable("API", "REQUESTS/S", "ERRORS/S", "MB/S IN", "MB/S OUT")
	room := len(v.APIs)
	if on.rows > 0 {
		taken := 8 + strings.Count(v.dirtyLine(), "\n") + len(v.Shards) + len(v.Requests)
		if narrow {
			taken += 2 + len(v.Shards)
		}
		room = min(room, max(3, on.rows-taken))
	}
	for _, a := range v.APIs[:room] {
		t.add(a.API, counted(a.Requests), counted(a.Errors), mega(a.BytesIn), mega(a.BytesOut))
	}
	return t
}

// screen is a terminal's size; zeros are no bound.
type screen struct{ columns, rows int }

// cut leaves out what a screen has no room for: a line that goes on in the next one would push the others off it.
func (on screen) cut(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if on.rows > 1 && len(lines) > on.rows-1 {
		lines = lines[:on.rows-1]
	}
	for i, l := range lines {
		if r := []rune(strings.TrimRight(l, " ")); on.columns > 0 && len(r) > on.columns {
			lines[i] = string(r[:on.columns-1]) + "…"
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// phaseBar names a class' phases with their share of its time, the large ones first.
func (v topView) phaseBar(class string) string {
	var mine []phaseView
	for _, p := range v.Phases {
		if p.Class == class {
			mine = append(mine, p)
		}
	}
	slices.SortStableFunc(mine, func(a, b phaseView) int { return int(max(-1, min(1, (b.Share-a.Share)*1e6))) })
	var parts []string
	for _, p := range mine {
		if share := p.Share * 100; share >= 1 || len(parts) == 0 {
			parts = append(parts, fmt.Sprintf("%s %.0f%% %s", p.Phase, share, micros(p.MeanUs)))
		}
	}
	return strings.Join(parts, ", ")
}

// counted is a count or rate that keeps its column narrow.
func counted(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'f', 2, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'f', 1, 64) + "k"
	case v >= 10 || v == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

func mega(v float64) string { return strconv.FormatFloat(v/1e6, 'f', 2, 64) }

// micros is a time with three digits.
func micros(us float64) string {
	switch {
	case us >= 1e6:
		return strconv.FormatFloat(us/1e6, 'g', 3, 64) + "s"
	case us >= 1e3:
		return strconv.FormatFloat(us/1e3, 'g', 3, 64) + "ms"
	}
	return strconv.FormatFloat(us, 'g', 3, 64) + "us"
}
