package main

import (
	"fmt"
	"io"
	"sort"

	"github.com/pelton-broker/pelton/reactor/api"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// writeProtocolPage prints docs/PROTOCOL.md.
func writeProtocolPage(w io.Writer) {
	fmt.Fprint(w, "<!-- Printed from reactor/api's table by make gen. Do not edit. -->\n\n# Protocol\n\n"+
		"The API keys of Kafka that are served. *Told* is what ApiVersions says; where it begins below *served*, old clients need to see the lower version and get\n"+
		"UNSUPPORTED_VERSION when they use it. *Flexible* is the first version with tagged fields. *Access* is the operation and the resource that a rule would name.\n\n"+
		"| key | request | served | told | flexible | runs | access |\n|---|---|---|---|---|---|---|\n")
	rows := api.Rows()
	sort.Slice(rows, func(i, j int) bool { return rows[i].Key < rows[j].Key })
	for i := range rows {
		r := &rows[i]
		runs := "on the connection's shard"
		switch {
		case r.Handle == nil:
			runs = "on the shards, without copying"
		case r.Where == api.OnPool:
			runs = "off the shards"
		}
		fmt.Fprintf(w, "| %d | %s | %s | %s | %s | %s | %s |\n", r.Key, r.Name(), versions(r.Min, r.Max), versions(r.Advertised, r.Max), flexibleFrom(r.Key), runs, access(r))
	}
}

func versions(low, high int16) string {
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d–%d", low, high)
}

func flexibleFrom(key int16) string {
	req := kmsg.RequestForKey(key)
	for v := int16(0); v <= req.MaxVersion(); v++ {
		if req.SetVersion(v); req.IsFlexible() {
			return fmt.Sprint(v)
		}
	}
	return "never"
}

func access(r *api.Row) string {
	operations := [...]string{"", "Read", "Write", "Create", "Delete", "Alter", "Describe", "ClusterAction", "DescribeConfigs", "AlterConfigs", "IdempotentWrite"}
	resources := [...]string{"", "Topic", "Group", "Cluster", "TransactionalId"}
	if r.Operation == api.OpNone {
		return "everyone"
	}
	return operations[r.Operation] + " on " + resources[r.Resource]
}

// writeErrorsPage prints docs/ERRORS.md.
func writeErrorsPage(w io.Writer) {
	fmt.Fprint(w, "<!-- Printed by make gen. Do not edit. -->\n\n# Error codes\n\n"+
		"Kafka's codes with its names. A client repeats a request whose code is retriable, after looking for the leader or coordinator anew where the code says so.\n"+
		"Which of our errors becomes which code stands in one table, `reactor/api/errors.go`.\n\n| code | name | retriable |\n|---|---|---|\n")
	for code := int16(-1); code < 1000; code++ {
		e := kerr.TypedErrorForCode(code)
		if e == nil || code != -1 && e.Code == -1 {
			if code > 140 {
				break
			}
			continue
		}
		retriable := ""
		if e.Retriable {
			retriable = "yes"
		}
		fmt.Fprintf(w, "| %d | %s | %s |\n", e.Code, e.Message, retriable)
	}
}
