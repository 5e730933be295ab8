package perf

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func scraped(t *testing.T, text string) *Scrape {
	t.Helper()
	s, err := ReadScrape(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScrapeReadsWhatTheRegistryWrites(t *testing.T) {
	r := NewRegistry(2)
	r.Shard(0).AddAt(Requests, 0, 7)
	r.Shard(1).AddAt(Requests, 0, 5)
	r.Shard(1).AddAt(Requests, 1, 3)
	r.Read(LogEnd, func(emit Emit) { emit(42, "a\"\\\nb", "0") })
	for range 99 {
		r.Shard(0).ObserveAt(PhaseSeconds, PhaseAt(ClassProduce, PhaseParse), 3_000)
	}
	r.Shard(1).ObserveAt(PhaseSeconds, PhaseAt(ClassProduce, PhaseParse), 1_000_000)
	var page bytes.Buffer
	if _, err := r.WriteTo(&page); err != nil {
		t.Fatal(err)
	}
	s := scraped(t, page.String())
	if n := s.Sum("broker_api_requests_total"); n != 15 {
		t.Errorf("%v requests", n)
	}
	if n := s.Sum("broker_api_requests_total", "shard", "1", "api", "Produce"); n != 5 {
		t.Errorf("%v produce requests of shard 1", n)
	}
	if v := s.Values("broker_api_requests_total", "shard"); !slices.Equal(v, []string{"0", "1"}) {
		t.Errorf("shards %v", v)
	}
	if l := s.Samples("broker_log_end_offset"); len(l) != 1 || l[0].Label("topic") != "a\"\\\nb" || l[0].Value != 42 {
		t.Errorf("a label with quotes: %+v", l)
	}
	p50 := s.Quantile(0.5, "broker_request_phase_seconds", "class", "produce", "phase", "parse")
	p999 := s.Quantile(0.999, "broker_request_phase_seconds", "class", "produce", "phase", "parse")
	if p50 < 2e-6 || p50 > 4.1e-6 || p999 < 0.5e-3 || p999 > 1.1e-3 {
		t.Errorf("p50 %v, p99.9 %v", p50, p999)
	}
}

func TestScrapeSinceIsWhatCameLater(t *testing.T) {
	before := scraped(t, "a{x=\"1\"} 10\na{x=\"2\"} 5\nb 100\n")
	after := scraped(t, "a{x=\"1\"} 14\na{x=\"2\"} 5\na{x=\"3\"} 2 1700000000\nb 30\n")
	d := after.Since(before)
	if d.Sum("a") != 6 || d.Sum("a", "x", "3") != 2 || d.Sum("b") != 30 {
		t.Errorf("a grew by %v, new line %v, restarted counter %v", d.Sum("a"), d.Sum("a", "x", "3"), d.Sum("b"))
	}
	if d.Sum("none") != 0 || d.Quantile(0.5, "none") != 0 {
		t.Error("what is not on the page is zero")
	}
}

func TestScrapeRefusesWhatIsNoPage(t *testing.T) {
	for _, text := range []string{"<html>", "name", "name{x=\"1\" 5", "name{x} 5", "name five", "{x=\"1\"} 5"} {
		if _, err := ReadScrape(strings.NewReader("# a page\nok 1\n" + text)); !errors.Is(err, ErrPage) || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzReadScrape(f *testing.F) {
	f.Add("a{x=\"1\",le=\"+Inf\"} 3\nb NaN\n")
	f.Add("a{x=\"\\\"}\"} 1e9 5\n# HELP a b\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadScrape(strings.NewReader(text))
		if err != nil {
			return
		}
		d := s.Since(s)
		for name := range s.lines {
			if sum := d.Sum(name); sum != 0 && !math.IsNaN(sum) && !math.IsNaN(s.Sum(name)) && !math.IsInf(s.Sum(name), 0) && len(s.lines[name]) == 1 {
				t.Errorf("%s grew by %v since itself", name, sum)
			}
			_ = s.Quantile(0.5, strings.TrimSuffix(name, "_bucket"))
		}
	})
}
