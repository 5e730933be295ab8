package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// oldProbes ask in the versions of the old message formats.
func oldProbes() []probe {
	var all []probe
	for _, c := range oldSets() {
		all = append(all, oldProduced(c)...)
	}
	return append(all, oldMoreProbes()...)
}

// oldCase is a set, and the settings of the topic that gets it.
type oldCase struct {
	name   string
	set    func() []byte
	config []string
	upTo   int16 // last version of Produce; 0 means 2
}

// oldSets are message sets, right and wrong ones.
func oldSets() []oldCase {
	all := []oldCase{
		{name: "new-batch", set: good},
		{name: "new-batch-twice", set: func() []byte { return append(good(), good()...) }},
		{name: "nothing", set: one([]byte{})},
	}
	for magic := int8(0); magic <= 1; magic++ {
		all = append(all, wellMade(magic)...)
		all = append(all, illMade(magic)...)
	}
	for _, format := range []string{"0.9.0", "0.10.2"} {
		for name, set := range map[string]func() []byte{"plain": good, "gzip": func() []byte { return squeezed(1, gzipped)(0) },
			"zstd": func() []byte { return squeezed(4, zstdded)(0) }, "id": func() []byte { return batchOf(77, 0, 0, []int64{baseTime}, []byte("k"), []byte("v")) }} {
			all = append(all, oldCase{name: "new-" + name + "-format-" + format, set: set, config: []string{"message.format.version", format}, upTo: 7})
		}
	}
	return all
}

// wellMade are sets of a format that a topic may take, in every form that it may keep them in.
func wellMade(magic int8) (all []oldCase) {
	plain := func() []byte { return threeMessages(magic, 0) }
	add := func(name string, set func() []byte, config ...string) {
		all = append(all, oldCase{name: fmt.Sprintf("magic-%d-%s", magic, name), set: set, config: config})
	}
	for codec, name := range []string{"plain", "gzip", "snappy", "lz4"} {
		set := plain
		if codec > 0 {
			set = one(wrapped(magic, byte(codec), 2*int64(magic), threeMessages(magic, 0)))
		}
		add(name, set)
		add(name+"-on-gzip-topic", set, "compression.type", "gzip")
		add(name+"-on-plain-topic", set, "compression.type", "uncompressed")
		add(name+"-append-time", set, "message.timestamp.type", "LogAppendTime")
		for _, format := range []string{"0.9.0", "0.10.2", "0.11.0"} {
			add(name+"-format-"+format, set, "message.format.version", format)
		}
	}
	add("offsets-100", func() []byte { return threeMessages(magic, 100) })
	add("wrapped-100", one(wrapped(magic, 1, 102, threeMessages(magic, 100))))
	add("wrapped-own-0", one(wrapped(magic, 1, 0, threeMessages(magic, 0))))
	add("wrapped-own-1", one(wrapped(magic, 1, 1, threeMessages(magic, 0))))
	add("wrapped-100-format-0.10.2", one(wrapped(magic, 1, 102, threeMessages(magic, 100))), "message.format.version", "0.10.2")
	return all
}

// illMade are sets with something wrong.
func illMade(magic int8) (all []oldCase) {
	add := func(name string, set func() []byte, config ...string) {
		all = append(all, oldCase{name: fmt.Sprintf("magic-%d-%s", magic, name), set: set, config: config})
	}
	spoiled := func(at int, v byte, sealed bool) func() []byte {
		return func() []byte {
			b := message(magic, 0, baseTime, 0, []byte("k"), []byte("v"))
			if b[at] = v; sealed {
				sealMessage(b)
			}
			return b
		}
	}
	add("crc", spoiled(12, 9, false))
	add("last-cut-off", func() []byte { b := threeMessages(magic, 0); return b[:len(b)-1] })
	add("all-cut-off", func() []byte { return threeMessages(magic, 0)[:20] })
	add("magic-3", spoiled(16, 3, true))
	add("codec-5", spoiled(17, 5, true))
	add("length-13", spoiled(11, 13, true))
	add("mixed", func() []byte { return append(threeMessages(magic, 0), threeMessages(1-magic, 3)...) })
	add("two-wrapped", one(append(wrapped(magic, 1, 0, threeMessages(magic, 0)), wrapped(magic, 1, 0, threeMessages(magic, 0))...)))
	add("wrapped-and-plain", one(append(wrapped(magic, 1, 0, threeMessages(magic, 0)), threeMessages(magic, 0)...)))
	add("wrapped-null", one(message(magic, 0, baseTime, 1, nil, nil)))
	add("wrapped-empty", one(wrapped(magic, 1, 0, nil)))
	add("wrapped-other-format", one(wrapped(magic, 1, 0, threeMessages(1-magic, 0))))
	add("wrapped-twice", one(wrapped(magic, 1, 0, wrapped(magic, 1, 0, threeMessages(magic, 0)))))
	add("wrapped-crc", func() []byte {
		b := threeMessages(magic, 0)
		b[12] ^= 1
		return wrapped(magic, 1, 2, b)
	})
	add("wrapped-zstd", one(message(magic, 0, baseTime, 4, nil, zstdded(threeMessages(magic, 0)))))
	add("wrapped-cut-off", func() []byte { b := threeMessages(magic, 0); return wrapped(magic, 1, 1, b[:len(b)-3]) })
	add("null-key", one(message(magic, 0, baseTime, 0, nil, []byte("v"))), "cleanup.policy", "compact")
	add("null-value", one(message(magic, 0, baseTime, 0, []byte("k"), nil)), "cleanup.policy", "compact")
	add("append-time-bit", one(message(magic, 0, baseTime, 8, []byte("k"), []byte("v"))))
	add("append-time-bit-and-topic", one(message(magic, 0, baseTime, 8, []byte("k"), []byte("v"))), "message.timestamp.type", "LogAppendTime")
	add("too-old", func() []byte { return threeMessages(magic, 0) }, "message.timestamp.before.max.ms", "1000")
	add("too-large", one(message(magic, 0, baseTime, 0, nil, make([]byte, 3000))), "max.message.bytes", "1000")
	add("set-larger-than-a-batch", func() []byte {
		return append(message(magic, 0, baseTime, 0, nil, make([]byte, 600)), message(magic, 1, baseTime, 0, nil, make([]byte, 600))...)
	}, "max.message.bytes", "1000")
	return all
}

// one is a set that is made already.
func one(b []byte) func() []byte { return func() []byte { return b } }

// oldProduced sends a set to a topic of its own in each version, and reads the topic with consumers of every age.
func oldProduced(c oldCase) []probe {
	topic := func(v int16) string { return fmt.Sprintf("old-%s-v%d", c.name, v) }
	send := probe{name: "old-" + c.name, key: 0, to: max(2, c.upTo), make: func(w *world, v int16) (kmsg.Request, error) {
		config := append([]string{"retention.ms", "-1"}, c.config...)
		if err := w.topic(topic(v), 1, config...); err != nil {
			return nil, err
		}
		return produceTo(w, topic(v), 0, 1, c.set()), nil
	}}
	all := []probe{send}
	for produced := int16(0); produced <= 2; produced += 2 {
		p := fetched(fmt.Sprintf("old-%s-of-v%d", c.name, produced), 0, 0, func(w *world, _ int16, req *kmsg.FetchRequest) {
			req.MaxWaitMillis, req.Topics[0].Topic, req.Topics[0].TopicID = 1, topic(produced), w.ids[topic(produced)]
		})
		p.to = 3
		if produced == 2 {
			p.to = 4
		}
		all = append(all, p)
	}
	return all
}

// oldMoreProbes are what is not a set.
func oldMoreProbes() []probe {
	list := func(name string, at int64, most int32, change func(req *kmsg.ListOffsetsRequest)) probe {
		p := listed("old-"+name, at, func(req *kmsg.ListOffsetsRequest) {
			req.Topics[0].Partitions[0].MaxNumOffsets = most
			if change != nil {
				change(req)
			}
		})
		p.from, p.to, p.upToZero = 0, 0, true
		return p
	}
	return []probe{
		list("latest", -1, 1, nil),
		list("latest-many", -1, 10, nil),
		list("earliest", -2, 1, nil),
		list("earliest-many", -2, 10, nil),
		list("max-zero", -1, 0, nil),
		list("max-negative", -1, -1, nil),
		list("long-ago", 5, 10, nil),
		list("far-future", 1<<50, 10, nil),
		list("negative", -3, 10, nil),
		list("unknown-topic", -1, 1, func(req *kmsg.ListOffsetsRequest) { req.Topics[0].Topic = "nobody" }),
		list("unknown-partition", -1, 1, func(req *kmsg.ListOffsetsRequest) { req.Topics[0].Partitions[0].Partition = 9 }),
		list("empty-partition", -1, 10, func(req *kmsg.ListOffsetsRequest) { req.Topics[0].Partitions[0].Partition = 1 }),
		list("partition-twice", -1, 1, func(req *kmsg.ListOffsetsRequest) {
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, req.Topics[0].Partitions[0])
		}),
		list("debug-replica", -1, 1, func(req *kmsg.ListOffsetsRequest) { req.ReplicaID = -2 }),
	}
}
