package main

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func describe(name string, kind kmsg.ConfigResourceType, resource string, keys []string) probe {
	return probe{name: name, key: 32, make: func(w *world, _ int16) (kmsg.Request, error) {
		if err := w.topic("cfg", 1, "cleanup.policy", "compact", "retention.ms", "5"); err != nil {
			return nil, err
		}
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.IncludeSynonyms = true
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kind, strings.ReplaceAll(resource, "OWN", fmt.Sprint(w.node)), keys
		req.Resources = append(req.Resources, r)
		return req, nil
	}}
}

func incremental(name, topic string, ops ...string) probe {
	return probe{name: name, key: 44, make: func(w *world, _ int16) (kmsg.Request, error) {
		if err := w.topic("alter", 1); err != nil {
			return nil, err
		}
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, topic
		for i := 0; i+2 < len(ops); i += 3 {
			c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			c.Name = ops[i+1]
			switch ops[i] {
			case "delete":
				c.Op = kmsg.IncrementalAlterConfigOpDelete
			case "append":
				c.Op = kmsg.IncrementalAlterConfigOpAppend
			case "subtract":
				c.Op = kmsg.IncrementalAlterConfigOpSubtract
			}
			if ops[i+2] != "null" {
				c.Value = str(ops[i+2])
			}
			r.Configs = append(r.Configs, c)
		}
		req.Resources = append(req.Resources, r)
		return req, nil
	}}
}

func replaced(name, topic string, validate bool, kvs ...string) probe {
	return probe{name: name, key: 33, make: func(w *world, _ int16) (kmsg.Request, error) {
		if err := w.topic("replace", 1, "cleanup.policy", "compact", "retention.ms", "5"); err != nil {
			return nil, err
		}
		req := kmsg.NewPtrAlterConfigsRequest()
		req.ValidateOnly = validate
		r := kmsg.NewAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, topic
		for i := 0; i+1 < len(kvs); i += 2 {
			c := kmsg.NewAlterConfigsRequestResourceConfig()
			c.Name = kvs[i]
			if kvs[i+1] != "null" {
				c.Value = str(kvs[i+1])
			}
			r.Configs = append(r.Configs, c)
		}
		req.Resources = append(req.Resources, r)
		return req, nil
	}}
}

func configProbes() []probe {
	topic, broker := kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker
	seen := func(name, resource string) probe {
		return describe(name, topic, resource, []string{"cleanup.policy", "retention.ms"})
	}
	return []probe{
		describe("topic-all", topic, "cfg", nil),
		describe("topic-some", topic, "cfg", []string{"retention.ms", "no.such.key"}),
		describe("topic-unknown", topic, "nobody", nil),
		describe("topic-bad-name", topic, "a/b", nil),
		describe("broker-some", broker, "OWN", []string{"num.partitions", "log.retention.ms", "log.cleaner.threads", "broker.id"}),
		describe("broker-default", broker, "", nil),
		describe("broker-other", broker, "7", nil),
		describe("broker-no-number", broker, "x", nil),
		describe("kind-unknown", kmsg.ConfigResourceType(99), "x", nil),
		incremental("set", "alter", "set", "cleanup.policy", "delete", "set", "retention.ms", "77"),
		seen("after-set", "alter"),
		incremental("append", "alter", "append", "cleanup.policy", "compact"),
		seen("after-append", "alter"),
		incremental("subtract", "alter", "subtract", "cleanup.policy", "delete"),
		seen("after-subtract", "alter"),
		incremental("delete", "alter", "delete", "cleanup.policy", "null"),
		seen("after-delete", "alter"),
		incremental("append-not-a-list", "alter", "append", "retention.ms", "1"),
		incremental("unknown-key", "alter", "set", "no.such.key", "1"),
		incremental("bad-value", "alter", "set", "retention.ms", "soon"),
		incremental("null-value", "alter", "set", "retention.ms", "null"),
		incremental("key-twice", "alter", "set", "retention.ms", "1", "set", "retention.ms", "2"),
		incremental("unknown-topic", "nobody", "set", "retention.ms", "1"),
		replaced("validate-only", "replace", true, "retention.ms", "1"),
		replaced("replace", "replace", false, "retention.ms", "6"),
		seen("after-replace", "replace"),
		replaced("unknown-key", "replace", false, "no.such.key", "1"),
		replaced("null-value", "replace", false, "retention.ms", "null"),
		replaced("unknown-topic", "nobody", false, "retention.ms", "1"),
	}
}
