package run

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/plan"
	"github.com/pelton-broker/pelton/zk/client"
)

// repair makes the named topics what they should be with the brokers that are alive: partitions that have no state yet
// get one, partitions with a dead leader or a dead member of the ISR get a new one; a replica whose log directory has failed counts as dead. A broker that is not the active
// controller only notes who is offline.
func (l *loop) repair(ctx context.Context, names []string) error {
	topics := l.copies(names)
	var err error
	if l.active {
		if err = l.beginPartitions(ctx, topics); err == nil {
			err = l.settlePartitions(ctx, topics)
		}
	}
	// What was written is kept in the image also when the rest failed.
	l.update(func(b *meta.Builder) {
		for _, t := range topics {
			b.SetTopic(t)
		}
	})
	return err
}

// copies returns topics that may be written, with who is offline filled in, leaving out those that need nothing.
func (l *loop) copies(names []string) []*meta.Topic {
	var out []*meta.Topic
	for _, name := range names {
		t := l.cur.Topic(name)
		if t == nil || !slices.ContainsFunc(t.Partitions, func(p *meta.Partition) bool { return l.needsWork(t, p) }) {
			continue
		}
		clone := *t
		clone.Partitions = make([]*meta.Partition, len(t.Partitions))
		for i, p := range t.Partitions {
			fresh := *p
			fresh.Offline = plan.Offline(p.Replicas, l.online(name, p.Index))
			clone.Partitions[i] = &fresh
		}
		out = append(out, &clone)
	}
	return out
}

func (l *loop) needsWork(t *meta.Topic, p *meta.Partition) bool {
	online := l.online(t.Name, p.Index)
	if !slices.Equal(p.Offline, plan.Offline(p.Replicas, online)) {
		return true
	}
	if !l.active || t.Deleting {
		return false
	}
	if p.ZkVersion < 0 {
		_, ok := plan.Initial(p.Replicas, online)
		return ok
	}
	_, changed := plan.Settle(p, online, l.unclean(t))
	return changed
}

func (l *loop) unclean(t *meta.Topic) bool {
	if s, is := t.Config["unclean.leader.election.enable"]; is {
		v, err := strconv.ParseBool(s)
		return err == nil && v
	}
	return l.uncleanDefault()
}

// uncleanDefault is unclean.leader.election.enable of this broker as it is now: set for it, set for all, or as it started.
func (l *loop) uncleanDefault() bool {
	for _, set := range []map[string]string{l.cur.BrokerConfigs[l.c.id], l.cur.DefaultBrokerConfig} {
		if s, is := set["unclean.leader.election.enable"]; is {
			v, err := strconv.ParseBool(s)
			return err == nil && v
		}
	}
	return l.o.UncleanElection
}

// setBrokerConfig puts dynamic settings of brokers into the current state. Partitions without a leader may get one by that.
func (l *loop) setBrokerConfig(ctx context.Context, id *int32, set map[string]string) error {
	before := l.uncleanDefault()
	l.update(func(b *meta.Builder) { b.SetBrokerConfig(id, set) })
	if l.uncleanDefault() == before || l.stale.all {
		return nil
	}
	return l.repair(ctx, l.cur.TopicNames)
}

type place struct {
	topic     string
	partition *meta.Partition
}

// beginPartitions writes the first states, in Kafka's three waves: the partitions node of each topic, the nodes of the
// partitions, their states.
func (l *loop) beginPartitions(ctx context.Context, topics []*meta.Topic) error {
	var fresh []place
	var dirs []string
	for _, t := range topics {
		if t.Deleting {
			continue
		}
		for _, p := range t.Partitions {
			if p.ZkVersion >= 0 {
				continue
			}
			s, ok := plan.Initial(p.Replicas, l.online(t.Name, p.Index))
			if !ok {
				continue
			}
			p.Leader, p.LeaderEpoch, p.ISR, p.ControllerEpoch = s.Leader, s.LeaderEpoch, s.ISR, l.epoch
			fresh = append(fresh, place{t.Name, p})
			if dir := pathPartitions(t.Name); len(dirs) == 0 || dirs[len(dirs)-1] != dir {
				dirs = append(dirs, dir)
			}
		}
	}
	err := l.store.createAll(ctx, len(dirs), func(i int) (string, []byte) { return dirs[i], nil })
	if err != nil {
		return err
	}
	err = l.store.createAll(ctx, len(fresh), func(i int) (string, []byte) {
		return pathPartition(fresh[i].topic, fresh[i].partition.Index), nil
	})
	if err != nil {
		return err
	}
	return first(l.zk.Each(ctx, len(fresh), func(ctx context.Context, i int) error {
		return l.beginState(ctx, fresh[i])
	}))
}

func (l *loop) beginState(ctx context.Context, at place) error {
	path := pathState(at.topic, at.partition.Index)
	_, err := l.store.fenced(ctx, client.CreateOp(path, encodeState(at.partition), client.Persistent))
	switch {
	case err == nil:
		at.partition.ZkVersion = 0
		return nil
	case errors.Is(err, client.ErrNodeExists) && !errors.Is(err, errFenced):
		return l.readState(ctx, at.topic, at.partition)
	}
	at.partition.Leader, at.partition.ISR = meta.NoLeader, nil
	return err
}

// settlePartitions writes what elections and dead brokers change. A state that somebody else wrote meanwhile is read
// and judged again at the next turn.
func (l *loop) settlePartitions(ctx context.Context, topics []*meta.Topic) error {
	return l.movePartitions(ctx, topics, func(t *meta.Topic, p *meta.Partition) (plan.State, bool) {
		return plan.Settle(p, l.online(t.Name, p.Index), l.unclean(t))
	})
}

// movePartitions writes the states that decide changes.
func (l *loop) movePartitions(ctx context.Context, topics []*meta.Topic, decide func(*meta.Topic, *meta.Partition) (plan.State, bool)) error {
	type change struct {
		place
		next meta.Partition
	}
	var changes []change
	for _, t := range topics {
		for _, p := range t.Partitions {
			if t.Deleting || p.ZkVersion < 0 {
				continue
			}
			s, changed := decide(t, p)
			if !changed {
				continue
			}
			next := *p
			next.Leader, next.LeaderEpoch, next.ISR, next.ControllerEpoch = s.Leader, s.LeaderEpoch, s.ISR, l.epoch
			next.Recovering = s.Recovering && l.version.atLeast(3, 2)
			changes = append(changes, change{place{t.Name, p}, next})
		}
	}
	return first(l.zk.Each(ctx, len(changes), func(ctx context.Context, i int) error {
		c := &changes[i]
		path := pathState(c.topic, c.partition.Index)
		results, err := l.store.fenced(ctx, client.SetOp(path, encodeState(&c.next), c.partition.ZkVersion))
		switch {
		case err == nil:
			c.next.ZkVersion = results[0].Stat.Version
			*c.partition = c.next
			return nil
		case errors.Is(err, errFenced):
			return err
		case errors.Is(err, client.ErrBadVersion):
			if err := l.readState(ctx, c.topic, c.partition); err != nil {
				return err
			}
			return errors.Join(errStale, err)
		}
		return err
	}))
}
