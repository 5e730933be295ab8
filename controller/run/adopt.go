package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/plan"
	"github.com/pelton-broker/pelton/zk/client"
)

// AdoptTopicSpec is a topic whose logs are here already, while no znode knows it.
type AdoptTopicSpec struct {
	Name   string
	ID     meta.ID // zero: a new one
	Epochs []int32 // first leader epoch of each partition: above every epoch in its log
	Config map[string]string
}

// statesAtOnce bounds one multi, which ZooKeeper limits to a megabyte.
const statesAtOnce = 1000

// AdoptTopics registers topics with this broker as their only replica, and returns after the image that holds them was published. Only the
// active controller can: another one would begin their partitions with an epoch of its own.
func (c *Controller) AdoptTopics(ctx context.Context, specs []AdoptTopicSpec) error {
	return c.do(ctx, func(ctx context.Context) error { return c.loop.adoptTopics(ctx, specs) })
}

func (l *loop) adoptTopics(ctx context.Context, specs []AdoptTopicSpec) error {
	names := make([]string, 0, len(specs))
	for _, s := range specs {
		if err := l.adoptTopic(ctx, s); err != nil {
			return fmt.Errorf("topic %s: %w", s.Name, err)
		}
		names = append(names, s.Name)
	}
	if err := l.readTopics(ctx, names); err != nil {
		return err
	}
	return l.repair(ctx, names)
}

// adoptTopic writes a topic's znodes together with the states of its partitions, so that nobody begins them at epoch 0.
func (l *loop) adoptTopic(ctx context.Context, spec AdoptTopicSpec) error {
	here := map[int32][]int32{}
	for i := range spec.Epochs {
		here[int32(i)] = []int32{l.c.id}
	}
	_, err := plan.Create(plan.Spec{Name: spec.Name, Partitions: -1, ReplicationFactor: -1, Assignment: here}, plan.Settings{}, l.cur, l.leaving)
	if err != nil {
		return err
	}
	a := assignment{id: spec.ID, partitions: make([]replicaSet, len(spec.Epochs))}
	for i := range a.partitions {
		a.partitions[i].replicas = here[int32(i)]
	}
	if !l.version.topicIDs() {
		a.id = meta.ID{}
	} else if a.id.IsZero() {
		if a.id, err = randomID(l.o.Random); err != nil {
			return err
		}
	}
	if err := l.store.putConfig(ctx, pathTopicConfig(spec.Name), spec.Config); err != nil {
		return err
	}
	if err := l.dropUnfinished(ctx, spec.Name); err != nil {
		return err
	}
	// A topic of many partitions takes several steps. Until the last one it has none: nobody shows it or begins its partitions, and an
	// adoption that finds it begins anew.
	several := len(spec.Epochs) > statesAtOnce
	first := a
	if several {
		first.partitions = nil
	}
	ops := []client.Op{
		client.CreateOp(pathTopic(spec.Name), encodeTopic(first), client.Persistent),
		client.CreateOp(pathPartitions(spec.Name), nil, client.Persistent),
	}
	for i, epoch := range spec.Epochs {
		p := &meta.Partition{Leader: l.c.id, LeaderEpoch: epoch, ISR: here[int32(i)], ControllerEpoch: l.epoch}
		ops = append(ops, client.CreateOp(pathPartition(spec.Name, int32(i)), nil, client.Persistent),
			client.CreateOp(pathState(spec.Name, int32(i)), encodeState(p), client.Persistent))
		if len(ops) < 2*statesAtOnce && i < len(spec.Epochs)-1 {
			continue
		}
		if several && i == len(spec.Epochs)-1 {
			ops = append(ops, client.SetOp(pathTopic(spec.Name), encodeTopic(a), 0))
		}
		if _, err := l.store.fenced(ctx, ops...); err != nil {
			if errors.Is(err, client.ErrNodeExists) {
				return plan.Refuse(ErrTopicExists, "a topic %q exists already", spec.Name)
			}
			return err
		}
		ops = ops[:0]
	}
	return nil
}

// dropUnfinished removes what an adoption has left that did not come to its end: a topic without partitions, which nobody else makes.
func (l *loop) dropUnfinished(ctx context.Context, name string) error {
	n, err := l.zk.Get(ctx, pathTopic(name))
	if errors.Is(err, client.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	if a, err := decodeTopic(pathTopic(name), n.Data); err != nil || len(a.partitions) > 0 {
		return nil // the creation is refused
	}
	l.o.Log.Info("an adoption that was interrupted begins anew", "topic", name)
	return l.store.deleteTree(ctx, pathTopic(name))
}
