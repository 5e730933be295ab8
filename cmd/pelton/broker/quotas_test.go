package broker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// as asks as a client of another name.
func as[R kmsg.Response](c *conn, client string, version int16, req kmsg.Request) R {
	c.t.Helper()
	return c.receive(c.sendAs(client, version, req), req).(R)
}

func (c *conn) sendAs(client string, version int16, req kmsg.Request) int32 {
	c.t.Helper()
	frame := c.frameAs(client, version, req)
	c.write(frame)
	return c.corr
}

func (c *conn) frameAs(client string, version int16, req kmsg.Request) []byte {
	c.corr++
	req.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(client)).AppendRequest(nil, req, c.corr)
}

// quotaOps reads "client-id=slow user=- producer_byte_rate=5 !consumer_byte_rate": whom, what to set, what to remove; - is the default.
func quotaOps(text string) kmsg.AlterClientQuotasRequestEntry {
	entry := kmsg.NewAlterClientQuotasRequestEntry()
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(key, "!"):
			entry.Ops = append(entry.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: key[1:], Remove: true})
		case strings.Contains(key, "_"):
			op := kmsg.AlterClientQuotasRequestEntryOp{Key: key}
			if _, err := fmt.Sscan(value, &op.Value); err != nil {
				panic(err)
			}
			entry.Ops = append(entry.Ops, op)
		default:
			e := kmsg.AlterClientQuotasRequestEntryEntity{Type: key, Name: &value}
			if value == "-" {
				e.Name = nil
			}
			entry.Entity = append(entry.Entity, e)
		}
	}
	return entry
}

func alterQuotas(c *conn, validate bool, entries ...string) []kmsg.AlterClientQuotasResponseEntry {
	c.t.Helper()
	req := kmsg.NewPtrAlterClientQuotasRequest()
	req.ValidateOnly = validate
	for _, e := range entries {
		req.Entries = append(req.Entries, quotaOps(e))
	}
	return as[*kmsg.AlterClientQuotasResponse](c, "admin", 1, req).Entries
}

func setQuota(c *conn, entries ...string) {
	c.t.Helper()
	for i, e := range alterQuotas(c, false, entries...) {
		if e.ErrorCode != 0 {
			c.t.Fatalf("%s: error %d, %s", entries[i], e.ErrorCode, *e.ErrorMessage)
		}
	}
}

// shortWindows makes throttling short: two windows of a second, so that the rate is over what came in the last second at least.
func shortWindows() []string {
	return []string{"quota.window.num=2", "quota.window.size.seconds=1", "controller.quota.window.num=2", "controller.quota.window.size.seconds=1"}
}

// C-8: a fetch that is over its quota is answered without data and with the same session; the session's next fetch works.
func TestFetchThrottledKeepsItsSession(t *testing.T) {
	n := own(t, shortWindows()...)
	c, w := n.dial(t), n.dial(t)
	name := topic(t, w, 1)
	setQuota(w, "client-id=slow consumer_byte_rate=1024")
	for range 3 {
		mustProduce(w, name, values(strings.Repeat("x", 700)))
	}
	req := fetchRequest(name, 0, 0)
	req.SessionEpoch = 0
	first := as[*kmsg.FetchResponse](c, "slow", fetchVersion, req)
	if first.ErrorCode != 0 || first.ThrottleMillis != 0 || first.SessionID == 0 || len(unpack(t, first.Topics[0].Partitions[0].RecordBatches, 0)) != 1 {
		t.Fatalf("the first fetch is within the quota: %+v", first)
	}
	offset, epoch, throttled := int64(1), int32(0), 0
	for offset < 3 {
		epoch++
		req := next(first.SessionID, epoch)
		req.Topics = []kmsg.FetchRequestTopic{{Topic: name, Partitions: []kmsg.FetchRequestTopicPartition{fetchPartition(0, offset)}}}
		began := time.Now()
		resp := as[*kmsg.FetchResponse](c, "slow", fetchVersion, req)
		if resp.ErrorCode != 0 || resp.SessionID != first.SessionID {
			t.Fatalf("epoch %d: error %d, session %d instead of %d", epoch, resp.ErrorCode, resp.SessionID, first.SessionID)
		}
		if resp.ThrottleMillis > 0 {
			throttled++
			if len(resp.Topics) != 0 {
				t.Fatalf("throttled, and told of %d topics", len(resp.Topics))
			}
			c.works() // waits until the connection is read again
			if passed := time.Since(began); passed < time.Duration(resp.ThrottleMillis)*time.Millisecond {
				t.Errorf("throttled for %d ms, and read again after %v", resp.ThrottleMillis, passed)
			}
			continue
		}
		for _, k := range unpack(t, resp.Topics[0].Partitions[0].RecordBatches, offset) {
			want(t, "offset", k.offset, offset)
			offset++
		}
	}
	if throttled == 0 {
		t.Error("2 kB within a second were not throttled at 1 kB a second")
	}
}

// A full fetch that is over the quota opens no session, as in Kafka: its consumer asks in full again.
func TestFullFetchThrottledOpensNoSession(t *testing.T) {
	n := own(t, shortWindows()...)
	c := n.dial(t)
	name := topic(t, c, 1)
	setQuota(c, "client-id=slow consumer_byte_rate=1024")
	mustProduce(c, name, values(strings.Repeat("x", 3000)))
	req := fetchRequest(name, 0, 0)
	req.SessionEpoch = 0
	resp := as[*kmsg.FetchResponse](c, "slow", fetchVersion, req)
	if resp.ThrottleMillis == 0 || resp.SessionID != 0 || len(resp.Topics) != 0 || resp.ErrorCode != 0 {
		t.Fatalf("%+v", resp)
	}
}

// What connections of one client send counts together, wherever they are, and the throttle time is Kafka's to the millisecond.
func TestProduceThrottledOverAllConnections(t *testing.T) {
	n := own(t, shortWindows()...)
	admin := n.dial(t)
	name := topic(t, admin, 4)
	setQuota(admin, "client-id=fast producer_byte_rate=10000")
	total := 0
	for i := range 4 {
		c := n.dial(t)
		req := produceRequest(name, int32(i), -1, values(strings.Repeat("x", 2400)))
		frame := c.frameAs("fast", produceVersion, req)
		total += len(frame) - 4
		began := time.Now()
		c.write(frame)
		resp := c.receive(c.corr, req).(*kmsg.ProduceResponse)
		want(t, "error", resp.Topics[0].Partitions[0].ErrorCode, 0)
		if total <= 10_000 {
			want(t, "throttle", resp.ThrottleMillis, 0)
			continue
		}
		// Over at least a second; a little more when the test took longer.
		most := int32((total-10_000)*1000/10_000) + 1
		if resp.ThrottleMillis > most {
			t.Errorf("%d bytes: throttled for %d ms, more than %d", total, resp.ThrottleMillis, most)
		}
		c.works()
		if passed := time.Since(began); passed < time.Duration(resp.ThrottleMillis)*time.Millisecond {
			t.Errorf("throttled for %d ms, and read again after %v", resp.ThrottleMillis, passed)
		}
		total = 0
	}
	c := n.dial(t)
	c.works() // others do not notice
	one := n.dial(t)
	req := produceRequest(name, 0, -1, values(strings.Repeat("x", 25_000)))
	setQuota(admin, "client-id=exact producer_byte_rate=10000")
	frame := one.frameAs("exact", produceVersion, req)
	one.write(frame)
	resp := one.receive(one.corr, req).(*kmsg.ProduceResponse)
	size := float64(len(frame) - 4)
	want(t, "throttle of one request", resp.ThrottleMillis, int32((size-10_000)/10_000*1000+0.5))
}

func TestRequestTimeThrottled(t *testing.T) {
	n := own(t, shortWindows()...)
	c := n.dial(t)
	setQuota(c, "user=- client-id=busy request_percentage=0.000001")
	req := kmsg.NewPtrMetadataRequest()
	began := time.Now()
	resp := as[*kmsg.MetadataResponse](c, "busy", 8, req)
	want(t, "throttle, one window at most", resp.ThrottleMillis, 1000)
	want(t, "another client", as[*kmsg.MetadataResponse](n.dial(t), "idle", 8, req).ThrottleMillis, 0)
	setQuota(n.dial(t), "user=- client-id=busy !request_percentage")
	want(t, "without the quota", as[*kmsg.MetadataResponse](c, "busy", 8, req).ThrottleMillis, 0)
	if passed := time.Since(began); passed < time.Second {
		t.Errorf("read again after %v", passed)
	}
}

func TestTopicChangesThrottled(t *testing.T) {
	n := own(t, shortWindows()...)
	admin := n.dial(t)
	setQuota(admin, "user=ANONYMOUS controller_mutation_rate=2")
	name := unique(t)
	make := func(version int16, validate bool, suffix string, partitions int32) *kmsg.CreateTopicsResponse {
		req := creation(name+suffix, partitions)
		req.ValidateOnly = validate
		return as[*kmsg.CreateTopicsResponse](n.dial(t), "maker", version, req)
	}
	// Four tokens are there, and two come every second; twenty are owed after this, which is ten seconds.
	first := make(6, false, "a", 24)
	want(t, "the first", first.Topics[0].ErrorCode, 0)
	want(t, "what it has to wait", first.ThrottleMillis, 0)
	second := make(6, false, "b", 1)
	want(t, "while tokens are owed", second.Topics[0].ErrorCode, 89)
	if second.ThrottleMillis < 1 || second.ThrottleMillis > 10_000 {
		t.Errorf("throttled for %d ms", second.ThrottleMillis)
	}
	want(t, "validation", make(6, true, "b", 1).Topics[0].ErrorCode, 0)
	third := make(5, false, "c", 3)
	want(t, "an old client", third.Topics[0].ErrorCode, 0)
	if third.ThrottleMillis < 1 {
		t.Error("an old client does not wait")
	}
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: name + "a", Count: 25}}
	want(t, "growing", as[*kmsg.CreatePartitionsResponse](n.dial(t), "maker", 3, grow).Topics[0].ErrorCode, 89)
	drop := kmsg.NewPtrDeleteTopicsRequest()
	drop.TopicNames = []string{name + "a"}
	want(t, "deletion", as[*kmsg.DeleteTopicsResponse](n.dial(t), "maker", 5, drop).Topics[0].ErrorCode, 89)
	if !led(admin, name+"a") {
		t.Error("the topic was deleted all the same")
	}
}

// A connection over its address's rate is not served, and closed when its time is over.
func TestConnectionsOfAnAddressThrottled(t *testing.T) {
	n := own(t, shortWindows()...)
	admin := n.dial(t)
	setQuota(admin, "ip=127.0.0.1 connection_creation_rate=1")
	n.dial(t).works()
	over := n.dial(t)
	over.write(over.frameAs("c", 0, kmsg.NewPtrApiVersionsRequest()))
	if _, _, err := over.tryFrame(); err == nil {
		t.Error("a connection over the rate was served")
	}
	setQuota(admin, "ip=127.0.0.1 !connection_creation_rate")
	n.dial(t).works()
	n.dial(t).works()
}

func describeQuotas(c *conn, strict bool, filter string) (*kmsg.DescribeClientQuotasResponse, []string) {
	c.t.Helper()
	req := kmsg.NewPtrDescribeClientQuotasRequest()
	req.Strict = strict
	for _, word := range strings.Fields(filter) {
		key, value, _ := strings.Cut(word, "=")
		part := kmsg.DescribeClientQuotasRequestComponent{EntityType: key, Match: &value}
		switch value {
		case "-":
			part.MatchType, part.Match = kmsg.QuotasMatchTypeDefault, nil
		case "*":
			part.MatchType, part.Match = kmsg.QuotasMatchTypeAny, nil
		}
		req.Components = append(req.Components, part)
	}
	resp := as[*kmsg.DescribeClientQuotasResponse](c, "admin", 1, req)
	var lines []string
	for _, e := range resp.Entries {
		var words []string
		for _, part := range e.Entity {
			name := "-"
			if part.Name != nil {
				name = *part.Name
			}
			words = append(words, part.Type+"="+name)
		}
		slices.Sort(words)
		var values []string
		for _, v := range e.Values {
			values = append(values, fmt.Sprintf("%s=%v", v.Key, v.Value))
		}
		slices.Sort(values)
		lines = append(lines, strings.Join(append(words, values...), " "))
	}
	slices.Sort(lines)
	return resp, lines
}

func TestQuotasDescribed(t *testing.T) {
	c := shared(t).dial(t)
	u, v := "u"+unique(t), "v "+unique(t)
	u, v = strings.ReplaceAll(u, "/", "_"), strings.ReplaceAll(v, " ", "*")
	all := []string{
		"client-id=" + v + " producer_byte_rate=5 request_percentage=12.5",
		"client-id=" + v + " user=" + u + " consumer_byte_rate=7",
		"client-id=- user=" + u + " consumer_byte_rate=8",
		"user=" + u + " controller_mutation_rate=0.25",
		"ip=10.9.8.7 connection_creation_rate=3",
	}
	setQuota(c, all...)
	defer setQuota(c, "client-id="+v+" !producer_byte_rate !request_percentage", "client-id="+v+" user="+u+" !consumer_byte_rate",
		"client-id=- user="+u+" !consumer_byte_rate", "user="+u+" !controller_mutation_rate", "ip=10.9.8.7 !connection_creation_rate")
	for _, q := range []struct {
		strict bool
		filter string
		due    []string
	}{
		{false, "user=" + u, []string{all[1], all[2], all[3]}},
		{true, "user=" + u, []string{all[3]}},
		{false, "client-id=" + v, []string{all[0], all[1]}},
		{true, "client-id=" + v, []string{all[0]}},
		{true, "client-id=" + v + " user=" + u, []string{all[1]}},
		{false, "client-id=- user=" + u, []string{all[2]}},
		{true, "client-id=* user=" + u, []string{all[1], all[2]}},
		{false, "client-id=" + v + " user=*", []string{all[1]}},
		{true, "ip=10.9.8.7", []string{all[4]}},
		{false, "user=nobody", nil},
	} {
		resp, got := describeQuotas(c, q.strict, q.filter)
		slices.Sort(q.due)
		if resp.ErrorCode != 0 || !slices.Equal(got, q.due) {
			t.Errorf("%s strict=%v: error %d, %q, want %q", q.filter, q.strict, resp.ErrorCode, got, q.due)
		}
	}
	if _, got := describeQuotas(c, false, ""); len(got) < len(all) {
		t.Errorf("everything: %q", got)
	}
}

func TestQuotasRefused(t *testing.T) {
	c := shared(t).dial(t)
	for _, q := range []struct {
		entry, message string
		code           int16
	}{
		{"producer_byte_rate=1", "Invalid empty client quota entity", 42},
		{"group=x producer_byte_rate=1", "Unhandled client quota entity type: group", 42},
		{"user= producer_byte_rate=1", "Empty user not supported", 42},
		{"user=a ip=1.2.3.4 producer_byte_rate=1", "Invalid quota entity combination, IP entity should not be used with user/client ID entity.", 42},
		{"user=a no_such=1", "Invalid configuration key no_such", 42},
		{"user=a connection_creation_rate=1", "Invalid configuration key connection_creation_rate", 42},
		{"ip=1.2.3.4 producer_byte_rate=1", "Invalid configuration key producer_byte_rate", 42},
		{"user=a producer_byte_rate=1.5", "Configuration producer_byte_rate must be a LONG value", 42},
		{"ip=1.2.3.4 connection_creation_rate=1.5", "Configuration connection_creation_rate must be a INT value", 42},
		{"user=a !no_such", "", 0},
		{"user=a producer_byte_rate=1.0000001", "", 0},
	} {
		got := alterQuotas(c, true, q.entry)[0]
		message := ""
		if got.ErrorMessage != nil {
			message = *got.ErrorMessage
		}
		if got.ErrorCode != q.code || message != q.message {
			t.Errorf("%s: %d %q, want %d %q", q.entry, got.ErrorCode, message, q.code, q.message)
		}
	}
	for filter, code := range map[string]int16{"user=a user=b": 42, "user=a ip=1.2.3.4": 42, "": 0, "=a": 42, "group=a": 35} {
		if resp, _ := describeQuotas(c, false, filter); resp.ErrorCode != code {
			t.Errorf("%q: error %d, want %d", filter, resp.ErrorCode, code)
		}
	}
	if _, got := describeQuotas(c, true, "user=a"); len(got) != 0 {
		t.Errorf("validation has set %q", got)
	}
}
