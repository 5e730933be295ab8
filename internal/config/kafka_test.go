package config

import (
	"encoding/json"
	"os"
	"testing"
)

// captured is one key of a DescribeConfigs v4 answer of Kafka 3.9.1 (testdata/kafka-3.9.1).
type captured struct {
	Name      string  `json:"name"`
	Value     *string `json:"value"`
	ReadOnly  bool    `json:"read_only"`
	Sensitive bool    `json:"sensitive"`
	Source    Source  `json:"source"`
	Kind      Kind    `json:"type"`
	Synonyms  []struct {
		Name   string  `json:"name"`
		Value  *string `json:"value"`
		Source Source  `json:"source"`
	} `json:"synonyms"`
}

func readCaptured(t *testing.T, name string) map[string]captured {
	t.Helper()
	text, err := os.ReadFile("testdata/kafka-3.9.1/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var list []captured
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]captured{}
	for _, c := range list {
		out[c.Name] = c
	}
	return out
}

// kafkaBroker is configured as the Kafka that was asked.
func kafkaBroker(t *testing.T) *Broker {
	t.Helper()
	text, err := os.ReadFile("testdata/kafka-3.9.1/server.properties")
	if err != nil {
		t.Fatal(err)
	}
	file, err := ParseProperties(text)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := Load(file, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func text(s *string) string {
	if s == nil {
		return "<nil>"
	}
	return *s
}

// compare reports every field that differs from Kafka's answer. Keys that Kafka does not have are allowed when extra says so.
func compare(t *testing.T, got []Entry, want map[string]captured, extra func(string) bool) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range got {
		w, ok := want[e.Name]
		if !ok {
			if !extra(e.Name) {
				t.Errorf("%s: Kafka has no such key", e.Name)
			}
			continue
		}
		seen[e.Name] = true
		if text(e.Value) != text(w.Value) || e.ReadOnly != w.ReadOnly || e.Sensitive != w.Sensitive || e.Source != w.Source || e.Kind != w.Kind {
			t.Errorf("%s: value %s read-only %v sensitive %v source %d type %d, Kafka has %s %v %v %d %d", e.Name,
				text(e.Value), e.ReadOnly, e.Sensitive, e.Source, e.Kind, text(w.Value), w.ReadOnly, w.Sensitive, w.Source, w.Kind)
		}
		if len(e.Synonyms) != len(w.Synonyms) {
			t.Errorf("%s: synonyms %v, Kafka has %v", e.Name, e.Synonyms, w.Synonyms)
			continue
		}
		for i, s := range e.Synonyms {
			k := w.Synonyms[i]
			if s.Name != k.Name || text(s.Value) != text(k.Value) || s.Source != k.Source {
				t.Errorf("%s: synonym %d is %s=%s from %d, Kafka has %s=%s from %d", e.Name, i, s.Name, text(s.Value), s.Source, k.Name, text(k.Value), k.Source)
			}
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("%s: missing", name)
		}
	}
}

func isOurs(name string) bool {
	_, err := ownTable().Row(name)
	return err
}

func ownTable() *Table { return newTable(peltonRows()) }

func none(string) bool { return false }

func TestDescribeBrokerAgreesWithKafka(t *testing.T) {
	b := kafkaBroker(t)
	compare(t, b.DescribeBroker(nil), readCaptured(t, "broker"), isOurs)
	for name, set := range map[string]map[string]string{
		"topic-plain": nil,
		"topic-t1":    {"retention.ms": "5000", "cleanup.policy": "compact,delete"},
	} {
		compare(t, b.Topic(set).Describe(nil), readCaptured(t, name), none)
	}
}

func TestDescribeUnderDynamicLayersAgreesWithKafka(t *testing.T) {
	b, warnings := kafkaBroker(t).With(
		map[string]string{"log.segment.bytes": "3000000", "log.retention.ms": "7200000", "message.max.bytes": "2000012", "background.threads": "6"},
		map[string]string{"log.segment.bytes": "2000000", "log.retention.ms": "3600000", "foo.bar": "x"})
	if len(warnings) != 0 {
		t.Fatalf("warnings %v", warnings)
	}
	compare(t, b.DescribeBroker(nil), readCaptured(t, "broker-dyn"), isOurs)
	compare(t, b.DescribeDefault(nil), readCaptured(t, "default-dyn"), none)
	compare(t, b.Topic(map[string]string{"local.retention.ms": "5", "retention.ms": "4", "cleanup.policy": ""}).Describe([]string{"retention.ms", "segment.bytes", "max.message.bytes"}),
		only(readCaptured(t, "topic-plain-dyn"), "retention.ms", "segment.bytes", "max.message.bytes"), none)
	compare(t, b.Topic(map[string]string{"retention.ms": "5000", "cleanup.policy": "compact,delete"}).Describe(nil), readCaptured(t, "topic-t1-dyn"), none)
}

func only(all map[string]captured, names ...string) map[string]captured {
	out := map[string]captured{}
	for _, n := range names {
		out[n] = all[n]
	}
	return out
}

// The texts are those that Kafka 3.9.1 answered to IncrementalAlterConfigs, without the resource prefix.
func TestRefusalsAreInKafkasWords(t *testing.T) {
	b := kafkaBroker(t)
	cases := []struct {
		set  map[string]string
		want string
	}{
		{map[string]string{"foo": "bar"}, "Unknown topic config name: foo"},
		{map[string]string{"retention.ms": "-5"}, "Invalid value -5 for configuration retention.ms: Value must be at least -1"},
		{map[string]string{"retention.ms": "abc"}, "Invalid value abc for configuration retention.ms: Not a number of type LONG"},
		{map[string]string{"retention.ms": ""}, "Invalid value  for configuration retention.ms: Not a number of type LONG"},
		{map[string]string{"cleanup.policy": "shred"}, "Invalid value shred for configuration cleanup.policy: String must be one of: compact, delete"},
		{map[string]string{"cleanup.policy": "delete,shred"}, "Invalid value shred for configuration cleanup.policy: String must be one of: compact, delete"},
		{map[string]string{"compression.type": "lzma"}, "Invalid value lzma for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{map[string]string{"preallocate": "maybe"}, "Invalid value maybe for configuration preallocate: Expected value to be either true or false"},
		{map[string]string{"min.cleanable.dirty.ratio": "1.5"}, "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
		{map[string]string{"min.cleanable.dirty.ratio": "x"}, "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		{map[string]string{"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}, "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"},
		{map[string]string{"remote.storage.enable": "true"}, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
		{map[string]string{"segment.bytes": "13"}, "Invalid value 13 for configuration segment.bytes: Value must be at least 14"},
		{map[string]string{"segment.bytes": "99999999999"}, "Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT"},
		{map[string]string{"compression.gzip.level": "0"}, "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
		{map[string]string{"compression.lz4.level": "18"}, "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17"},
		{map[string]string{"message.format.version": "9.9"}, "Invalid value 9.9 for configuration message.format.version: Version 9.9 is not a valid version"},
		{map[string]string{"leader.replication.throttled.replicas": "x"}, "Invalid value [x] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."},
		{map[string]string{"leader.replication.throttled.replicas": "*"}, ""},
		{map[string]string{"follower.replication.throttled.replicas": "0:1,1:2"}, ""},
		{map[string]string{"cleanup.policy": ""}, ""},
		{map[string]string{"cleanup.policy": " compact , delete"}, ""},
		{map[string]string{"retention.ms": " 7 ", "preallocate": "TRUE"}, ""},
		{map[string]string{"local.retention.ms": "5", "retention.ms": "4"}, ""},
		{map[string]string{"flush.messages": "0"}, "Invalid value 0 for configuration flush.messages: Value must be at least 1"},
		{map[string]string{"min.insync.replicas": "0"}, "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1"},
	}
	for _, c := range cases {
		got := ""
		if err := b.ValidateTopic(c.set); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v:\n got %q\nwant %q", c.set, got, c.want)
		}
	}
}

func TestValidateBrokerAgreesWithKafka(t *testing.T) {
	b := kafkaBroker(t)
	cases := []struct {
		set  map[string]string
		own  bool
		want string
	}{
		{map[string]string{"log.dirs": "/x"}, true, "Cannot update these configs dynamically: Set(log.dirs)"},
		{map[string]string{"listeners": "PLAINTEXT://:1"}, false, "Cannot update these configs at default cluster level, broker id must be specified: Set(listeners)"},
		{map[string]string{"foo.bar": "x"}, true, ""},
		{map[string]string{"message.max.bytes": "-1"}, true, "Invalid value -1 for configuration message.max.bytes: Value must be at least 0"},
		{map[string]string{"message.max.bytes": "zz"}, false, "Invalid value zz for configuration message.max.bytes: Not a number of type INT"},
		{map[string]string{"num.io.threads": "0"}, true, "Invalid value 0 for configuration num.io.threads: Value must be at least 1"},
		{map[string]string{"log.retention.ms": "0"}, true, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"},
		{map[string]string{"log.retention.ms": "-7"}, true, ""},
		{map[string]string{"log.segment.bytes": "2000000"}, false, ""},
	}
	for _, c := range cases {
		got := ""
		if err := b.ValidateBroker(c.set, c.own); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v:\n got %q\nwant %q", c.set, got, c.want)
		}
	}
}
