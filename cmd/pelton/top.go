package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/perf/load"
)

// errAdmin is returned when the metrics page cannot be had; the message says from where.
var errAdmin = errors.New("no metrics page")

// topFlags are the flags of top.
type topFlags struct {
	admin      string
	interval   time.Duration
	once, json bool
	count      int
}

func topCommand(std streams) *cobra.Command {
	f := topFlags{}
	c := &cobra.Command{
		Use:   "top",
		Short: "Watch a broker: rates per shard and per API, phases of requests, disk and memory",
		Long: `Watch a broker by its metrics page (admin.listener): rates per shard and per API, where requests spend their time, appends in
the ring, what consumers read from the page cache and from the disk, connections that are not being read.
On a terminal the view is drawn anew each interval; elsewhere, and with TERM=dumb, views follow each other.`,
		Example: "  pelton top --admin 127.0.0.1:9101\n  pelton top --once                       # one view of one interval, for scripts\n  pelton top --json --count 10 | jq .records_in_per_second",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.interval < 100*time.Millisecond {
				return usageError("--interval %v: from 100ms on", f.interval)
			}
			if f.once {
				f.count = 1
			}
			return f.watch(cmd.Context(), std)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.admin, "admin", "127.0.0.1:9101", "host:port of the broker's admin.listener, or the page's address")
	fs.DurationVar(&f.interval, "interval", 2*time.Second, "time between two looks")
	fs.BoolVar(&f.once, "once", false, "show one interval and end")
	fs.BoolVar(&f.json, "json", false, "print one line of JSON for each interval")
	fs.IntVar(&f.count, "count", 0, "end after so many intervals; 0: go on")
	return c
}

// sparkWidth is how many intervals the line of dirty pages shows.
const sparkWidth = 40

// watch looks, waits, looks again and shows what was between.
func (f topFlags) watch(ctx context.Context, std streams) error {
	before, err := f.look(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	var dirty []float64
	clear := f.redraws(std.out)
	tick := time.NewTicker(f.interval)
	defer tick.Stop()
	for n := 0; f.count == 0 || n < f.count; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, err := f.look(ctx)
		if err != nil {
			return err
		}
		length := time.Since(began)
		began = time.Now()
		v := viewOf(before, now, length)
		dirty = append(dirty, v.Dirty)
		dirty = dirty[max(0, len(dirty)-sparkWidth):]
		v.dirty = dirty
		if err := f.show(std.out, v, clear, n); err != nil {
			return err
		}
		before = now
	}
	return nil
}

func (f topFlags) show(w io.Writer, v topView, clear bool, n int) error {
	if f.json {
		return json.NewEncoder(w).Encode(v)
	}
	var b strings.Builder
	switch {
	case clear:
		b.WriteString("\x1b[H\x1b[J")
	case n > 0:
		b.WriteString("\n")
	}
	on := screen{}
	if file, ok := w.(*os.File); ok && clear {
		on.columns, on.rows = load.TerminalSize(int(file.Fd()))
	}
	if err := v.print(&b, f.admin, on); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// redraws is true on a terminal that understands being cleared.
func (f topFlags) redraws(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || f.json || f.once || os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (f topFlags) look(ctx context.Context) (*perf.Scrape, error) { return scrape(ctx, f.admin) }

// scrape reads a broker's metrics page.
func scrape(ctx context.Context, admin string) (*perf.Scrape, error) {
	url := admin
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	if strings.Count(url, "/") == 2 {
		url += "/metrics"
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errAdmin, url, err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: is admin.listener set on the broker? %w", errAdmin, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %s: %s", errAdmin, url, resp.Status)
	}
	return perf.ReadScrape(resp.Body)
}
