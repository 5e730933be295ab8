package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/logstore"
)

// ErrAdopt is returned when partition directories are to be adopted and contradict coordination.
var ErrAdopt = errors.New("broker: cannot adopt")

// The two topics that Kafka keeps for itself.
const (
	offsetsTopic      = "__consumer_offsets"
	transactionsTopic = "__transaction_state"
)

// AdoptedTopic tells what became of one topic that coordination did not know.
type AdoptedTopic struct {
	Name       string            `json:"topic"`
	ID         string            `json:"topic_id,omitempty"` // empty: a new one is given
	Partitions int32             `json:"partitions"`
	Found      int               `json:"directories"` // the rest are made empty
	Format     int8              `json:"format"`      // of the records appended
	Config     map[string]string `json:"config"`
}

// Adopt registers the partition directories that no topic claims, without opening a log or taking a connection, and leaves everything else as
// it was. A dry run only tells what it would register.
func Adopt(ctx context.Context, c *config.Broker, log *slog.Logger, dryRun bool) ([]AdoptedTopic, error) {
	b := newBroker(c, log)
	b.dryRun = dryRun
	var err error
	for _, step := range []func(context.Context) error{b.openLogs, b.startCoordination, b.prepare, b.register, b.adopt} {
		if err = step(ctx); err != nil {
			break
		}
	}
	stop, cancel := context.WithTimeout(context.Background(), adoptStopTimeout)
	defer cancel()
	if e := b.Stop(stop); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	return b.adopted, nil
}

// adoptStopTimeout bounds the way back: nothing was opened.
const adoptStopTimeout = 30 * time.Second

// register joins the cluster without serving any partition.
func (b *Broker) register(ctx context.Context) error {
	b.prepared.Options.Endpoints, b.prepared.Options.OnSession = b.endpoints(), b.session.write
	cluster, err := b.prepared.Start(ctx)
	if err != nil {
		return fmt.Errorf("joining the cluster: %w", err)
	}
	b.cluster = cluster
	return nil
}

// Unclaimed lists the partitions in the log directories that no topic in coordination claims; they are left as they are.
func (b *Broker) Unclaimed() []logstore.TopicPartition { return b.unclaimed }

// Adopted lists the topics that this start has registered.
func (b *Broker) Adopted() []AdoptedTopic { return b.adopted }

// adopt looks for partition directories that no topic claims. With pelton.log.adopt they become topics with this broker as their only replica.
func (b *Broker) adopt(ctx context.Context) error {
	img := b.cluster.Image()
	orphans, foreign, err := b.logs.Unclaimed(func(tp logstore.TopicPartition) bool { return b.claims(img, tp) })
	if err != nil {
		return err
	}
	for _, path := range foreign {
		b.log.Warn("a directory is named like a partition and holds no log; it is left alone", "dir", path)
	}
	b.unclaimed = orphans
	if len(orphans) == 0 || !b.config.Bool("pelton.log.adopt") {
		return nil
	}
	specs, err := b.planAdoption(img, orphans)
	if err != nil {
		return err
	}
	if b.dryRun {
		return nil
	}
	for _, s := range specs {
		b.logs.Adopted(s.Name)
	}
	if err := b.cluster.AdoptTopics(ctx, specs); err != nil {
		return fmt.Errorf("%w: %w", ErrAdopt, err)
	}
	b.unclaimed = nil
	var kept []string
	for _, t := range b.adopted {
		b.log.Info("adopted topic", "topic", t.Name, "partitions", t.Partitions, "directories", t.Found, "format", t.Format)
		if t.Config["retention.bytes"] == "-1" {
			kept = append(kept, t.Name)
		}
	}
	if len(kept) > 0 {
		b.log.Warn("retention and compaction are off for adopted topics until their configuration is set", "topics", strings.Join(kept, " "),
			"command", "pelton configs alter --topic NAME --add cleanup.policy=... --add retention.ms=... --add retention.bytes=...")
	}
	return nil
}

func (b *Broker) claims(img *meta.Image, tp logstore.TopicPartition) bool {
	t := img.Topic(tp.Topic)
	return t != nil && (t.Deleting || int(tp.Partition) < len(t.Partitions) && t.Partitions[tp.Partition].Hosts(b.id()))
}

// planAdoption reads the directories and says how their topics are to be registered.
func (b *Broker) planAdoption(img *meta.Image, orphans []logstore.TopicPartition) ([]run.AdoptTopicSpec, error) {
	found, err := b.logs.Survey(orphans)
	if err != nil {
		return nil, err
	}
	var specs []run.AdoptTopicSpec
	for i := range found {
		o := &found[i]
		if t := img.Topic(o.Topic); t != nil {
			p := o.Partitions[0]
			return nil, fmt.Errorf("%w: %s is not a partition of this broker: coordination at %s knows the topic with %d partitions, placed %v. Move the directory away, or make it one of the topic's",
				ErrAdopt, p.Path, b.coordination(), len(t.Partitions), placement(t))
		}
		if t := byID(img, meta.ID(o.TopicID)); t != nil {
			return nil, fmt.Errorf("%w: %s has the topic id %s, which coordination at %s gives to topic %s", ErrAdopt, o.Partitions[0].Path,
				t.ID.String(), b.coordination(), t.Name)
		}
		s := run.AdoptTopicSpec{Name: o.Topic, ID: meta.ID(o.TopicID), Epochs: make([]int32, max(o.Count(), internalPartitions(b.config, o.Topic)))}
		for _, p := range o.Partitions {
			s.Epochs[p.Partition] = p.Epoch + 1
		}
		s.Config = adoptedConfig(b.config, o)
		specs = append(specs, s)
		t := AdoptedTopic{Name: o.Topic, Partitions: int32(len(s.Epochs)), Found: len(o.Partitions), Config: s.Config}
		kept := b.config.Topic(s.Config)
		if t.Format = kept.RecordFormat(); kept.NamedFormat() >= o.Magic && o.Magic >= 0 {
			t.Format = min(t.Format, kept.NamedFormat())
		}
		if !s.ID.IsZero() {
			t.ID = s.ID.String()
		}
		b.adopted = append(b.adopted, t)
	}
	return specs, nil
}

func placement(t *meta.Topic) [][]int32 {
	var out [][]int32
	for _, p := range t.Partitions {
		out = append(out, p.Replicas)
	}
	return out
}

func byID(img *meta.Image, id meta.ID) *meta.Topic {
	if id.IsZero() {
		return nil
	}
	for _, t := range img.Topics {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// internalPartitions is how many partitions the configuration wants of a topic that Kafka keeps for itself; 0 for others.
func internalPartitions(c *config.Broker, topic string) int32 {
	switch topic {
	case offsetsTopic:
		return int32(c.Int("offsets.topic.num.partitions"))
	case transactionsTopic:
		return int32(c.Int("transaction.state.log.num.partitions"))
	}
	return 0
}

// adoptedConfig is what an adopted topic is registered with. Its own settings were in the coordination that it comes from, so nothing may be
// deleted before somebody sets them again; of the internal topics they are known.
func adoptedConfig(c *config.Broker, o *logstore.Orphan) map[string]string {
	set := map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
	if o.Magic == 0 {
		// The directory may go back to the Kafka that wrote it, and 0.8 takes -1 for an age that every record has passed.
		set["retention.ms"] = strconv.FormatInt(math.MaxInt64, 10)
	}
	switch o.Topic {
	case offsetsTopic:
		set = maps.Clone(offsetsConfig(c))
	case transactionsTopic:
		set = map[string]string{"compression.type": "uncompressed", "cleanup.policy": "compact", "unclean.leader.election.enable": "false",
			"min.insync.replicas": c.Str("transaction.state.log.min.isr"), "segment.bytes": c.Str("transaction.state.log.segment.bytes")}
	}
	switch {
	case c.Given("log.message.format.version"):
		set["message.format.version"] = c.Str("log.message.format.version")
	case o.Magic == 0:
		set["message.format.version"] = "0.9.0"
	case o.Magic == 1:
		set["message.format.version"] = "0.10.2"
	}
	return set
}

// coordination names where the cluster's znodes are.
func (b *Broker) coordination() string {
	if b.zk != nil {
		return b.zk.Addr().String() + " (embedded, " + b.coordinationDir() + ")"
	}
	return b.config.Str("zookeeper.connect")
}

// identityError says which directories carry the identity that coordination contradicts, and what to do.
func (b *Broker) identityError(err error) error {
	if !errors.Is(err, run.ErrClusterIDMismatch) {
		return err
	}
	return fmt.Errorf("log directories %s, coordination %s: %w", strings.Join(b.config.LogDirs(), ", "), b.coordination(), err)
}
