package run

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/plan"
	"github.com/pelton-broker/pelton/zk/client"
)

// load reads everything and arms every watch.
func (l *loop) load(ctx context.Context) error {
	if err := l.refreshBrokers(ctx); err != nil {
		return err
	}
	if !l.registered {
		if err := l.register(ctx); err != nil {
			return err
		}
		if err := l.refreshBrokers(ctx); err != nil {
			return err
		}
		if !l.registered {
			return errStale
		}
	}
	if err := l.loadBrokerConfigs(ctx); err != nil {
		return err
	}
	if err := l.loadQuotas(ctx); err != nil {
		return err
	}
	if err := l.skipChanges(ctx); err != nil {
		return err
	}
	names, err := l.zk.ChildrenW(ctx, pathTopics)
	if err != nil {
		return err
	}
	if err := l.readTopics(ctx, names); err != nil {
		return err
	}
	l.forget(names)
	if err := l.refreshDeletions(ctx); err != nil {
		return err
	}
	if err := l.repair(ctx, l.cur.TopicNames); err != nil || !l.active {
		return err
	}
	if err := l.refreshPreferred(ctx); err != nil {
		return err
	}
	return l.refreshReassign(ctx)
}

func (l *loop) refreshBrokers(ctx context.Context) error {
	names, err := l.zk.ChildrenW(ctx, pathBrokerIDs)
	if err != nil {
		return err
	}
	found := make([]*meta.Broker, len(names))
	err = first(l.zk.Each(ctx, len(names), func(ctx context.Context, i int) error {
		id, err := strconv.ParseInt(names[i], 10, 32)
		if err != nil {
			l.o.Log.Warn("a name among the brokers is no number", "name", names[i])
			return nil
		}
		n, err := l.zk.GetW(ctx, pathBroker(int32(id)))
		if errors.Is(err, client.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := decodeBroker(pathBroker(int32(id)), int32(id), n.Data, n.Stat.Czxid)
		if err != nil {
			l.o.Log.Warn("a registration cannot be read; that broker counts as dead", "broker", id, "err", err)
			return nil
		}
		found[i] = b
		return nil
	}))
	if err != nil {
		return err
	}
	live := map[int32]*meta.Broker{}
	for _, b := range found {
		if b != nil {
			live[b.ID] = b
		}
	}
	if me := live[l.c.id]; me == nil || me.Epoch != l.c.epoch.Load() {
		l.o.Log.Warn("our registration was removed by somebody, the broker registers anew", "broker", l.c.id)
		l.registered, l.stale.all = false, true
	}
	changed := !maps.EqualFunc(l.cur.Brokers, live, func(a, b *meta.Broker) bool { return a.Epoch == b.Epoch })
	l.update(func(b *meta.Builder) { b.SetBrokers(live) })
	if !changed || l.stale.all {
		return nil
	}
	return l.repair(ctx, l.cur.TopicNames)
}

func (l *loop) loadBrokerConfigs(ctx context.Context) error {
	names, err := l.zk.Children(ctx, pathConfigBrokers)
	if err != nil {
		return err
	}
	for id := range l.cur.BrokerConfigs {
		if !slices.Contains(names, brokerEntry(&id)) {
			names = append(names, brokerEntry(&id))
		}
	}
	for _, name := range append(names, defaultBrokerEntry) {
		if err := l.readBrokerConfig(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) readBrokerConfig(ctx context.Context, name string) error {
	var id *int32
	if name != defaultBrokerEntry {
		n, err := strconv.ParseInt(name, 10, 32)
		if err != nil {
			l.o.Log.Warn("a name among the brokers' settings is no number", "name", name)
			return nil
		}
		n32 := int32(n)
		id = &n32
	}
	set, err := l.readConfig(ctx, pathBrokerConfig(id))
	if err != nil {
		return err
	}
	return l.setBrokerConfig(ctx, id, set)
}

// readConfig reads a config znode; one that cannot be read counts as empty, with a warning, since a bad byte there must
// not keep the broker down.
func (l *loop) readConfig(ctx context.Context, path string) (map[string]string, error) {
	set, err := l.store.config(ctx, path)
	if errors.Is(err, errBadNode) {
		l.o.Log.Warn("a configuration cannot be read and counts as empty", "err", err)
		return nil, nil
	}
	return set, err
}

// refreshTopics reads the list of topics and those that are new in it.
func (l *loop) refreshTopics(ctx context.Context) error {
	names, err := l.zk.ChildrenW(ctx, pathTopics)
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return l.cur.Topic(name) != nil })
	if err := l.readTopics(ctx, fresh); err != nil {
		return err
	}
	l.forget(names)
	return l.repair(ctx, fresh)
}

// forget drops the topics that are not in the list: somebody removed their znodes by hand.
func (l *loop) forget(names []string) {
	is := map[string]bool{}
	for _, name := range names {
		is[name] = true
	}
	l.update(func(b *meta.Builder) {
		for _, name := range l.cur.TopicNames {
			if !is[name] {
				l.o.Log.Warn("a topic's znode was removed by somebody", "topic", name)
				b.RemoveTopic(name)
			}
		}
	})
}

func (l *loop) refreshTopic(ctx context.Context, name string) error {
	if l.cur.Topic(name) == nil {
		return nil // its deletion; or new, then the list's own watch has fired too
	}
	if err := l.readTopics(ctx, []string{name}); err != nil {
		return err
	}
	return l.repair(ctx, []string{name})
}

// readTopics reads the znodes, configs and states of topics into the current state, all in flight at once.
func (l *loop) readTopics(ctx context.Context, names []string) error {
	topics := make([]*meta.Topic, len(names))
	err := first(l.zk.Each(ctx, len(names), func(ctx context.Context, i int) (err error) {
		topics[i], err = l.readTopic(ctx, names[i])
		return err
	}))
	if err != nil {
		return err
	}
	type where struct {
		t *meta.Topic
		p *meta.Partition
	}
	var all []where
	for _, t := range topics {
		if t != nil {
			for _, p := range t.Partitions {
				all = append(all, where{t, p})
			}
		}
	}
	err = first(l.zk.Each(ctx, len(all), func(ctx context.Context, i int) error {
		return l.readState(ctx, all[i].t.Name, all[i].p)
	}))
	if err != nil {
		return err
	}
	l.update(func(b *meta.Builder) {
		for _, t := range topics {
			if t != nil && !l.leaving(t.Name) {
				b.SetTopic(t)
			}
		}
	})
	return nil
}

// readTopic returns nil for a topic that is gone again or cannot be read.
func (l *loop) readTopic(ctx context.Context, name string) (*meta.Topic, error) {
	n, err := l.zk.GetW(ctx, pathTopic(name))
	if errors.Is(err, client.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a, err := decodeTopic(pathTopic(name), n.Data)
	if err != nil {
		l.o.Log.Error("a topic cannot be read and is left out", "topic", name, "err", err)
		return nil, nil
	}
	if len(a.partitions) == 0 {
		l.o.Log.Warn("a topic has no partitions, since its adoption was interrupted; it is left out", "topic", name)
		return nil, nil
	}
	a.version = n.Stat.Version
	t := &meta.Topic{Name: name, ID: a.id, Internal: meta.IsInternal(name)}
	if t.Config, err = l.readConfig(ctx, pathTopicConfig(name)); err != nil {
		return nil, err
	}
	if old := l.cur.Topic(name); old != nil {
		t.Deleting = old.Deleting
	}
	for i, r := range a.partitions {
		t.Partitions = append(t.Partitions, &meta.Partition{
			Index: int32(i), Leader: meta.NoLeader, ZkVersion: -1, Replicas: r.replicas, Adding: r.adding, Removing: r.removing,
			Offline: plan.Offline(r.replicas, l.online(name, int32(i))),
		})
	}
	if t.ID.IsZero() {
		if err := l.giveID(ctx, t, a); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// giveID finds the id of a topic whose znode has none: tools before 2.8 write none, and drop one that is there. A topic
// keeps its id for ever, so it is looked for in memory, then in the logs, before a new one is made.
func (l *loop) giveID(ctx context.Context, t *meta.Topic, a assignment) error {
	if !l.version.topicIDs() {
		return nil
	}
	known := false
	if old := l.cur.Topic(t.Name); old != nil && !old.ID.IsZero() {
		t.ID, known = old.ID, true
	} else if l.o.KnownTopicID != nil {
		t.ID, known = l.o.KnownTopicID(t.Name)
	}
	if !l.active {
		return nil // the active controller writes it
	}
	if !known || t.ID.IsZero() {
		var err error
		if t.ID, err = randomID(l.o.Random); err != nil {
			return err
		}
	}
	a.id = t.ID
	_, err := l.store.fenced(ctx, client.SetOp(pathTopic(t.Name), encodeTopic(a), a.version))
	if errors.Is(err, client.ErrBadVersion) && !errors.Is(err, errFenced) {
		return errors.Join(errStale, err)
	}
	l.o.Log.Info("a topic's znode had no id", "topic", t.Name, "id", t.ID.String())
	return err
}

func (l *loop) readState(ctx context.Context, topic string, p *meta.Partition) error {
	path := pathState(topic, p.Index)
	n, err := l.zk.Get(ctx, path)
	if errors.Is(err, client.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := decodeState(path, n.Data, p); err != nil {
		l.o.Log.Error("a partition's state cannot be read; it has no leader", "tp", topic+"-"+strconv.Itoa(int(p.Index)), "err", err)
		p.Leader = meta.NoLeader
	}
	p.ZkVersion = n.Stat.Version
	return nil
}

// skipChanges notes the newest change notification: what they tell of has just been read.
func (l *loop) skipChanges(ctx context.Context) error {
	names, err := l.zk.ChildrenW(ctx, pathConfigChanges)
	if err != nil {
		return err
	}
	for _, name := range names {
		l.change = max(l.change, changeNumber(name))
	}
	return nil
}

func changeNumber(name string) int64 {
	n, err := strconv.ParseInt(strings.TrimPrefix(name, changePrefix), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
