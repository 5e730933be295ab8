package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/inspect"
)

// kafkaDumpLog translates the flags of Kafka's DumpLogSegments.
func kafkaDumpLog(args []string) ([]string, error) {
	f, err := parseTool("kafka-dump-log", args, map[string]bool{
		"files": true, "deep-iteration": false, "print-data-log": false, "verify-index-only": false, "index-sanity-check": false,
		"offsets-decoder": false, "transaction-log-decoder": false, "skip-record-metadata": false, "max-bytes": true, "max-message-size": true,
		"key-decoder-class": true, "value-decoder-class": true,
		"cluster-metadata-decoder": false, "remote-log-metadata-decoder": false, "share-group-state-decoder": false,
	})
	if err != nil {
		return nil, err
	}
	for _, other := range [...]string{"cluster-metadata-decoder", "remote-log-metadata-decoder", "share-group-state-decoder"} {
		if f.has(other) {
			return nil, usageError("kafka-dump-log: --%s reads records that only KRaft and tiered storage write; Pelton does not know them", other)
		}
	}
	if !f.has("files") || len(f.rest) > 0 {
		return nil, usageError("kafka-dump-log: needs --files FILE[,FILE ...]")
	}
	out := f.pass([]string{"log", "dump", "--kafka-layout"}, "deep-iteration", "--deep-iteration", "print-data-log", "--print-data-log",
		"verify-index-only", "--verify-index-only", "index-sanity-check", "--index-sanity-check", "offsets-decoder", "--offsets-decoder",
		"transaction-log-decoder", "--transaction-log-decoder", "skip-record-metadata", "--skip-record-metadata",
		"max-bytes", "--max-bytes=", "max-message-size", "--max-message-size=", "key-decoder-class", "--key-decoder-class=", "value-decoder-class", "--value-decoder-class=")
	out = append(out, "--")
	for _, list := range f.values["files"] {
		for _, file := range strings.Split(list, ",") {
			if file = strings.TrimSpace(file); file != "" {
				out = append(out, file)
			}
		}
	}
	return out, nil
}

// kafkaDumpFlags are the flags of kafka-dump-log on our verb; they are not shown in its help.
type kafkaDumpFlags struct {
	on, deep, data, verify, sanity, offsets, txns, skip bool
	maxBytes, maxMessage                                int64
	key, value                                          string
}

func (k *kafkaDumpFlags) flags(c *cobra.Command) {
	fs := c.Flags()
	for _, b := range []struct {
		name string
		into *bool
	}{
		{"kafka-layout", &k.on}, {"deep-iteration", &k.deep}, {"print-data-log", &k.data}, {"verify-index-only", &k.verify}, {"index-sanity-check", &k.sanity},
		{"offsets-decoder", &k.offsets}, {"transaction-log-decoder", &k.txns}, {"skip-record-metadata", &k.skip},
	} {
		fs.BoolVar(b.into, b.name, false, "")
		_ = fs.MarkHidden(b.name)
	}
	fs.Int64Var(&k.maxBytes, "max-bytes", math.MaxInt32, "")
	fs.Int64Var(&k.maxMessage, "max-message-size", 5<<20, "")
	fs.StringVar(&k.key, "key-decoder-class", "", "")
	fs.StringVar(&k.value, "value-decoder-class", "", "")
	for _, name := range [...]string{"max-bytes", "max-message-size", "key-decoder-class", "value-decoder-class"} {
		_ = fs.MarkHidden(name)
	}
}

// run dumps in Kafka's layout. Any decoder switches the printing of data on, and that the deep iteration, as in Kafka.
func (k *kafkaDumpFlags) run(std streams, files []string) error {
	d := inspect.KafkaDump{FS: disk.OS(), Out: std.out, Err: std.err, Deep: k.deep, SkipMetadata: k.skip, MaxMessage: k.maxMessage, VerifyOnly: k.verify, SanityOnly: k.sanity}
	if k.maxBytes != math.MaxInt32 {
		d.MaxBytes = k.maxBytes
	}
	switch {
	case k.offsets:
		d.Parse = inspect.Offsets()
	case k.txns:
		d.Parse = inspect.TxnLog()
	case k.data || k.key != "" || k.value != "":
		key, err1 := inspect.DecoderFor(k.key)
		value, err2 := inspect.DecoderFor(k.value)
		if err := errors.Join(err1, err2); err != nil {
			return usageError("%v", err)
		}
		d.Parse = inspect.Plain(key, value)
	}
	d.Deep = d.Deep || d.Parse != nil
	if err := d.Run(files); err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return nil
}
