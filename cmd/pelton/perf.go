package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/perf/load"
)

// exitCounts is the code of a run whose counts do not agree with the broker's log.
const exitCounts = 2

// perfCommand measures a broker by load.
func perfCommand(std streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "perf",
		Short: "Measure a broker: produce, consume, both, end-to-end latency, a recorded workload, and this tool's own limit",
		Example: "  pelton perf produce --record-size 1000 --duration 10s\n" +
			"  pelton perf produce --rate 50000 --html report.html     # open loop: latency from the intended moment\n" +
			"  pelton perf produce --keep && pelton perf consume       # a topic that was made for the run goes with it, without --keep\n" +
			"  pelton perf produce --keys 100000 --key-distribution zipf --sizes exponential --rate 20000 --linger 5ms\n" +
			"  pelton perf consume --group readers --connections 3     # three members share the partitions\n" +
			"  pelton perf mixed --consumers 2 --rate 20000 --admin 127.0.0.1:9101 --html report.html   # with the broker's phases\n" +
			"  pelton perf record --topic orders --file orders.load && pelton perf replay --file orders.load --speed 2\n" +
			"  pelton perf latency --rate 1000 --json\n" +
			"  pelton perf self-test",
	}
	var modes []*cobra.Command
	for _, mode := range []struct{ name, short, example string }{
		{load.ModeProduce, "Produce at full speed, or at a fixed rate", "pelton perf produce --rate 50000 --html report.html"},
		{load.ModeConsume, "Read a topic from its beginning, or follow its end", "pelton perf consume --topic pelton-perf --group readers --connections 3"},
		{load.ModeLatency, "Produce at a fixed rate and consume: latency from the intended moment to the consumer", "pelton perf latency --rate 1000 --json"},
		{load.ModeMixed, "Produce, and read everything at the same time, once for each consumer", "pelton perf mixed --consumers 2 --rate 20000 --admin 127.0.0.1:9101"},
		{load.ModeRecord, "Write a topic's workload into a file: times and sizes of its batches, nothing of their content", "pelton perf record --topic orders --file orders.load"},
		{load.ModeReplay, "Produce the workload of such a file at its own pace, or at a multiple of it", "pelton perf replay --file orders.load --speed 2"},
		{load.ModeSelfTest, "Measure how fast this tool could go, against a sink that does nothing", "pelton perf self-test --batch-bytes 16384"},
	} {
		modes = append(modes, perfModeCommand(std, mode.name, mode.short, mode.example))
	}
	return family(c, modes...)
}

func perfModeCommand(std streams, mode, short, example string) *cobra.Command {
	o := load.Defaults(mode)
	var quiet, noVerify bool
	c := &cobra.Command{
		Use:     mode,
		Short:   short,
		Example: "  " + example,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f, ok := std.err.(*os.File); ok && !quiet {
				if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
					o.Progress = f
				}
			}
			o.Verify = !noVerify
			_, err := load.Run(cmd.Context(), o, std.out)
			switch {
			case errors.Is(err, load.ErrCounts):
				return &exitError{code: exitCounts, text: err.Error()}
			case errors.Is(err, load.ErrConnect):
				return &unreachableError{bootstrap: o.Bootstrap, err: err}
			case errors.Is(err, load.ErrOption), errors.Is(err, load.ErrTrace):
				return usageError("%v", err)
			}
			return err
		},
	}
	perfFlags(c, &o)
	f := c.Flags()
	f.BoolVar(&noVerify, "no-verify", false, "do not compare counts with the log end offsets (somebody else writes to the topic)")
	f.BoolVar(&quiet, "quiet", false, "no progress line")
	return c
}

// perfFlags are the flags that go into the options.
func perfFlags(c *cobra.Command, o *load.Options) {
	f := c.Flags()
	f.StringVarP(&o.Bootstrap, "bootstrap-server", "b", o.Bootstrap, "broker")
	f.StringVar(&o.Topic, "topic", o.Topic, "topic")
	f.IntVar(&o.Partitions, "partitions", o.Partitions, "make the topic with so many partitions when it is not there; 0: it is there")
	f.BoolVar(&o.Keep, "keep", o.Keep, "keep a topic that was made for the run")
	f.Int64Var(&o.Records, "records", o.Records, "stop after so many records")
	f.DurationVar(&o.Duration, "duration", o.Duration, "stop after this time")
	f.DurationVar(&o.Warmup, "warmup", o.Warmup, "work of this length before what counts")
	f.Float64Var(&o.Rate, "rate", o.Rate, "records a second; 0: as fast as possible")
	f.IntVar(&o.RecordSize, "record-size", o.RecordSize, "bytes of a value")
	f.StringVar(&o.Sizes, "sizes", o.Sizes, "how sizes are spread around record-size: fixed, uniform or exponential")
	f.IntVar(&o.KeySize, "key-size", o.KeySize, "bytes of a key; 0: no key, or as long as its number")
	f.IntVar(&o.Keys, "keys", o.Keys, "different keys, which choose the partition as clients do; 0: partitions take turns")
	f.StringVar(&o.KeyDistribution, "key-distribution", o.KeyDistribution, "uniform, zipf, hot (half of all records have one key) or sequential")
	f.Float64Var(&o.KeySkew, "key-skew", o.KeySkew, "exponent of zipf")
	f.Float64Var(&o.Random, "random", o.Random, "share of a value's bytes that do not compress, 0 to 1")
	f.IntVar(&o.BatchBytes, "batch-bytes", o.BatchBytes, "bytes of a produce request")
	f.DurationVar(&o.Linger, "linger", o.Linger, "at a fixed rate: time that a request collects records for")
	f.StringVar(&o.Compress, "compression", o.Compress, "none, gzip, snappy, lz4 or zstd")
	f.StringVar(&o.Acks, "acks", o.Acks, "0, 1 or all")
	f.BoolVar(&o.Idempotent, "idempotent", o.Idempotent, "produce with a producer id and sequence numbers")
	f.IntVar(&o.Connections, "connections", o.Connections, "connections; members of a group")
	f.IntVar(&o.InFlight, "in-flight", o.InFlight, "requests outstanding on each connection")
	f.IntVar(&o.FetchBytes, "fetch-bytes", o.FetchBytes, "most bytes of a fetch answer")
	f.StringVar(&o.From, "from", o.From, "consume, record: beginning or end")
	f.StringVar(&o.Group, "group", o.Group, "consume: as members of this group, which is deleted at the end")
	f.IntVar(&o.Consumers, "consumers", o.Consumers, "mixed: consumers that each read everything")
	f.StringVar(&o.File, "file", o.File, "record, replay: the workload's file")
	f.Float64Var(&o.Speed, "speed", o.Speed, "replay: 2 is twice as fast as it was")
	f.StringVar(&o.Admin, "admin", o.Admin, "the broker's admin.listener: the result then tells where requests spent their time")
	f.BoolVar(&o.JSON, "json", false, "print JSON")
	f.StringVar(&o.HTML, "html", "", "write a report to this file")
	f.StringVar(&o.HDR, "hdr", "", "write the latencies to this file: name.hlog as a histogram log, else as a percentile distribution")
}
