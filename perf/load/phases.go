package load

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/perf"
)

// PhaseShare is a phase's part of a broker's time for a class of requests, from its metrics page.
type PhaseShare struct {
	Class  string  `json:"class"`
	Phase  string  `json:"phase"`
	MeanUs float64 `json:"mean_us"`
	Share  float64 `json:"share"`
}

// scrape reads a broker's metrics page.
func scrape(ctx context.Context, admin string) (*perf.Scrape, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+strings.TrimPrefix(admin, "http://")+"/metrics", nil)
	if err != nil {
		return nil, fmt.Errorf("metrics page: %w", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("metrics page: is admin.listener=%s set on the broker? %w", admin, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics page of %s: %s", admin, resp.Status)
	}
	return perf.ReadScrape(resp.Body)
}

// phasesBefore is the page before what counts; nil when nobody asked for phases.
func phasesBefore(ctx context.Context, o Options) (*perf.Scrape, error) {
	if o.Admin == "" {
		return nil, nil
	}
	return scrape(ctx, o.Admin)
}

// phasesSince is where requests spent their time since that page.
func phasesSince(ctx context.Context, o Options, before *perf.Scrape) ([]PhaseShare, error) {
	if before == nil {
		return nil, nil
	}
	now, err := scrape(ctx, o.Admin)
	if err != nil {
		return nil, err
	}
	return phaseShares(now.Since(before)), nil
}

func phaseShares(d *perf.Scrape) (list []PhaseShare) {
	const name = "broker_request_phase_seconds"
	for c := range perf.NumClasses {
		class, sampled := c.String(), 0.0
		all := d.Sum(name+"_sum", "class", class)
		for p := range perf.NumPhases {
			sampled = max(sampled, d.Sum(name+"_count", "class", class, "phase", p.String()))
		}
		if all == 0 || sampled == 0 {
			continue
		}
		for p := range perf.NumPhases {
			if sum := d.Sum(name+"_sum", "class", class, "phase", p.String()); sum > 0 {
				list = append(list, PhaseShare{class, p.String(), sum / sampled * 1e6, sum / all})
			}
		}
	}
	return list
}

// phaseText names a class' phases, the large ones first; those below a hundredth are left out.
func phaseText(list []PhaseShare, class string) string {
	mine := slices.DeleteFunc(slices.Clone(list), func(p PhaseShare) bool { return p.Class != class || p.Share < 0.01 })
	slices.SortStableFunc(mine, func(a, b PhaseShare) int { return int(max(-1, min(1, (b.Share-a.Share)*1e6))) })
	parts := make([]string, len(mine))
	for i, p := range mine {
		parts[i] = fmt.Sprintf("%s %.0f %% (%s)", p.Phase, p.Share*100, short(p.MeanUs*1e3))
	}
	return strings.Join(parts, ", ")
}
