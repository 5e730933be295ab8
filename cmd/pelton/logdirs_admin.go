package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// sample is one line of a metrics page.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

// addDurability adds what a broker's metrics page knows of its directories and logs: the protocol has no place for it.
func addDurability(ctx context.Context, admin string, views []logDirView) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+strings.TrimPrefix(admin, "http://")+"/metrics", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		return fmt.Errorf("the admin listener of the broker: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the admin listener of the broker answers %s", resp.Status)
	}
	list, err := readSamples(resp.Body)
	if err != nil {
		return err
	}
	mergeDurability(list, views)
	return nil
}

// mergeDurability puts the samples where they belong. Directories that the page does not name are another broker's.
func mergeDurability(list []sample, views []logDirView) {
	causes, durable, ends := map[string]string{}, map[string]int64{}, map[string]int64{}
	for _, s := range list {
		key := s.labels["topic"] + " " + s.labels["partition"]
		switch s.name {
		case "broker_logdir_offline_count":
			causes[s.labels["dir"]] = s.labels["cause"]
		case "broker_log_durable_offset":
			durable[key] = int64(s.value)
		case "broker_log_end_offset":
			ends[key] = int64(s.value)
		}
	}
	for i := range views {
		v := &views[i]
		cause, ours := causes[v.Dir]
		if !ours {
			continue
		}
		v.Cause = cause
		for j := range v.Partitions {
			p := &v.Partitions[j]
			key := fmt.Sprintf("%s %d", p.Topic, p.Partition)
			if at, ok := durable[key]; ok {
				p.Durable = &at
			}
			if at, ok := ends[key]; ok {
				p.End = &at
			}
		}
	}
}

// readSamples reads a page in Prometheus' text format; lines that are none are left out.
func readSamples(r io.Reader) ([]sample, error) {
	var out []sample
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, rest, ok := strings.Cut(lines.Text(), "{")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		s := sample{name: name, labels: map[string]string{}}
		if rest, ok = s.takeLabels(rest); !ok {
			continue
		}
		var err error
		if s.value, err = strconv.ParseFloat(strings.TrimSpace(rest), 64); err == nil {
			out = append(out, s)
		}
	}
	return out, lines.Err()
}

// takeLabels reads name="value", ... } with the escapes of the format.
func (s *sample) takeLabels(text string) (rest string, ok bool) {
	for {
		text = strings.TrimLeft(text, ", ")
		if after, end := strings.CutPrefix(text, "}"); end {
			return after, true
		}
		name, value, found := strings.Cut(text, "=\"")
		if !found {
			return "", false
		}
		var b strings.Builder
		i := 0
		for ; i < len(value) && value[i] != '"'; i++ {
			c := value[i]
			if c == '\\' && i+1 < len(value) {
				if i++; value[i] == 'n' {
					c = '\n'
				} else {
					c = value[i]
				}
			}
			b.WriteByte(c)
		}
		if i >= len(value) {
			return "", false
		}
		s.labels[name] = b.String()
		text = value[i+1:]
	}
}

// known prints a number that is there.
func known(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
