package run

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/plan"
	"github.com/pelton-broker/pelton/zk/client"
)

// settings are the broker's defaults with dice rolled for a placement.
func (l *loop) settings() (plan.Settings, error) {
	var b [8]byte
	if _, err := io.ReadFull(l.o.Random, b[:]); err != nil {
		return plan.Settings{}, fmt.Errorf("run: no randomness: %w", err)
	}
	n := uint32(max(1, len(l.cur.Brokers)))
	return plan.Settings{
		Partitions: l.o.DefaultPartitions, ReplicationFactor: l.o.DefaultReplicationFactor,
		Start: int(binary.BigEndian.Uint32(b[:4]) % n), Shift: int(binary.BigEndian.Uint32(b[4:]) % n),
	}, nil
}

func checkConfig(err error) error {
	if err == nil || errors.Is(err, ErrInvalidConfig) {
		return err
	}
	return plan.Refuse(ErrInvalidConfig, "%s", err)
}

func (l *loop) createTopic(ctx context.Context, spec CreateTopicSpec) (CreatedTopic, error) {
	settings, err := l.settings()
	if err != nil {
		return CreatedTopic{}, err
	}
	replicas, err := plan.Create(plan.Spec{
		Name: spec.Name, Partitions: spec.Partitions, ReplicationFactor: spec.ReplicationFactor, Assignment: spec.Assignment,
	}, settings, l.cur, l.leaving)
	if err != nil {
		return CreatedTopic{}, err
	}
	if l.o.CheckNewTopic != nil {
		if err := l.o.CheckNewTopic(spec.Name); err != nil {
			return CreatedTopic{}, plan.Refuse(ErrTopicExists, "%s", err)
		}
	}
	if l.o.CheckTopicConfig != nil {
		if err := checkConfig(l.o.CheckTopicConfig(spec.Config)); err != nil {
			return CreatedTopic{}, err
		}
	}
	made := CreatedTopic{
		Name: spec.Name, Partitions: int32(len(replicas)), ReplicationFactor: int32(len(replicas[0])), Assignment: replicas,
		Config: maps.Clone(spec.Config),
	}
	if spec.ValidateOnly {
		return made, nil
	}
	a := assignment{partitions: make([]replicaSet, len(replicas))}
	for i, r := range replicas {
		a.partitions[i].replicas = r
	}
	if l.version.topicIDs() {
		if a.id, err = randomID(l.o.Random); err != nil {
			return made, err
		}
	}
	made.ID = a.id
	return made, l.writeTopic(ctx, spec.Name, a, spec.Config)
}

// writeTopic makes the znodes of a new topic: its configuration first, so that no broker ever opens it without.
func (l *loop) writeTopic(ctx context.Context, name string, a assignment, config map[string]string) error {
	if err := l.store.putConfig(ctx, pathTopicConfig(name), config); err != nil {
		return err
	}
	_, err := l.zk.Create(ctx, pathTopic(name), encodeTopic(a), client.Persistent)
	if errors.Is(err, client.ErrNodeExists) { // by a tool, a moment ago: its watch will bring it
		return plan.Refuse(ErrTopicExists, "a topic %q exists already", name)
	}
	if err != nil {
		return err
	}
	if err := l.readTopics(ctx, []string{name}); err != nil {
		return err
	}
	return l.repair(ctx, []string{name})
}

func (l *loop) createPartitions(ctx context.Context, name string, count int32, replicas [][]int32, validateOnly bool) error {
	settings, err := l.settings()
	if err != nil {
		return err
	}
	added, err := plan.Grow(name, count, replicas, settings, l.cur)
	if err != nil || validateOnly {
		return err
	}
	n, err := l.zk.Get(ctx, pathTopic(name))
	if err != nil {
		return err
	}
	a, err := decodeTopic(pathTopic(name), n.Data)
	if err != nil {
		return err
	}
	if len(a.partitions) != len(l.cur.Topic(name).Partitions) {
		return fmt.Errorf("%w: %s", errStale, pathTopic(name)) // its watch has fired; the caller may ask again
	}
	a.id = l.cur.Topic(name).ID
	for _, r := range added {
		a.partitions = append(a.partitions, replicaSet{replicas: r})
	}
	if _, err := l.zk.Set(ctx, pathTopic(name), encodeTopic(a), n.Stat.Version); err != nil {
		return err
	}
	if err := l.readTopics(ctx, []string{name}); err != nil {
		return err
	}
	return l.repair(ctx, []string{name})
}

func (l *loop) alterTopicConfig(ctx context.Context, name string, set map[string]string) error {
	t := l.cur.Topic(name)
	if t == nil || t.Deleting {
		return plan.Refuse(ErrUnknownTopic, "there is no topic %q", name)
	}
	if l.o.CheckTopicConfig != nil {
		if err := checkConfig(l.o.CheckTopicConfig(set)); err != nil {
			return err
		}
	}
	if err := l.store.putConfig(ctx, pathTopicConfig(name), set); err != nil {
		return err
	}
	if err := l.store.noteChange(ctx, "topics/"+name); err != nil {
		return err
	}
	return l.topicConfig(ctx, name, set)
}

// topicConfig puts a topic's new settings into the current state.
func (l *loop) topicConfig(ctx context.Context, name string, set map[string]string) error {
	t := l.cur.Topic(name)
	if t == nil || maps.Equal(t.Config, set) {
		return nil
	}
	clone := *t
	clone.Config = maps.Clone(set)
	l.update(func(b *meta.Builder) { b.SetTopic(&clone) })
	return l.repair(ctx, []string{name}) // unclean election may have been allowed
}

func (l *loop) alterBrokerConfig(ctx context.Context, id *int32, set map[string]string) error {
	if l.o.CheckBrokerConfig != nil {
		if err := checkConfig(l.o.CheckBrokerConfig(id, set)); err != nil {
			return err
		}
	}
	if err := l.store.putConfig(ctx, pathBrokerConfig(id), set); err != nil {
		return err
	}
	if err := l.store.noteChange(ctx, "brokers/"+brokerEntry(id)); err != nil {
		return err
	}
	return l.setBrokerConfig(ctx, id, set)
}
