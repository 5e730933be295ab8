package run

import (
	"context"
	"errors"
	"slices"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/zk/client"
)

// RaiseLeaderEpochs gives partitions that this broker leads their next leader epoch, as an election of the same leader would. A broker asks
// for it before it takes requests when a damaged disk has cost the end of a log: offsets that were seen will be given out again, and clients
// can tell only by the epoch.
func (c *Controller) RaiseLeaderEpochs(ctx context.Context, parts map[string][]int32) error {
	return c.do(ctx, func(ctx context.Context) error { return c.loop.raiseEpochs(ctx, parts) })
}

func (l *loop) raiseEpochs(ctx context.Context, parts map[string][]int32) error {
	var errs []error
	for name, indexes := range parts {
		t := l.cur.Topic(name)
		if t == nil || t.Deleting {
			continue
		}
		clone := *t
		clone.Partitions = slices.Clone(t.Partitions)
		for i, p := range t.Partitions {
			if p.Leader != l.c.id || p.ZkVersion < 0 || !slices.Contains(indexes, p.Index) {
				continue
			}
			next, err := l.raiseEpoch(ctx, name, p)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			clone.Partitions[i] = next
		}
		l.update(func(b *meta.Builder) { b.SetTopic(&clone) })
	}
	return errors.Join(errs...)
}

// raiseEpoch writes a partition's state with the next epoch and returns it.
func (l *loop) raiseEpoch(ctx context.Context, topic string, p *meta.Partition) (*meta.Partition, error) {
	next := *p
	next.LeaderEpoch++
	next.ControllerEpoch = l.epoch
	results, err := l.store.fenced(ctx, client.SetOp(pathState(topic, p.Index), encodeState(&next), p.ZkVersion))
	if err != nil {
		return nil, err
	}
	next.ZkVersion = results[0].Stat.Version
	return &next, nil
}
