package load

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/perf"
)

func TestEveryPhaseHasAMeaningAndAColour(t *testing.T) {
	seen := map[string]bool{}
	for p := range perf.NumPhases {
		if seen[phaseColour(p.String())] || phaseMeaning(p.String()) == "" {
			t.Errorf("phase %v: meaning %q, colour %s", p, phaseMeaning(p.String()), phaseColour(p.String()))
		}
		seen[phaseColour(p.String())] = true
	}
}

func TestRunShowsTheBrokersPhases(t *testing.T) {
	looks := 0
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		looks++
		const name = "broker_request_phase_seconds"
		fmt.Fprintf(w, "%s_sum{shard=\"0\",class=\"produce\",phase=\"parse\"} %d\n%s_count{shard=\"0\",class=\"produce\",phase=\"parse\"} %d\n", name, looks, name, 10*looks)
		fmt.Fprintf(w, "%s_sum{shard=\"0\",class=\"produce\",phase=\"device\"} %d\n%s_count{shard=\"0\",class=\"produce\",phase=\"device\"} %d\n", name, 3*looks, name, 5*looks)
	}))
	defer page.Close()
	b := newFakeBroker(t)
	o := small(ModeProduce, b.addr())
	o.Admin = strings.TrimPrefix(page.URL, "http://")
	var out, html bytes.Buffer
	r, err := Run(context.Background(), o, &out)
	if err != nil {
		t.Fatal(err)
	}
	// Between the looks: 1 s in ten parses, 3 s in the device for five of the ten requests.
	if len(r.Phases) != 2 || r.Phases[0].MeanUs != 1e5 || r.Phases[1].MeanUs != 3e5 || math.Abs(r.Phases[1].Share-0.75) > 1e-9 {
		t.Fatalf("%+v", r.Phases)
	}
	if !strings.Contains(out.String(), "device 75 % (300 ms), parse 25 %") {
		t.Errorf("the table lacks the phases:\n%s", out.String())
	}
	if err := r.html(&html); err != nil || strings.Count(html.String(), "<svg") != 4 || !strings.Contains(html.String(), "decoding and checking") {
		t.Errorf("%v", err)
	}
	page.Close()
	if _, err := Run(context.Background(), o, &out); err == nil || !strings.Contains(err.Error(), "metrics page") {
		t.Errorf("a page that is not there: %v", err)
	}
}
