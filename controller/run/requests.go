package run

import (
	"context"
	"errors"
	"slices"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/plan"
	"github.com/pelton-broker/pelton/zk/client"
)

// requested is one partition in a request that a tool of old left in a znode.
type requested struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Replicas  []int32 `json:"replicas"`
}

// request takes a tool's request from its znode and watches for the next one. Nil: there is none for us. One that cannot be read is
// removed, as an active controller of Kafka's does.
func (l *loop) request(ctx context.Context, path string) ([]requested, error) {
	_, is, err := l.zk.ExistsW(ctx, path)
	if err != nil || !is || !l.active {
		return nil, err
	}
	n, err := l.zk.Get(ctx, path)
	if errors.Is(err, client.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var node struct {
		Partitions []requested `json:"partitions"`
	}
	if err := decode(path, n.Data, &node); err != nil {
		l.o.Log.Warn("a tool's request cannot be read and is dropped", "err", err)
	}
	if node.Partitions == nil {
		node.Partitions = []requested{}
	}
	return node.Partitions, nil
}

// requestDone removes a request, which tells its tool that it has been looked at.
func (l *loop) requestDone(ctx context.Context, path string) error {
	_, err := l.store.fenced(ctx, client.DeleteOp(path, client.AnyVersion))
	if errors.Is(err, client.ErrNoNode) {
		return nil
	}
	return err
}

// refreshPreferred makes the first replicas of the partitions that a tool names their leaders.
func (l *loop) refreshPreferred(ctx context.Context) error {
	list, err := l.request(ctx, pathPreferred)
	if err != nil || list == nil {
		return err
	}
	named := map[string][]int32{}
	for _, r := range list {
		if t := l.cur.Topic(r.Topic); t == nil || t.Deleting || t.Partition(r.Partition) == nil {
			l.o.Log.Warn("an election was asked for a partition that is not there", "topic", r.Topic, "partition", r.Partition)
			continue
		}
		named[r.Topic] = append(named[r.Topic], r.Partition)
	}
	var topics []*meta.Topic
	for name := range named {
		topics = append(topics, copyOf(l.cur.Topic(name)))
	}
	err = l.movePartitions(ctx, topics, func(t *meta.Topic, p *meta.Partition) (plan.State, bool) {
		if !slices.Contains(named[t.Name], p.Index) {
			return plan.State{}, false
		}
		return plan.Preferred(p, l.online(t.Name, p.Index))
	})
	l.update(func(b *meta.Builder) {
		for _, t := range topics {
			b.SetTopic(t)
		}
	})
	if err != nil {
		return err
	}
	return l.requestDone(ctx, pathPreferred)
}

// copyOf is a topic whose partitions may be written.
func copyOf(t *meta.Topic) *meta.Topic {
	clone := *t
	clone.Partitions = make([]*meta.Partition, len(t.Partitions))
	for i, p := range t.Partitions {
		fresh := *p
		clone.Partitions[i] = &fresh
	}
	return &clone
}

// refreshReassign looks at the replicas that a tool wants for partitions. What is so already is done; an order of the same replicas is
// written; data cannot be moved to other brokers yet, and that is refused like what Kafka refuses: with a line in the log, and the request
// removed, since its tool waits for that.
func (l *loop) refreshReassign(ctx context.Context) error {
	list, err := l.request(ctx, pathReassign)
	if err != nil || list == nil {
		return err
	}
	for _, r := range list {
		if err := l.reassign(ctx, r); err != nil {
			var refusal *plan.Error
			if !errors.As(err, &refusal) {
				return err
			}
			l.o.Log.Warn("a reassignment is refused", "topic", r.Topic, "partition", r.Partition, "replicas", r.Replicas, "err", err)
		}
	}
	return l.requestDone(ctx, pathReassign)
}

func (l *loop) reassign(ctx context.Context, r requested) error {
	t := l.cur.Topic(r.Topic)
	if t == nil || t.Deleting || t.Partition(r.Partition) == nil {
		return plan.Refuse(ErrUnknownTopic, "there is no partition %s-%d", r.Topic, r.Partition)
	}
	p := t.Partition(r.Partition)
	seen := map[int32]bool{}
	for _, id := range r.Replicas {
		switch {
		case id < 0 || seen[id]:
			return plan.Refuse(ErrInvalidReplicaAssignment, "the replicas %v name a broker twice, or none", r.Replicas)
		case !l.live(id):
			return plan.Refuse(ErrInvalidReplicaAssignment, "broker %d is not alive", id)
		}
		seen[id] = true
	}
	switch {
	case len(r.Replicas) == 0:
		return plan.Refuse(ErrInvalidReplicaAssignment, "there must be a replica")
	case slices.Equal(r.Replicas, p.Replicas):
		return nil
	case len(r.Replicas) != len(p.Replicas) || slices.ContainsFunc(p.Replicas, func(id int32) bool { return !seen[id] }):
		return plan.Refuse(ErrInvalidReplicaAssignment, "data cannot be moved to other brokers yet")
	}
	return l.reorder(ctx, t, r)
}

// reorder writes another order of the same replicas.
func (l *loop) reorder(ctx context.Context, t *meta.Topic, r requested) error {
	n, err := l.zk.Get(ctx, pathTopic(t.Name))
	if err != nil {
		return err
	}
	a, err := decodeTopic(pathTopic(t.Name), n.Data)
	if err != nil {
		return err
	}
	if int(r.Partition) >= len(a.partitions) {
		return errors.Join(errStale, errors.New(pathTopic(t.Name)))
	}
	a.id = t.ID
	a.partitions[r.Partition].replicas = r.Replicas
	if _, err := l.store.fenced(ctx, client.SetOp(pathTopic(t.Name), encodeTopic(a), n.Stat.Version)); err != nil {
		return err
	}
	return l.readTopics(ctx, []string{t.Name})
}
