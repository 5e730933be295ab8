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
		Short: "Measure a broker: produce, consume, end-to-end latency, and this tool's own limit",
		Example: "  pelton perf produce --record-size 1000 --duration 10s\n" +
			"  pelton perf produce --rate 50000 --html report.html     # open loop: latency from the intended moment\n" +
			"  pelton perf produce --keep && pelton perf consume       # a topic that was made for the run goes with it, without --keep\n" +
			"  pelton perf latency --rate 1000 --json\n" +
			"  pelton perf self-test",
	}
	var modes []*cobra.Command
	for _, mode := range []struct{ name, short string }{
		{load.ModeProduce, "Produce at full speed, or at a fixed rate"},
		{load.ModeConsume, "Read a topic from its beginning, or follow its end"},
		{load.ModeLatency, "Produce at a fixed rate and consume: latency from the intended moment to the consumer"},
		{load.ModeSelfTest, "Measure how fast this tool could go, against a sink that does nothing"},
	} {
		modes = append(modes, perfModeCommand(std, mode.name, mode.short))
	}
	return family(c, modes...)
}

func perfModeCommand(std streams, mode, short string) *cobra.Command {
	o := load.Defaults(mode)
	var quiet, noVerify bool
	c := &cobra.Command{
		Use:   mode,
		Short: short,
		Args:  cobra.NoArgs,
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
			case errors.Is(err, load.ErrOption):
				return usageError("%v", err)
			}
			return err
		},
	}
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
	f.IntVar(&o.KeySize, "key-size", o.KeySize, "bytes of a key; 0: no key")
	f.Float64Var(&o.Random, "random", o.Random, "share of a value's bytes that do not compress, 0 to 1")
	f.IntVar(&o.BatchBytes, "batch-bytes", o.BatchBytes, "bytes of a produce request")
	f.StringVar(&o.Compress, "compression", o.Compress, "none, gzip, snappy, lz4 or zstd")
	f.StringVar(&o.Acks, "acks", o.Acks, "0, 1 or all")
	f.BoolVar(&o.Idempotent, "idempotent", o.Idempotent, "produce with a producer id and sequence numbers")
	f.IntVar(&o.Connections, "connections", o.Connections, "connections")
	f.IntVar(&o.InFlight, "in-flight", o.InFlight, "requests outstanding on each connection")
	f.IntVar(&o.FetchBytes, "fetch-bytes", o.FetchBytes, "most bytes of a fetch answer")
	f.StringVar(&o.From, "from", o.From, "consume: beginning or end")
	f.BoolVar(&noVerify, "no-verify", false, "do not compare counts with the log end offsets (somebody else writes to the topic)")
	f.BoolVar(&o.JSON, "json", false, "print JSON")
	f.StringVar(&o.HTML, "html", "", "write a report to this file")
	f.StringVar(&o.HDR, "hdr", "", "write the percentile distribution to this file")
	f.BoolVar(&quiet, "quiet", false, "no progress line")
	return c
}
