package broker_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Where the value of a setting comes from, in Kafka's numbers.
const (
	fromTopic   = 1
	fromDefault = 5
)

// setting is a topic's setting and where it comes from.
func setting(c *conn, name, key string) (string, int8) {
	c.t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name, ConfigNames: []string{key}}}
	r := ask[*kmsg.DescribeConfigsResponse](c, 2, req).Resources[0]
	if r.ErrorCode != 0 || len(r.Configs) != 1 || r.Configs[0].Value == nil {
		c.t.Fatalf("describing %s of %s: error %d, %d entries", key, name, r.ErrorCode, len(r.Configs))
	}
	return *r.Configs[0].Value, int8(r.Configs[0].Source)
}

func wantSetting(t *testing.T, c *conn, name, key, value string, source int8) {
	t.Helper()
	eventually(t, key+" is "+value, func() bool { got, from := setting(c, name, key); return got == value && from == source })
}

// alter sends an AlterConfigs, which replaces the whole set.
func alter(c *conn, name string, pairs ...string) int16 {
	c.t.Helper()
	r := kmsg.AlterConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name}
	for i := 0; i < len(pairs); i += 2 {
		r.Configs = append(r.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: pairs[i], Value: &pairs[i+1]})
	}
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Resources = append(req.Resources, r)
	return ask[*kmsg.AlterConfigsResponse](c, 1, req).Resources[0].ErrorCode
}

// change sends an IncrementalAlterConfigs of one entry.
func change(c *conn, name string, op kmsg.IncrementalAlterConfigOp, key, value string) int16 {
	c.t.Helper()
	cfg := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: key, Op: op, Value: &value}
	if op == kmsg.IncrementalAlterConfigOpDelete {
		cfg.Value = nil
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name,
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{cfg}}}
	return ask[*kmsg.IncrementalAlterConfigsResponse](c, 1, req).Resources[0].ErrorCode
}

// C-41: AlterConfigs replaces the set, IncrementalAlterConfigs changes it, and a value that equals the default is still set.
func TestAlterConfigs(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1, "cleanup.policy=compact", "retention.ms=500000")
	want(t, "AlterConfigs", alter(c, name, "retention.ms", "600000"), 0)
	wantSetting(t, c, name, "retention.ms", "600000", fromTopic)
	wantSetting(t, c, name, "cleanup.policy", "delete", fromDefault)
	want(t, "set", change(c, name, kmsg.IncrementalAlterConfigOpSet, "cleanup.policy", "delete"), 0)
	wantSetting(t, c, name, "cleanup.policy", "delete", fromTopic)
	want(t, "append", change(c, name, kmsg.IncrementalAlterConfigOpAppend, "cleanup.policy", "compact"), 0)
	wantSetting(t, c, name, "cleanup.policy", "delete,compact", fromTopic)
	want(t, "subtract", change(c, name, kmsg.IncrementalAlterConfigOpSubtract, "cleanup.policy", "delete"), 0)
	wantSetting(t, c, name, "cleanup.policy", "compact", fromTopic)
	want(t, "delete", change(c, name, kmsg.IncrementalAlterConfigOpDelete, "cleanup.policy", ""), 0)
	wantSetting(t, c, name, "cleanup.policy", "delete", fromDefault)
	wantSetting(t, c, name, "retention.ms", "600000", fromTopic)
}

// Settings that do not exist or cannot be are INVALID_CONFIG and change nothing.
func TestAlterConfigsRefused(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1, "retention.ms=500000")
	want(t, "unknown", alter(c, name, "no.such.thing", "1"), 40)
	want(t, "unknown, incremental", change(c, name, kmsg.IncrementalAlterConfigOpSet, "no.such.thing", "1"), 40)
	want(t, "bad value", alter(c, name, "retention.ms", "soon"), 40)
	want(t, "below the bound", change(c, name, kmsg.IncrementalAlterConfigOpSet, "segment.bytes", "1"), 40)
	want(t, "append to a number", change(c, name, kmsg.IncrementalAlterConfigOpAppend, "retention.ms", "1"), 40)
	want(t, "unknown topic", alter(c, name+"-none", "retention.ms", "1"), 3)
	wantSetting(t, c, name, "retention.ms", "500000", fromTopic)
}

// A change takes effect on records that come after it.
func TestAlterConfigsTakesEffect(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	large := string(make([]byte, 2000))
	mustProduce(c, name, values(large))
	want(t, "set", change(c, name, kmsg.IncrementalAlterConfigOpSet, "max.message.bytes", "1000"), 0)
	eventually(t, "large records are refused", func() bool { return produce(c, name, values(large)).ErrorCode == 10 })
	want(t, "set", change(c, name, kmsg.IncrementalAlterConfigOpDelete, "max.message.bytes", ""), 0)
	eventually(t, "large records are taken again", func() bool { return produce(c, name, values(large)).ErrorCode == 0 })
}
