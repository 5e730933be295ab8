package main

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// probe is one request, made anew for each broker and version.
type probe struct {
	name string
	key  int16
	from int16 // first version in which the request makes sense
	to   int16 // last one; 0 means every later version
	// upToZero: version 0 alone.
	upToZero bool
	mask     []string // fields that may differ in its answer
	// make prepares the broker and builds the request.
	make func(w *world, v int16) (kmsg.Request, error)
	// raw asks by itself instead: for requests that no library would build.
	raw func(w *world) (kmsg.Response, error)
	// then keeps what later probes need.
	then func(w *world, v int16, resp kmsg.Response)
}

func (p probe) upTo() int16 {
	if p.to == 0 && !p.upToZero {
		return 1<<15 - 1
	}
	return p.to
}

// on runs the probe against one broker.
func (p probe) on(w *world, v int16) (kmsg.Response, error) {
	if p.raw != nil {
		return p.raw(w)
	}
	req, err := p.make(w, v)
	if err != nil {
		return nil, fmt.Errorf("preparing: %w", err)
	}
	resp, err := w.ask(req, v)
	if err == nil && p.then != nil {
		p.then(w, v, resp)
	}
	if f, ok := resp.(*kmsg.FetchResponse); ok && err == nil && (v < 4 || strings.HasPrefix(p.name, "old-")) {
		readable(f)
	}
	return resp, err
}

// probes is every probe in the order in which they run.
func probes() []probe {
	var all []probe
	for _, part := range [][]probe{versionProbes(), topicProbes(), moreTopicProbes(), configProbes(), produceProbes(), moreProduceProbes(), fetchProbes(),
		offsetProbes(), groupProbes(), lifeProbes(), clusterProbes(), pagedProbes(), wideProbes(), dirProbes(), oldProbes()} {
		all = append(all, part...)
	}
	return all
}

// plainMake is a request that needs no preparation.
func plainMake(build func(v int16) kmsg.Request) func(*world, int16) (kmsg.Request, error) {
	return func(_ *world, v int16) (kmsg.Request, error) { return build(v), nil }
}

func str(s string) *string { return &s }
