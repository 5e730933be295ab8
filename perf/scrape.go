package perf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ErrPage is returned when a metrics page cannot be read; the message has the line.
var ErrPage = errors.New("perf: not a metrics page")

// maxPageLines bounds what a page may hold: a broker with ten thousand partitions writes about a hundred thousand lines.
const maxPageLines = 4 << 20

// Sample is one line of a metrics page.
type Sample struct {
	Labels []string // name, value, name, value …
	Value  float64
}

// Label is the value of a label; empty when the line has none of that name.
func (s Sample) Label(name string) string {
	for i := 0; i+1 < len(s.Labels); i += 2 {
		if s.Labels[i] == name {
			return s.Labels[i+1]
		}
	}
	return ""
}

// Scrape is a metrics page as somebody else reads it.
type Scrape struct{ lines map[string][]Sample }

// ReadScrape reads a page in Prometheus' text form.
func ReadScrape(r io.Reader) (*Scrape, error) {
	s := &Scrape{lines: map[string][]Sample{}}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		text := strings.TrimSpace(in.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		name, sample, err := readLine(text)
		if err != nil || n > maxPageLines {
			return nil, fmt.Errorf("%w: line %d: %q", ErrPage, n, text[:min(len(text), 80)])
		}
		s.lines[name] = append(s.lines[name], sample)
	}
	return s, in.Err()
}

// readLine takes name{label="value",…} number apart.
func readLine(text string) (name string, s Sample, err error) {
	at := strings.IndexAny(text, "{ ")
	if at <= 0 {
		return "", s, ErrPage
	}
	name, rest := text[:at], text[at:]
	if rest[0] == '{' {
		if s.Labels, rest, err = readLabels(rest[1:]); err != nil {
			return "", s, err
		}
	}
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ") // a time may follow
	s.Value, err = strconv.ParseFloat(number, 64)
	return name, s, err
}

func readLabels(text string) (labels []string, rest string, err error) {
	for {
		text = strings.TrimLeft(text, ", ")
		if rest, ok := strings.CutPrefix(text, "}"); ok {
			return labels, rest, nil
		}
		name, after, ok := strings.Cut(text, `="`)
		if !ok {
			return nil, "", ErrPage
		}
		var value strings.Builder
		i := 0
		for ; i < len(after) && after[i] != '"'; i++ {
			c := after[i]
			if c == '\\' && i+1 < len(after) {
				i++
				if c = after[i]; c == 'n' {
					c = '\n'
				}
			}
			value.WriteByte(c)
		}
		if i >= len(after) {
			return nil, "", ErrPage
		}
		labels, text = append(labels, name, value.String()), after[i+1:]
	}
}

// Samples are the lines of a metric whose labels have the values asked for, given as name, value, name, value.
func (s *Scrape) Samples(name string, match ...string) []Sample {
	if len(match) == 0 {
		return s.lines[name]
	}
	var found []Sample
	for _, l := range s.lines[name] {
		fits := true
		for i := 0; i+1 < len(match) && fits; i += 2 {
			fits = l.Label(match[i]) == match[i+1]
		}
		if fits {
			found = append(found, l)
		}
	}
	return found
}

// Sum adds up the lines of a metric.
func (s *Scrape) Sum(name string, match ...string) (sum float64) {
	for _, l := range s.Samples(name, match...) {
		sum += l.Value
	}
	return sum
}

// Values are the values of a label that a metric's lines have, numbers in order of number.
func (s *Scrape) Values(name, label string) []string {
	var values []string
	for _, l := range s.lines[name] {
		if v := l.Label(label); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	slices.SortFunc(values, func(a, b string) int {
		x, errX := strconv.Atoi(a)
		y, errY := strconv.Atoi(b)
		if errX == nil && errY == nil {
			return x - y
		}
		return strings.Compare(a, b)
	})
	return values
}

// Since is what was counted after an earlier page: each line less its value there. A counter that has become smaller began
// anew with its process, and counts whole. Only counters and histograms make sense in it.
func (s *Scrape) Since(before *Scrape) *Scrape {
	d := &Scrape{lines: make(map[string][]Sample, len(s.lines))}
	for name, lines := range s.lines {
		was := make(map[string]float64, len(lines))
		for _, l := range before.lines[name] {
			was[strings.Join(l.Labels, "\x00")] = l.Value
		}
		for _, l := range lines {
			if old := was[strings.Join(l.Labels, "\x00")]; old <= l.Value {
				l.Value -= old
			}
			d.lines[name] = append(d.lines[name], l)
		}
	}
	return d
}

// Quantile is read from a histogram's buckets, all lines that match together, between whose edges it goes by proportion; 0 for an
// empty one.
func (s *Scrape) Quantile(q float64, name string, match ...string) float64 {
	type bucket struct{ edge, count float64 }
	counts := map[float64]float64{}
	for _, l := range s.Samples(name+"_bucket", match...) {
		edge, err := strconv.ParseFloat(l.Label("le"), 64)
		if err != nil {
			continue
		}
		counts[edge] += l.Value
	}
	var buckets []bucket
	for edge, n := range counts {
		buckets = append(buckets, bucket{edge, n})
	}
	slices.SortFunc(buckets, func(a, b bucket) int {
		if a.edge < b.edge {
			return -1
		}
		return 1
	})
	if len(buckets) == 0 {
		return 0
	}
	want := q * buckets[len(buckets)-1].count
	low, before := 0.0, 0.0
	for _, b := range buckets {
		if b.count >= want && b.count > before {
			if math.IsInf(b.edge, 1) {
				return low
			}
			return low + (b.edge-low)*(want-before)/(b.count-before)
		}
		low, before = b.edge, b.count
	}
	return 0
}
