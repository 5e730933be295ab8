package load

import (
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
	ModeMixed    = "mixed"   // producers and, at the tail, consumers
	ModeRecord   = "record"  // a topic's workload into a file
	ModeReplay   = "replay"  // the workload of such a file
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
	Sizes      string // how record sizes are spread around RecordSize
	KeySize    int
	Keys       int // different keys; 0: keys are of chance, or none, and partitions take turns
	KeySkew    float64

	KeyDistribution string
	Random          float64       // share of a value's bytes that do not compress
	BatchBytes      int           // of a produce request
	Linger          time.Duration // open loop: a request takes the records of this time, if they are no more than BatchBytes
	Compress        string
	Acks            string // 0, 1, all
	Idempotent      bool

	Connections int
	InFlight    int
	FetchBytes  int
	From        string // consume: beginning, end
	Group       string // consume: Connections members of this group share the partitions
	Consumers   int    // mixed: consumers that each read everything

	File  string  // record, replay
	Speed float64 // replay: 2 is twice as fast as it was

	Verify bool // check counts against the broker's log end offsets
	JSON   bool
	HTML   string // report file
	HDR    string // percentile file

	Admin string // host:port of the broker's metrics page: the report then has its phases

	Progress io.Writer // live line; nil: none

	// Around, when set, is given what counts to run, and says how much processor time the broker took for it.
	Around func(run func() error) (cpuSeconds float64, err error)

	patience time.Duration // how long consumers wait for records that do not come
}

// Defaults are the options of a mode when nothing is said.
func Defaults(mode string) Options {
	o := Options{Mode: mode, Bootstrap: "127.0.0.1:9092", Topic: "pelton-perf", Partitions: 6, Duration: 10 * time.Second, Warmup: time.Second,
		RecordSize: 1000, Random: 0.5, BatchBytes: 256 << 10, Compress: "none", Acks: "1", Connections: 4, InFlight: 5, FetchBytes: 1 << 20, From: "beginning", Verify: true,
		Sizes: SizesFixed, KeyDistribution: KeysUniform, KeySkew: 1.1, Consumers: 1, Speed: 1, patience: 5 * time.Second}
	switch mode {
	case ModeConsume, ModeRecord:
		o.Duration, o.Warmup, o.Partitions = 0, 0, 0
	case ModeReplay:
		o.Duration, o.Warmup, o.Connections = 0, 0, 1
	case ModeMixed:
		o.Warmup = 0
	case ModeLatency:
		o.Rate, o.RecordSize, o.Connections, o.BatchBytes = 1000, 100, 1, 1
	case ModeSelfTest:
		o.Duration = 2 * time.Second
	}
	return o
}

// Check refuses what cannot be, in words that say what can.
func (o Options) Check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w "+format, append([]any{ErrOption}, args...)...)
	}
	codecs := []string{"none", "gzip", "snappy", "lz4", "zstd"}
	switch {
	case !slices.Contains(Modes(), o.Mode):
		return bad("mode %q: %s", o.Mode, strings.Join(Modes(), ", "))
	case o.Topic == "":
		return bad("topic: a name is wanted")
	case !slices.Contains([]string{"0", "1", "all", "-1"}, o.Acks):
		return bad("acks %q: 0, 1 or all", o.Acks)
	case !slices.Contains(codecs, o.Compress):
		return bad("compression %q: %s", o.Compress, strings.Join(codecs, ", "))
	case o.Idempotent && o.acks() != -1:
		return bad("acks %q: an idempotent producer needs all", o.Acks)
	case o.Random < 0 || o.Random > 1:
		return bad("random %v: 0 … 1", o.Random)
	case o.BatchBytes < 1 || o.BatchBytes > 64<<20:
		return bad("batch-bytes %d: 1 … %d", o.BatchBytes, 64<<20)
	case o.Connections < 1 || o.Connections > 10000:
		return bad("connections %d: 1 … 10000", o.Connections)
	case o.InFlight < 1 || o.InFlight > 10000:
		return bad("in-flight %d: 1 … 10000", o.InFlight)
	case o.Consumers < 1 || o.Consumers > 1000:
		return bad("consumers %d: 1 … 1000", o.Consumers)
	case o.From != "beginning" && o.From != "end":
		return bad("from %q: beginning or end", o.From)
	}
	if err := o.checkRecords(bad); err != nil {
		return err
	}
	return o.checkMode(bad)
}

// Modes are what Run can do.
func Modes() []string {
	return []string{ModeProduce, ModeConsume, ModeLatency, ModeMixed, ModeRecord, ModeReplay, ModeSelfTest}
}

// checkRecords looks at what records are like.
func (o Options) checkRecords(bad func(string, ...any) error) error {
	switch {
	case o.RecordSize < 0 || o.RecordSize > 64<<20:
		return bad("record-size %d: 0 … %d", o.RecordSize, 64<<20)
	case !slices.Contains(sizeDistributions(), o.Sizes):
		return bad("sizes %q: %s", o.Sizes, strings.Join(sizeDistributions(), ", "))
	case o.KeySize < 0 || o.KeySize > 64<<10:
		return bad("key-size %d: 0 … %d", o.KeySize, 64<<10)
	case o.Keys < 0 || o.Keys > 1<<30:
		return bad("keys %d: 0 (keys of chance) … %d", o.Keys, 1<<30)
	case !slices.Contains(keyDistributions(), o.KeyDistribution):
		return bad("key-distribution %q: %s", o.KeyDistribution, strings.Join(keyDistributions(), ", "))
	case o.KeyDistribution == KeysZipf && o.Keys > 0 && o.KeySkew <= 1:
		return bad("key-skew %v: more than 1", o.KeySkew)
	case o.Mode == ModeLatency && (o.Keys > 0 || o.Sizes != SizesFixed):
		return bad("keys, sizes: latency sends records of one size, without a choice of keys")
	}
	return nil
}

// checkMode looks at what each mode needs.
func (o Options) checkMode(bad func(string, ...any) error) error {
	producing := o.Mode == ModeProduce || o.Mode == ModeMixed
	switch {
	case o.Rate < 0:
		return bad("rate %v: 0 (as fast as possible) or more", o.Rate)
	case o.Rate > 0 && !producing && o.Mode != ModeLatency && o.Mode != ModeSelfTest:
		return bad("rate %v: for produce, mixed and latency; %s goes as fast as its source", o.Rate, o.Mode)
	case o.Warmup > 0 && !o.warms():
		return bad("warmup %v: for produce, latency, self-test, and for consume with a duration or a number of records; %s counts everything", o.Warmup, o.Mode)
	case o.Linger < 0 || o.Linger > time.Minute || o.Linger > 0 && (o.Rate == 0 || !producing):
		return bad("linger %v: up to a minute, for producing at a fixed rate; at full speed batch-bytes decides", o.Linger)
	case o.Mode == ModeLatency && o.Rate == 0:
		return bad("rate 0: latency is measured at a fixed rate")
	case o.Mode == ModeLatency && (o.RecordSize < stampBytes || o.Compress != "none"):
		return bad("record-size %d, compression %s: latency needs %d bytes or more for its mark, not compressed", o.RecordSize, o.Compress, stampBytes)
	case (producing || o.Mode == ModeLatency || o.Mode == ModeSelfTest) && o.Records == 0 && o.Duration <= 0:
		return bad("duration %v: more than 0, or say records", o.Duration)
	case (o.Mode == ModeConsume || o.Mode == ModeRecord) && o.From == "end" && o.Duration <= 0:
		return bad("from end: say a duration")
	case o.Group != "" && o.Mode != ModeConsume:
		return bad("group %q: for consume", o.Group)
	case (o.Mode == ModeRecord || o.Mode == ModeReplay) && o.File == "":
		return bad("file: the workload's file is wanted")
	case o.Mode == ModeReplay && (o.Speed <= 0 || o.Speed > 1000):
		return bad("speed %v: more than 0, up to 1000", o.Speed)
	}
	return nil
}

// warms is true when a run can do its work for a while before what counts.
func (o Options) warms() bool {
	switch o.Mode {
	case ModeProduce, ModeLatency, ModeSelfTest:
		return true
	case ModeConsume:
		return o.Group == "" && (o.Duration > 0 || o.Records > 0)
	}
	return false
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

// recordOverhead is what a small record takes beside its key and value.
const recordOverhead = 12

// perBatch is the number of records in a produce request.
func (o Options) perBatch() int {
	n := max(1, o.BatchBytes/(o.RecordSize+o.KeySize+recordOverhead))
	if o.Linger > 0 {
		n = min(n, max(1, int(o.Rate/float64(o.Connections)*o.Linger.Seconds())))
	}
	return n
}

// holdNs is how long an open loop's request waits for its last record; each connection gets its share of the rate.
func (o Options) holdNs() int64 {
	if o.Linger == 0 {
		return 0
	}
	return int64(float64(o.perBatch()-1) * float64(o.Connections) / o.Rate * 1e9)
}

// pooled is true when batches differ from each other.
func (o Options) pooled() bool { return o.Keys > 0 || o.Sizes != SizesFixed }

func (o Options) batch(nowMs int64) ([]byte, error) {
	n := o.perBatch()
	if o.Mode == ModeLatency {
		n = 1
	}
	return BuildBatch(BatchSpec{Records: n, RecordBytes: o.RecordSize, KeyBytes: o.KeySize, Compression: o.Compress, Random: o.Random, TimeMs: nowMs})
}
