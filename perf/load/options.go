package load

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Modes of Run.
const (
	ModeProduce  = "produce"
	ModeConsume  = "consume"
	ModeLatency  = "latency" // end to end: from the intended moment of producing to the consumer
	ModeSelfTest = "self-test"
)

// Options are what `pelton perf` takes. Zero values mean the defaults of Defaults.
type Options struct {
	Mode       string
	Bootstrap  string
	Topic      string
	Partitions int  // of a topic that is made for the run; 0: the topic is there, with as many as it has
	Keep       bool // leave a topic that was made for the run

	Records    int64         // to produce or consume; 0: Duration decides
	Duration   time.Duration // 0: Records decides
	Warmup     time.Duration // before what counts
	Rate       float64       // records a second, open loop; 0: as fast as possible, closed loop
	RecordSize int
	KeySize    int
	Random     float64 // share of a value's bytes that do not compress
	BatchBytes int     // of a produce request
	Compress   string
	Acks       string // 0, 1, all
	Idempotent bool

	Connections int
	InFlight    int
	FetchBytes  int
	From        string // consume: beginning, end

	Verify bool // check counts against the broker's log end offsets
	JSON   bool
	HTML   string // report file
	HDR    string // percentile file

	Progress io.Writer // live line; nil: none

	// Around, when set, is given what counts to run, and says how much processor time the broker took for it.
	Around func(run func() error) (cpuSeconds float64, err error)

	patience time.Duration // how long consumers wait for records that do not come
}

// Defaults are the options of a mode when nothing is said.
func Defaults(mode string) Options {
	o := Options{Mode: mode, Bootstrap: "127.0.0.1:9092", Topic: "pelton-perf", Partitions: 6, Duration: 10 * time.Second, Warmup: time.Second,
		RecordSize: 1000, Random: 0.5, BatchBytes: 256 << 10, Compress: "none", Acks: "1", Connections: 4, InFlight: 5, FetchBytes: 1 << 20, From: "beginning", Verify: true, patience: 5 * time.Second}
	switch mode {
	case ModeConsume:
		o.Duration, o.Warmup, o.Partitions = 0, 0, 0
	case ModeLatency:
		o.Rate, o.RecordSize, o.Connections, o.BatchBytes = 1000, 100, 1, 1
	case ModeSelfTest:
		o.Duration = 2 * time.Second
	}
	return o
}

// ErrOption is returned when an option has a value that it cannot have; the message names it.
var ErrOption = errors.New("load: option")

// Check refuses what cannot be, in words that say what can.
func (o Options) Check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w "+format, append([]any{ErrOption}, args...)...)
	}
	modes := []string{ModeProduce, ModeConsume, ModeLatency, ModeSelfTest}
	codecs := []string{"none", "gzip", "snappy", "lz4", "zstd"}
	switch {
	case !slices.Contains(modes, o.Mode):
		return bad("mode %q: %s", o.Mode, strings.Join(modes, ", "))
	case o.Topic == "":
		return bad("topic: a name is wanted")
	case !slices.Contains([]string{"0", "1", "all", "-1"}, o.Acks):
		return bad("acks %q: 0, 1 or all", o.Acks)
	case !slices.Contains(codecs, o.Compress):
		return bad("compression %q: %s", o.Compress, strings.Join(codecs, ", "))
	case o.Idempotent && o.acks() != -1:
		return bad("acks %q: an idempotent producer needs all", o.Acks)
	case o.RecordSize < 0 || o.RecordSize > 64<<20:
		return bad("record-size %d: 0 … %d", o.RecordSize, 64<<20)
	case o.KeySize < 0 || o.KeySize > 64<<10:
		return bad("key-size %d: 0 … %d", o.KeySize, 64<<10)
	case o.Random < 0 || o.Random > 1:
		return bad("random %v: 0 … 1", o.Random)
	case o.BatchBytes < 1 || o.BatchBytes > 64<<20:
		return bad("batch-bytes %d: 1 … %d", o.BatchBytes, 64<<20)
	case o.Connections < 1 || o.Connections > 10000:
		return bad("connections %d: 1 … 10000", o.Connections)
	case o.InFlight < 1 || o.InFlight > 10000:
		return bad("in-flight %d: 1 … 10000", o.InFlight)
	case o.Rate < 0:
		return bad("rate %v: 0 (as fast as possible) or more", o.Rate)
	case o.Mode == ModeLatency && o.Rate == 0:
		return bad("rate 0: latency is measured at a fixed rate")
	case o.Mode == ModeLatency && (o.RecordSize < stampBytes || o.Compress != "none"):
		return bad("record-size %d, compression %s: latency needs %d bytes or more for its mark, not compressed", o.RecordSize, o.Compress, stampBytes)
	case o.Mode != ModeConsume && o.Records == 0 && o.Duration <= 0:
		return bad("duration %v: more than 0, or say records", o.Duration)
	case o.From != "beginning" && o.From != "end":
		return bad("from %q: beginning or end", o.From)
	case o.Mode == ModeConsume && o.From == "end" && o.Duration <= 0:
		return bad("from end: say a duration")
	}
	return nil
}

func (o Options) acks() int16 {
	switch o.Acks {
	case "0":
		return 0
	case "1":
		return 1
	}
	return -1
}

// perBatch is the number of records in a produce request.
func (o Options) perBatch() int { return max(1, o.BatchBytes/(o.RecordSize+o.KeySize+12)) }

func (o Options) batch(nowMs int64) ([]byte, error) {
	n := o.perBatch()
	if o.Mode == ModeLatency {
		n = 1
	}
	return BuildBatch(BatchSpec{Records: n, RecordBytes: o.RecordSize, KeyBytes: o.KeySize, Compression: o.Compress, Random: o.Random, TimeMs: nowMs})
}
