package broker_test

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// page is the metrics page: values by line, summed over the shards.
type page map[string]float64

func (n *node) page(t *testing.T) page {
	t.Helper()
	resp, err := http.Get("http://" + n.broker.Ready().Admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	p := page{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		end := strings.LastIndexByte(line, ' ') // a label may have blanks
		name, value := line[:max(end, 0)], line[end+1:]
		for _, shard := range []string{`shard="0"`, `shard="1"`, `shard="off"`} {
			name = strings.NewReplacer("{"+shard+"}", "", shard+",", "").Replace(name)
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		p[name] += v
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return p
}

// moved checks by how much values have grown.
func moved(t *testing.T, before, after page, due map[string]float64) {
	t.Helper()
	for name, by := range due {
		if got := after[name] - before[name]; got != by {
			t.Errorf("%s moved by %v, want %v", name, got, by)
		}
	}
}

// What producers and consumers do is on the page at once, to the byte.
func TestMetricsCountProduceAndFetch(t *testing.T) {
	n := own(t, quiet("admin.listener=127.0.0.1:0")...)
	c := n.dial(t)
	name := topic(t, c, 1)
	records := sequenced(producerID(t, c), 0, 0, 2)
	before := n.page(t)

	want(t, "first", produce(c, name, records).ErrorCode, 0)
	want(t, "again", produce(c, name, records).ErrorCode, 0)
	broken := values("x")
	broken[len(broken)-1]++
	want(t, "broken", produce(c, name, broken).ErrorCode, 2)
	want(t, "bytes", len(fetch(c, name, 0).RecordBatches), len(records))
	want(t, "out of range", fetch(c, name, 99).ErrorCode, 1)

	after := n.page(t)
	size, tp := float64(len(records)), `{topic="`+name+`",partition="0"}`
	moved(t, before, after, map[string]float64{
		`broker_api_requests_total{api="Produce"}`: 3, `broker_api_requests_total{api="Fetch"}`: 2,
		`broker_api_request_errors_total{api="Produce"}`: 1, `broker_api_request_errors_total{api="Fetch"}`: 1,
		`broker_api_answered_errors_total{code="2"}`: 1, `broker_api_answered_errors_total{code="1"}`: 1,
		"broker_produce_received_bytes_total": size, "broker_produce_records_total": 2, "broker_produce_batches_total": 1,
		"broker_produce_duplicate_batches_total": 1, "broker_produce_rejected_batches_total": 1, "broker_fetch_sent_bytes_total": size,
		"broker_purgatory_produce_waiting_count": 0, "broker_purgatory_fetch_waiting_count": 0,
		"broker_log_end_offset" + tp: 2, "broker_log_size_bytes" + tp: size,
		"kafka_server_brokertopicmetrics_bytesin_total": size,
	})
	for _, api := range []string{"Produce", "Fetch"} {
		for _, m := range []string{"broker_api_request_bytes_total", "broker_api_response_bytes_total"} {
			if at := m + `{api="` + api + `"}`; after[at] <= before[at] {
				t.Errorf("%s has not grown", at)
			}
		}
	}
	if ops := after[`broker_disk_operations_total{backend="inline",kind="write"}`] + after[`broker_disk_operations_total{backend="uring",kind="write"}`] +
		after[`broker_disk_operations_total{backend="portable",kind="write"}`]; ops < 1 {
		t.Errorf("%v disk writes", ops)
	}
}

// The answers of every other key are searched for their error codes.
func TestMetricsCountErrorsOfEveryKey(t *testing.T) {
	n := own(t, quiet("admin.listener=127.0.0.1:0", "auto.create.topics.enable=false")...)
	c := n.dial(t)
	before := n.page(t)
	want(t, "code", describe(c, "no-such-topic").Topics[0].ErrorCode, 3)
	listOffset(c, listVersion, "no-such-topic", 0, -1)
	after := n.page(t)
	moved(t, before, after, map[string]float64{
		`broker_api_request_errors_total{api="Metadata"}`: 1, `broker_api_request_errors_total{api="ListOffsets"}`: 1,
		`broker_api_answered_errors_total{code="3"}`: 2,
	})
}

// A consumer that waits is seen waiting, and one whose time is up is counted.
func TestMetricsShowWaitingAndSessions(t *testing.T) {
	n := own(t, quiet("admin.listener=127.0.0.1:0")...)
	c, waiting := n.dial(t), n.dial(t)
	name := topic(t, c, 1)
	req := fetchRequest(name, 0, 0)
	req.SessionEpoch, req.MaxWaitMillis = 0, 2_000_000_000
	corr := waiting.send(fetchVersion, req)
	eventually(t, "it waits in its session", func() bool {
		p := n.page(t)
		return p["broker_purgatory_fetch_waiting_count"] == 1 && p["broker_fetch_sessions_count"] == 1
	})
	mustProduce(c, name, values("v"))
	waiting.receive(corr, req)
	before := n.page(t)
	want(t, "waiting", before["broker_purgatory_fetch_waiting_count"], 0)

	short := fetchRequest(name, 0, 1)
	short.MaxWaitMillis = 1
	ask[*kmsg.FetchResponse](waiting, fetchVersion, short)
	moved(t, before, n.page(t), map[string]float64{"broker_purgatory_expired_total": 1})
}

// Groups, coordination and connections have their gauges.
func TestMetricsOfEverythingElse(t *testing.T) {
	n := own(t, quiet("admin.listener=127.0.0.1:0")...)
	c := n.dial(t)
	name := topic(t, c, 1)
	mustCommit(t, c, 7, commit(group(t, n), name, 5))
	p := n.page(t)
	want(t, "empty groups", p[`broker_group_groups_count{state="Empty"}`], 1)
	want(t, "offsets", p["broker_group_offsets_count"], 1)
	want(t, "commits", p["broker_group_commits_total"], 1)
	want(t, "session", p["broker_coordination_connected_count"], 1)
	gauges := []string{"broker_replica_leaders_count"}
	if kindOfCoordination() == "embedded" { // another server has metrics of its own
		want(t, "sessions of the server", p["zk_server_sessions_count"], 1)
		gauges = append(gauges, "zk_tree_nodes_count", "zk_tree_zxid_number", "zk_tree_watches_count")
	}
	for _, name := range gauges {
		if p[name] < 1 {
			t.Errorf("%s: %v", name, p[name])
		}
	}
	closed := `broker_network_connections_closed_total{cause="eof"}`
	n.dial(t).close()
	eventually(t, "the end of a connection is counted", func() bool { return n.page(t)[closed] == p[closed]+1 })
}

// Of one request in sixty-one every phase is measured.
func TestMetricsShowPhases(t *testing.T) {
	n := own(t, quiet("admin.listener=127.0.0.1:0")...)
	c := n.dial(t)
	name := topic(t, c, 2)
	for i := range 130 {
		produceTo(c, name, int32(i%2), values("v"))
	}
	for i := range 130 {
		ask[*kmsg.FetchResponse](c, fetchVersion, fetchRequest(name, int32(i%2), 0))
	}
	p := n.page(t)
	for class, phases := range map[string][]string{"produce": {"read", "parse", "hop", "submit", "device", "encode"}, "fetch": {"read", "parse", "hop", "device", "encode", "socket"}} {
		for _, phase := range phases {
			if got := p[`broker_request_phase_seconds_count{class="`+class+`",phase="`+phase+`"}`]; got < 1 || got > 8 {
				t.Errorf("%s %s: measured %v times in 130 requests", class, phase, got)
			}
		}
	}
}

func TestMetricsCountRollsAndRefusals(t *testing.T) {
	n := own(t, quiet("admin.listener=127.0.0.1:0", "max.connections.per.ip=3")...)
	c := n.dial(t)
	name := topic(t, c, 1, "segment.bytes=4096")
	for range 3 {
		mustProduce(c, name, values(strings.Repeat("v", 3000)))
	}
	p := n.page(t)
	want(t, "rolls", p["broker_log_segment_rolls_total"], 2)
	want(t, "segments", p[`broker_log_segments_count{topic="`+name+`",partition="0"}`], 3)
	n.dial(t)
	n.dial(t)
	n.dial(t) // the fourth: the kernel takes it, and the broker closes it
	eventually(t, "the refusal is counted", func() bool { return n.page(t)["broker_network_connections_refused_total"] == 1 })
}
