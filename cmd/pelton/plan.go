package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"
)

// errPlan is returned when a plan's rates cannot be; the message names the flag.
var errPlan = errors.New("plan")

// What a partition costs this broker, from the row "partitions" of the benchmarks, rounded up; --partition-memory and
// --partition-election take others.
const (
	partitionMemoryKiB  = 8
	partitionElectionMs = 1.0
)

// planInput is what the user knows about the load. A zero is not known.
type planInput struct {
	topicRate, producerRate, consumerRate rate
	perDay, keep, brokerDisk              bytesValue
	keepDays, diskFill                    float64
	nic                                   rate
	nicUse                                share
	nicFill                               share
	consumers, replication, brokers       int
	partitions                            int
	partitionMemory                       int
	partitionElection                     float64
}

// planAnswer is one question with its arithmetic in words.
type planAnswer struct {
	Question string  `json:"question"`
	Sum      string  `json:"arithmetic"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
}

// plan is everything that the input lets say.
type plan struct {
	Answers    []planAnswer `json:"answers"`
	Partitions int          `json:"partitions,omitempty"`
	Brokers    int          `json:"brokers,omitempty"`
	Notes      []string     `json:"notes,omitempty"`
}

func planCommand(std streams) *cobra.Command {
	in := planInput{}
	var asJSON bool
	c := &cobra.Command{
		Use:   "plan",
		Short: "Work out partitions, disks and brokers from the rates you expect",
		Long: `Work out partitions, disks and brokers from the rates you expect. Say what you know; what cannot be worked out is left out.
Sizes take kB, MB, GB, TB (1000) and KiB, MiB, GiB, TiB (1024), rates the same with /s, and kbit, Mbit, Gbit.

  partitions  the topic's rate over what one consumer can take (or one producer bring), the larger of the two
  disk        bytes a day times the days they are kept, times the replicas; over one broker's disk it makes brokers
  network     each byte leaves as often as it has consumers, and once for each replica but the first
  partitions' own cost: memory on each broker, and the time until a failed broker's partitions have new leaders`,
		Example: "  pelton plan --topic-rate 1GB/s --consumer-rate 50MB/s                 # 20 partitions\n" +
			"  pelton plan --per-day 1TB --keep-days 7                              # 7 TB\n" +
			"  pelton plan --keep 10TB --broker-disk 2TB --replication 2            # 5 brokers for one copy, 10 for two\n" +
			"  pelton plan --nic-use 80% --consumers 2                              # 2 brokers\n" +
			"  pelton plan --topic-rate 300MB/s --nic 10Gbit --consumers 3 --replication 3\n" +
			"  pelton plan --partitions 10000 --replication 3 --brokers 5           # memory and failover",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := in.work()
			if err != nil {
				return usageError("%v", err)
			}
			if asJSON {
				return printJSON(std.out, p)
			}
			return p.print(std)
		},
	}
	in.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (in *planInput) flags(c *cobra.Command) {
	f := c.Flags()
	in.nicFill, in.diskFill = 0.8, 1
	f.Var(&in.topicRate, "topic-rate", "bytes a second that come in at the peak")
	f.Var(&in.consumerRate, "consumer-rate", "bytes a second that one consumer can take")
	f.Var(&in.producerRate, "producer-rate", "bytes a second that can be written to one partition")
	f.Var(&in.perDay, "per-day", "bytes that come in a day (default: the topic's rate all day)")
	f.Float64Var(&in.keepDays, "keep-days", 0, "days that they are kept")
	f.Var(&in.keep, "keep", "bytes that are kept, instead of per-day and keep-days")
	f.Var(&in.brokerDisk, "broker-disk", "disk of one broker")
	f.Float64Var(&in.diskFill, "disk-fill", in.diskFill, "share of a disk that logs may fill")
	f.Var(&in.nic, "nic", "speed of one broker's network interface")
	f.Var(&in.nicUse, "nic-use", "share of one broker's interface that one consumer of everything takes, e.g. 80%")
	f.Var(&in.nicFill, "nic-fill", "share of an interface that may be used at the peak")
	f.IntVar(&in.consumers, "consumers", 1, "consumers (groups) that read everything")
	f.IntVar(&in.replication, "replication", 1, "replicas of each partition")
	f.IntVar(&in.brokers, "brokers", 0, "brokers there are (default: as many as the other answers ask for)")
	f.IntVar(&in.partitions, "partitions", 0, "partitions there are (default: as many as the rates ask for)")
	f.IntVar(&in.partitionMemory, "partition-memory", partitionMemoryKiB, "KiB of memory that one replica takes")
	f.Float64Var(&in.partitionElection, "partition-election", partitionElectionMs, "ms until one partition has a new leader")
}

func (in *planInput) check() error {
	switch {
	case in.consumers < 0 || in.replication < 1 || in.brokers < 0 || in.partitions < 0:
		return fmt.Errorf("%w: --consumers, --brokers and --partitions from 0, --replication from 1", errPlan)
	case in.diskFill <= 0 || in.diskFill > 1 || in.nicFill <= 0 || in.nicFill > 1:
		return fmt.Errorf("%w: --disk-fill and --nic-fill: more than 0, at most 1 (or 100%%)", errPlan)
	case in.keepDays < 0 || in.partitionMemory < 0 || in.partitionElection < 0:
		return fmt.Errorf("%w: --keep-days, --partition-memory and --partition-election: 0 or more", errPlan)
	}
	return nil
}

// work answers every question for which the input is enough.
func (in *planInput) work() (*plan, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	p := &plan{}
	in.countPartitions(p)
	in.sizeDisks(p)
	in.sizeNetwork(p)
	in.costPartitions(p)
	if len(p.Answers) == 0 {
		return nil, fmt.Errorf("%w: too little is known; say a rate, e.g. --topic-rate 1GB/s --consumer-rate 50MB/s", errPlan)
	}
	if in.brokers > 0 && p.Brokers > in.brokers {
		p.Notes = append(p.Notes, fmt.Sprintf("%d brokers are there, %d are needed", in.brokers, p.Brokers))
	}
	if most := max(p.Brokers, in.brokers); most > 0 && in.replication > most {
		p.Notes = append(p.Notes, fmt.Sprintf("%d replicas need as many brokers; %d are counted here", in.replication, most))
	}
	return p, nil
}

func (p *plan) answer(question, unit string, value float64, sum string, args ...any) {
	p.Answers = append(p.Answers, planAnswer{Question: question, Sum: fmt.Sprintf(sum, args...), Value: value, Unit: unit})
}

// wholes rounds up, past what dividing decimal fractions leaves over.
func wholes(v float64) int { return int(math.Ceil(v - 1e-9)) }

func (in *planInput) countPartitions(p *plan) {
	for _, side := range [...]struct {
		who  string
		rate rate
	}{{"consumers", in.consumerRate}, {"producers", in.producerRate}} {
		if in.topicRate == 0 || side.rate == 0 {
			continue
		}
		n := wholes(float64(in.topicRate) / float64(side.rate))
		p.answer("partitions for the "+side.who, "partitions", float64(n), "%v / %v", in.topicRate, side.rate)
		p.Partitions = max(p.Partitions, n)
	}
	if in.partitions > 0 {
		p.Partitions = in.partitions
	}
}

func (in *planInput) sizeDisks(p *plan) {
	perDay, keep := in.perDay, in.keep
	if perDay == 0 && in.topicRate > 0 && in.keepDays > 0 {
		perDay = bytesValue(float64(in.topicRate) * 86400)
		p.answer("bytes a day", "bytes", float64(perDay), "%v × 86 400 s, as if the peak lasted all day", in.topicRate)
	}
	if keep == 0 && perDay > 0 && in.keepDays > 0 {
		keep = bytesValue(float64(perDay) * in.keepDays)
		p.answer("kept, one copy", "bytes", float64(keep), "%v × %g days", perDay, in.keepDays)
	}
	if keep == 0 {
		return
	}
	if in.replication > 1 {
		p.answer("kept, all replicas", "bytes", float64(keep)*float64(in.replication), "%v × %d", keep, in.replication)
	}
	if in.brokerDisk == 0 {
		return
	}
	room := float64(in.brokerDisk) * in.diskFill
	one := wholes(float64(keep) / room)
	fill := ""
	if in.diskFill < 1 {
		fill = fmt.Sprintf(" × %g", in.diskFill)
	}
	p.answer("brokers by disk, one copy", "brokers", float64(one), "%v / (%v%s)", keep, in.brokerDisk, fill)
	n := wholes(float64(keep) * float64(in.replication) / room)
	if in.replication > 1 {
		p.answer("brokers by disk, all replicas", "brokers", float64(n), "%v × %d / (%v%s)", keep, in.replication, in.brokerDisk, fill)
	}
	p.Brokers = max(p.Brokers, n)
}

func (in *planInput) sizeNetwork(p *plan) {
	copies := in.consumers + in.replication - 1
	why := fmt.Sprintf("%d consumers", in.consumers)
	if in.replication > 1 {
		why = fmt.Sprintf("(%d consumers + %d replicas)", in.consumers, in.replication-1)
	}
	if in.nicUse > 0 {
		n := max(1, wholes(float64(in.nicUse)*float64(copies)))
		p.answer("brokers by network", "brokers", float64(n), "%v × %s", in.nicUse, why)
		p.Brokers = max(p.Brokers, n)
	}
	if in.nic == 0 || in.topicRate == 0 {
		return
	}
	room := float64(in.nic) * float64(in.nicFill)
	out := float64(in.topicRate) * float64(copies)
	inward := float64(in.topicRate) * float64(in.replication)
	p.answer("bytes out", "bytes/s", out, "%v × %s", in.topicRate, why)
	p.answer("bytes in", "bytes/s", inward, "%v × %d copies", in.topicRate, in.replication)
	n := max(1, wholes(max(out, inward)/room))
	p.answer("brokers by network", "brokers", float64(n), "%v / (%v × %v)", rate(max(out, inward)), in.nic, in.nicFill)
	p.Brokers = max(p.Brokers, n)
}

// costPartitions is what the partitions cost by being there.
func (in *planInput) costPartitions(p *plan) {
	brokers := max(in.brokers, p.Brokers)
	if p.Partitions == 0 || brokers == 0 {
		return
	}
	replicas := float64(p.Partitions) * float64(in.replication) / float64(brokers)
	p.answer("replicas on a broker", "replicas", math.Ceil(replicas), "%d × %d / %d", p.Partitions, in.replication, brokers)
	p.answer("memory for them", "bytes", math.Ceil(replicas)*float64(in.partitionMemory)*1024, "%g × %d KiB", math.Ceil(replicas), in.partitionMemory)
	if in.replication > 1 {
		leaders := math.Ceil(float64(p.Partitions) / float64(brokers))
		p.answer("failover of a broker", "ms", leaders*in.partitionElection, "%g leaders × %g ms", leaders, in.partitionElection)
	}
}

func (a planAnswer) shown() string {
	switch a.Unit {
	case "bytes":
		return bytesValue(a.Value).String()
	case "bytes/s":
		return rate(a.Value).String()
	}
	return fmt.Sprintf("%.6g %s", a.Value, a.Unit)
}

func (p *plan) print(std streams) error {
	t := newTable("QUESTION", "ANSWER", "HOW")
	for _, a := range p.Answers {
		t.add(a.Question, a.shown(), a.Sum)
	}
	if err := t.print(std.out); err != nil {
		return err
	}
	if p.Partitions > 0 {
		fmt.Fprintf(std.out, "\npartitions: %d", p.Partitions)
	}
	if p.Brokers > 0 {
		fmt.Fprintf(std.out, "\nbrokers: %d", p.Brokers)
	}
	if p.Partitions+p.Brokers > 0 {
		fmt.Fprintln(std.out)
	}
	for _, n := range p.Notes {
		fmt.Fprintln(std.out, "note:", n)
	}
	return nil
}
