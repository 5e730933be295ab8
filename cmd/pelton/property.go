package main

import (
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// property is one client setting that -X and --command-config understand, in the words of the Java client or of librdkafka.
type property struct {
	names []string
	opt   func(key, value string) (kgo.Opt, error)
}

func properties() []property {
	ms := func(make func(time.Duration) kgo.Opt) func(string, string) (kgo.Opt, error) {
		return func(key, value string) (kgo.Opt, error) {
			n, err := intProperty(key, value)
			return make(time.Duration(n) * time.Millisecond), err
		}
	}
	number := func(make func(int) kgo.Opt) func(string, string) (kgo.Opt, error) {
		return func(key, value string) (kgo.Opt, error) {
			n, err := intProperty(key, value)
			return make(n), err
		}
	}
	return []property{
		{[]string{"client.id"}, func(_, v string) (kgo.Opt, error) { return kgo.ClientID(v), nil }},
		{[]string{"client.rack"}, func(_, v string) (kgo.Opt, error) { return kgo.Rack(v), nil }},
		{[]string{"compression.type", "compression.codec"}, func(_, v string) (kgo.Opt, error) { return compressionOption(v) }},
		{[]string{"linger.ms", "queue.buffering.max.ms"}, ms(func(d time.Duration) kgo.Opt { return kgo.ProducerLinger(d) })},
		{[]string{"batch.size", "max.request.size", "message.max.bytes"}, number(func(n int) kgo.Opt { return kgo.ProducerBatchMaxBytes(int32(n)) })},
		{[]string{"request.timeout.ms"}, ms(func(d time.Duration) kgo.Opt { return kgo.ProduceRequestTimeout(d) })},
		{[]string{"delivery.timeout.ms", "message.timeout.ms"}, ms(func(d time.Duration) kgo.Opt { return kgo.RecordDeliveryTimeout(d) })},
		{[]string{"retries", "message.send.max.retries"}, number(func(n int) kgo.Opt { return kgo.RecordRetries(n) })},
		{[]string{"max.in.flight.requests.per.connection", "max.in.flight"}, number(func(n int) kgo.Opt { return kgo.MaxProduceRequestsInflightPerBroker(n) })},
		{[]string{"fetch.max.bytes"}, number(func(n int) kgo.Opt { return kgo.FetchMaxBytes(int32(n)) })},
		{[]string{"max.partition.fetch.bytes", "fetch.message.max.bytes"}, number(func(n int) kgo.Opt { return kgo.FetchMaxPartitionBytes(int32(n)) })},
		{[]string{"fetch.min.bytes"}, number(func(n int) kgo.Opt { return kgo.FetchMinBytes(int32(n)) })},
		{[]string{"fetch.max.wait.ms", "fetch.wait.max.ms"}, ms(func(d time.Duration) kgo.Opt { return kgo.FetchMaxWait(d) })},
		{[]string{"session.timeout.ms"}, ms(func(d time.Duration) kgo.Opt { return kgo.SessionTimeout(d) })},
		{[]string{"heartbeat.interval.ms"}, ms(func(d time.Duration) kgo.Opt { return kgo.HeartbeatInterval(d) })},
		{[]string{"max.poll.interval.ms", "rebalance.timeout.ms"}, ms(func(d time.Duration) kgo.Opt { return kgo.RebalanceTimeout(d) })},
		{[]string{"auto.commit.interval.ms"}, ms(func(d time.Duration) kgo.Opt { return kgo.AutoCommitInterval(d) })},
		{[]string{"group.instance.id"}, func(_, v string) (kgo.Opt, error) { return kgo.InstanceID(v), nil }},
		{[]string{"metadata.max.age.ms"}, ms(func(d time.Duration) kgo.Opt { return kgo.MetadataMaxAge(d) })},
		{[]string{"isolation.level"}, isolationOption},
		{[]string{"security.protocol"}, plaintextOption},
	}
}

func isolationOption(_, v string) (kgo.Opt, error) {
	switch v {
	case "read_committed":
		return kgo.FetchIsolationLevel(kgo.ReadCommitted()), nil
	case "read_uncommitted":
		return kgo.FetchIsolationLevel(kgo.ReadUncommitted()), nil
	}
	return nil, usageError("isolation.level=%s: must be read_committed or read_uncommitted", v)
}

func plaintextOption(_, v string) (kgo.Opt, error) {
	if !strings.EqualFold(v, "PLAINTEXT") {
		return nil, usageError("security.protocol=%s: only PLAINTEXT is served yet", v)
	}
	return nil, nil
}

func compressionOption(name string) (kgo.Opt, error) {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	codec, ok := codecs[name]
	if !ok {
		return nil, usageError("compression %q: must be none, gzip, snappy, lz4 or zstd", name)
	}
	return kgo.ProducerBatchCompression(codec), nil
}

// propertyOptions turns properties into client options. Keys that a verb reads itself are passed over here.
func propertyOptions(props map[string]string) ([]kgo.Opt, error) {
	byName := map[string]func(string, string) (kgo.Opt, error){}
	var known []string
	for _, p := range properties() {
		for _, n := range p.names {
			byName[n] = p.opt
			known = append(known, n)
		}
	}
	own := map[string]bool{"acks": true, "request.required.acks": true, "enable.idempotence": true, "group.id": true, "auto.offset.reset": true,
		"bootstrap.servers": true, "key.separator": true, "parse.key": true, "print.key": true}
	var out []kgo.Opt
	for key, value := range props {
		make, ok := byName[key]
		if !ok {
			if own[key] {
				continue
			}
			sort.Strings(known)
			return nil, usageError("-X %s: not a client property that pelton knows; those are %s", key, strings.Join(known, ", "))
		}
		opt, err := make(key, value)
		if err != nil {
			return nil, err
		}
		if opt != nil {
			out = append(out, opt)
		}
	}
	return out, nil
}
