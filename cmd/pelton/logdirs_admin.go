package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pelton-broker/pelton/perf"
)

// addDurability adds what a broker's metrics page knows of its directories and logs: the protocol has no place for it.
func addDurability(ctx context.Context, admin string, views []logDirView) error {
	page, err := scrape(ctx, admin)
	if err != nil {
		return err
	}
	mergeDurability(page, views)
	return nil
}

// mergeDurability puts the samples where they belong. Directories that the page does not name are another broker's.
func mergeDurability(page *perf.Scrape, views []logDirView) {
	causes := map[string]string{}
	for _, s := range page.Samples("broker_logdir_offline_count") {
		causes[s.Label("dir")] = s.Label("cause")
	}
	recovering, segments := dirsOn(page, "broker_logdir_recovering_count"), dirsOn(page, "broker_logdir_recovering_segments_count")
	durable, ends := offsetsOn(page, "broker_log_durable_offset"), offsetsOn(page, "broker_log_end_offset")
	uncleanable := map[string]string{}
	for _, s := range page.Samples("broker_log_uncleanable_bytes") {
		uncleanable[s.Label("topic")+" "+s.Label("partition")] = s.Label("cause")
	}
	for i := range views {
		v := &views[i]
		cause, ours := causes[v.Dir]
		if !ours {
			continue
		}
		v.Cause, v.Recovering, v.Segments = cause, recovering[v.Dir], segments[v.Dir]
		for j := range v.Partitions {
			p := &v.Partitions[j]
			key := fmt.Sprintf("%s %d", p.Topic, p.Partition)
			if at, ok := durable[key]; ok {
				p.Durable = &at
			}
			if at, ok := ends[key]; ok {
				p.End = &at
			}
			p.Uncleanable = uncleanable[key]
		}
	}
}

// dirsOn is a metric's value for each log directory.
func dirsOn(page *perf.Scrape, metric string) map[string]*int64 {
	at := map[string]*int64{}
	for _, s := range page.Samples(metric) {
		n := int64(s.Value)
		at[s.Label("dir")] = &n
	}
	return at
}

// offsetsOn is a metric's value for each partition, by "topic partition".
func offsetsOn(page *perf.Scrape, metric string) map[string]int64 {
	at := map[string]int64{}
	for _, s := range page.Samples(metric) {
		at[s.Label("topic")+" "+s.Label("partition")] = int64(s.Value)
	}
	return at
}

// known prints a number that is there.
func known(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
