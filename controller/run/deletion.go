package run

import (
	"context"
	"errors"
	"slices"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/plan"
	"github.com/pelton-broker/pelton/zk/client"
)

func (l *loop) deleteTopic(ctx context.Context, name string) error {
	if l.cur.Topic(name) == nil {
		return plan.Refuse(ErrUnknownTopic, "there is no topic %q", name)
	}
	if l.o.DeleteTopicsDisabled {
		return plan.Refuse(ErrTopicDeletionDisabled, "topics cannot be deleted here: delete.topic.enable is false")
	}
	_, err := l.zk.Create(ctx, pathDeletion(name), nil, client.Persistent)
	if err != nil && !errors.Is(err, client.ErrNodeExists) {
		return err
	}
	l.beginDeletion(name)
	return nil
}

// beginDeletion takes a topic out of the current state; its znodes go after the image without it was published, since
// until then its logs are open. With a replica on a broker that is away, or in a
// log directory that has failed, it stays, marked, until that is back.
func (l *loop) beginDeletion(name string) {
	t := l.cur.Topic(name)
	if t == nil || !l.active {
		return
	}
	l.update(func(b *meta.Builder) {
		// A topic that was never published is shown once, marked: whoever opens logs learns that these are to go.
		if l.deletable(t) && l.published != nil {
			l.removals[name] = len(t.Partitions)
			b.RemoveTopic(name)
			return
		}
		clone := *t
		clone.Deleting = true
		b.SetTopic(&clone)
	})
}

// refreshDeletions reads /admin/delete_topics: requests of tools, and those that were not carried out to their end.
func (l *loop) refreshDeletions(ctx context.Context) error {
	names, err := l.zk.ChildrenW(ctx, pathDeletions)
	if err != nil || !l.active {
		return err
	}
	var pointless []string
	for _, name := range names {
		switch {
		case l.leaving(name):
		case l.o.DeleteTopicsDisabled || l.cur.Topic(name) == nil:
			pointless = append(pointless, pathDeletion(name))
		default:
			l.beginDeletion(name)
		}
	}
	return l.store.deleteAll(ctx, pointless)
}

// finishRemovals removes the znodes of topics that no published image holds any more.
func (l *loop) finishRemovals(ctx context.Context) error {
	if !l.active {
		return nil
	}
	for _, name := range l.cur.TopicNames { // shown once, or waiting for a broker that is back
		if t := l.cur.Topic(name); t.Deleting && l.deletable(t) {
			l.beginDeletion(name)
		}
	}
	l.publish()
	for name, partitions := range l.removals {
		if err := l.remove(ctx, name, partitions); err != nil {
			return err
		}
		delete(l.removals, name)
		l.o.Log.Info("topic deleted", "topic", name)
	}
	return nil
}

// remove carries out the steps of a deletion; neighbours of one kind are in flight together.
func (l *loop) remove(ctx context.Context, name string, partitions int) error {
	steps := plan.Deletion(partitions)
	slices.SortStableFunc(steps, func(a, b plan.Removal) int { return int(a.What) - int(b.What) })
	for len(steps) > 0 {
		var paths []string
		what := steps[0].What
		for len(steps) > 0 && steps[0].What == what {
			paths = append(paths, l.removalPath(name, steps[0]))
			steps = steps[1:]
		}
		if err := l.store.deleteAll(ctx, paths); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) removalPath(name string, step plan.Removal) string {
	switch step.What {
	case plan.RemoveState:
		return pathState(name, step.Partition)
	case plan.RemovePartition:
		return pathPartition(name, step.Partition)
	case plan.RemovePartitions:
		return pathPartitions(name)
	case plan.RemoveTopic:
		return pathTopic(name)
	case plan.RemoveConfig:
		return pathTopicConfig(name)
	}
	return pathDeletion(name)
}
