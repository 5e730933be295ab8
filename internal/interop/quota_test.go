package interop

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// throttled notes the longest time that a broker told a client to wait.
type throttled struct{ most atomic.Int64 }

// OnBrokerThrottle implements kgo.HookBrokerThrottle.
func (h *throttled) OnBrokerThrottle(_ kgo.BrokerMetadata, wait time.Duration, _ bool) {
	if int64(wait) > h.most.Load() {
		h.most.Store(int64(wait))
	}
}

// Kafka's own kafka-configs sets, shows and removes quotas of users, clients and addresses, and what it sets is kept to.
// What it shows of a user alone ends in a question about SCRAM, which is not served; there the quotas are asked for directly.
func TestJavaQuotaTools(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	configs := func(args ...string) string {
		t.Helper()
		return java(t, ctx, "3.9.1", "kafka.admin.ConfigCommand", args...)
	}
	h := &throttled{}
	topic := newTopic(t, "quota")
	cl, err := kgo.NewClient(kgo.SeedBrokers(seed(t)), kgo.ClientID("slow"), kgo.WithHooks(h), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	quotas := func() string {
		t.Helper()
		all, err := kadm.NewClient(cl).DescribeClientQuotas(ctx, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, q := range all {
			var entity, values []string
			for _, e := range q.Entity {
				entity = append(entity, "{"+e.String()+"}")
			}
			for _, v := range q.Values {
				values = append(values, fmt.Sprintf("%s=%g", v.Key, v.Value))
			}
			sort.Strings(entity)
			sort.Strings(values)
			lines = append(lines, strings.Join(entity, " ")+" "+strings.Join(values, " "))
		}
		sort.Strings(lines)
		return strings.Join(lines, "\n")
	}
	entities := []struct{ entity, set string }{
		{"--entity-type clients --entity-name slow", "producer_byte_rate=20000,consumer_byte_rate=4096"},
		{"--entity-type users --entity-name ann", "request_percentage=150"},
		{"--entity-type users --entity-name bob --entity-type clients --entity-default", "controller_mutation_rate=5"},
		{"--entity-type ips --entity-name 10.9.8.7", "connection_creation_rate=7"},
	}
	for _, e := range entities {
		contains(t, configs(append([]string{"--alter", "--add-config", e.set}, strings.Fields(e.entity)...)...), "Completed updating config")
	}
	want := strings.Join([]string{
		"{client-id=<default>} {user=bob} controller_mutation_rate=5",
		"{client-id=slow} consumer_byte_rate=4096 producer_byte_rate=20000",
		"{ip=10.9.8.7} connection_creation_rate=7",
		"{user=ann} request_percentage=150",
	}, "\n")
	if got := quotas(); got != want {
		t.Errorf("the broker has\n%s\nwant\n%s", got, want)
	}
	contains(t, configs("--describe", "--entity-type", "clients"), "client-id 'slow'", "producer_byte_rate=20000", "consumer_byte_rate=4096")

	for range 4 {
		if err := cl.ProduceSync(ctx, &kgo.Record{Value: make([]byte, 100_000)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if h.most.Load() == 0 {
		t.Error("400 kB against a quota of 20 000 bytes a second made nobody wait")
	}
	configs("--alter", "--delete-config", "producer_byte_rate,consumer_byte_rate", "--entity-type", "clients", "--entity-name", "slow")
	if got := quotas(); strings.Contains(got, "byte_rate") || !strings.Contains(got, "user=ann") {
		t.Errorf("after --delete-config there are\n%s", got)
	}
}
