package api

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/replica"
)

// Publish makes an image the one that requests are answered from. It opens the partitions that
// are new here, tells the owners of the others what changed, and only then swaps the route, so
// that no answer names a leader that does not take writes yet (design 2.6). What did not change
// is taken over as it is: an image costs what it changes. It blocks; the controller calls it from
// one goroutine, in the order of images. When the shards have stopped it gives up. Partitions whose logs have much to read after an
// unclean stop are not waited for: AttachRecovered serves them later.
func (b *Broker) Publish(img *meta.Image) {
	b.publishing.Lock()
	defer b.publishing.Unlock()
	b.pending.Store(img)
	b.publish(img, true)
}

// publish makes a route of an image; again tells that partitions whose recovery has failed are tried anew.
func (b *Broker) publish(img *meta.Image, again bool) {
	b.takeDynamic(img)
	b.limitMoves(img)
	b.takeQuotas(img)
	before, fresh := b.route.Load(), []*topicRoute(nil)
	route, same := b.takeOver(before, img)
	if !same {
		var opening sync.WaitGroup
		var begun []*recovery
		for _, t := range img.Topics {
			if t.Deleting || route.topics[t.Name] != nil {
				continue
			}
			tr := b.routeTopic(t, &opening, again)
			route.topics[t.Name], route.byID[t.ID] = tr, tr
			fresh = append(fresh, tr)
			begun = append(begun, tr.begun()...)
		}
		b.beginRecoveries()
		opening.Wait()
		b.awaitRecoveries(begun)
		delete(route.byID, meta.ID{}) // of topics without one
	}
	for _, tr := range fresh {
		tr.takeRecovered(b.recoveries, b.Options().BrokerID)
		tr.keepFormat()
	}
	if !b.settleHosts(fresh, before) {
		return
	}
	b.route.Store(route)
	b.recoveries.serve()
	b.dropDeleting(img)
	b.derived = b.opts.Load()
	if !same {
		b.dropGone(route)
		b.dropRecoveries(route)
		b.forgetOffsets(before.vanished(route))
	}
	for _, s := range b.server.Shards() {
		s.Post(routeChanged{})
	}
}

// takeOver begins the route of an image with the topics that are as they were. same: all are, and nothing else was there.
func (b *Broker) takeOver(before *Route, img *meta.Image) (route *Route, same bool) {
	kept, due := 0, 0
	for _, t := range img.Topics {
		if !t.Deleting {
			due++
		}
		if b.asBefore(before.topics[t.Name], t) {
			kept++
		}
	}
	if kept == due && kept == len(before.topics) {
		return &Route{Image: img, topics: before.topics, byID: before.byID}, true
	}
	route = &Route{Image: img, topics: make(map[string]*topicRoute, due), byID: make(map[meta.ID]*topicRoute, due)}
	for _, t := range img.Topics {
		if old := before.topics[t.Name]; b.asBefore(old, t) {
			route.topics[t.Name], route.byID[t.ID] = old, old
		}
	}
	return route, false
}

// asBefore tells whether a topic is what an entry of the last route was made from. One with a partition that could not be opened is not:
// that is tried again.
func (b *Broker) asBefore(old *topicRoute, t *meta.Topic) bool {
	if old == nil || old.topic != t || t.Deleting || b.derived != b.opts.Load() {
		return false
	}
	for i, p := range t.Partitions {
		if old.hosts[i] == nil && p.Hosts(b.Options().BrokerID) {
			return false
		}
	}
	return true
}

// takeDynamic applies the dynamic broker settings of an image.
func (b *Broker) takeDynamic(img *meta.Image) {
	old, id := b.Image(), b.Options().BrokerID
	if maps.Equal(old.DefaultBrokerConfig, img.DefaultBrokerConfig) && maps.Equal(old.BrokerConfigs[id], img.BrokerConfigs[id]) {
		return
	}
	next, warnings := b.base.With(img.DefaultBrokerConfig, img.BrokerConfigs[id])
	for _, w := range warnings {
		b.log.Warn("dynamic setting", "key", w.Key, "err", w.Text)
	}
	b.configure(next)
}

// routeChanged tells a shard that there is a new route.
type routeChanged struct{}

// Deliver implements reactor.Message.
func (routeChanged) Deliver(s *reactor.Shard) { localOf(s).resumeParked() }

// routeTopic builds a topic's entry and starts the opening of what is new on this broker.
func (b *Broker) routeTopic(t *meta.Topic, opening *sync.WaitGroup, again bool) *topicRoute {
	o := b.Options().Topic(t.Config)
	tr := &topicRoute{topic: t, hosts: make([]*Hosted, len(t.Partitions)), limits: o.Limits, options: o}
	for i, p := range t.Partitions {
		if !p.Hosts(b.Options().BrokerID) {
			continue
		}
		if h := b.hosts[hostKey{t.ID, t.Name, p.Index}]; h != nil {
			tr.hosts[i] = h
			continue
		}
		if r := b.recoverable(t, p, o, again); r != nil {
			if tr.recovering == nil {
				tr.recovering = make([]*recovery, len(t.Partitions))
			}
			tr.recovering[i] = r
			continue
		}
		opening.Add(1)
		open := func() {
			defer opening.Done()
			tr.hosts[i] = b.open(nil, t, p, o)
		}
		if b.work.Do(open) != nil {
			opening.Done()
		}
	}
	return tr
}

// open opens one partition's log and gives it to its owner shard; nil when its directory fails.
func (b *Broker) open(stop <-chan struct{}, t *meta.Topic, p *meta.Partition, o TopicOptions) *Hosted {
	tp := logstore.TopicPartition{Topic: t.Name, Partition: p.Index}
	if b.knew(t, p.Index) {
		if err := b.logs.Missing(tp); err != nil {
			b.log.Error("partition is offline", "tp", t.Name, "partition", p.Index, "err", err.Error())
			return nil
		}
	}
	log, err := b.logs.OpenUntil(stop, tp, t.ID, o.Log)
	if errors.Is(err, logstore.ErrGivenUp) {
		return nil
	}
	if err != nil {
		b.log.Error("partition cannot be opened", "tp", t.Name, "partition", p.Index, "err", err.Error())
		return nil
	}
	shards, found := b.server.Shards(), int8(-1)
	if o.NamedFormat >= 0 && o.NamedFormat < o.Target.Magic {
		if found, err = b.logs.Format(logstore.TopicPartition{Topic: t.Name, Partition: p.Index}); err != nil {
			b.log.Error("the format of a partition's records is not known", "tp", t.Name, "partition", p.Index, "err", err.Error())
		}
	}
	return &Hosted{Topic: t.Name, found: found, TopicID: t.ID, Partition: p.Index, Log: log, shard: shards[reactor.Route(t.Name, p.Index, len(shards))],
		role: replica.NewPartition(b.Options().BrokerID, log.HighWatermark(), log.End())}
}

// knew tells whether a partition may have a log already: it was there when the broker started, or is in the route.
func (b *Broker) knew(t *meta.Topic, partition int32) bool {
	before := b.Image()
	if before.Version == 0 {
		return true
	}
	old := before.Topic(t.Name)
	return old != nil && old.ID == t.ID && int(partition) < len(old.Partitions)
}

// keepFormat lets a topic go on in the older format that its settings name, as long as its records are of that format.
func (tr *topicRoute) keepFormat() {
	found := int8(-1)
	for _, h := range tr.hosts {
		if h != nil {
			found = max(found, h.found)
		}
	}
	if named := tr.options.NamedFormat; found >= 0 && found <= named && named < tr.options.Target.Magic {
		tr.options.Target.Magic = named
	}
}

// settleHosts gives every partition of these topics that changed its part of the image, on its owner; false when the owners have stopped.
func (b *Broker) settleHosts(topics []*topicRoute, before *Route) bool {
	var mail []*adopt
	for _, tr := range topics {
		old := before.topics[tr.topic.Name]
		if old != nil && old.topic.ID != tr.topic.ID {
			old = nil
		}
		for i, h := range tr.hosts {
			if h == nil {
				continue
			}
			key := hostKey{tr.topic.ID, h.Topic, h.Partition}
			isNew := b.hosts[key] == nil
			b.hosts[key] = h
			if isNew || !b.settled(old, tr, i) {
				mail = append(mail, &adopt{host: h, part: tr.topic.Partitions[i], options: tr.options, broker: b.Options().BrokerID, isNew: isNew})
			}
		}
	}
	done := make(chan struct{}, len(mail))
	for _, m := range mail {
		m.done = done
		m.host.shard.Post(m)
	}
	for range mail {
		if !b.await(done) {
			return false
		}
	}
	return true
}

// settled tells whether a partition's owner knows all that the next route says of it.
func (b *Broker) settled(old, next *topicRoute, i int) bool {
	if old == nil || i >= len(old.topic.Partitions) || b.derived != b.opts.Load() || !maps.Equal(old.topic.Config, next.topic.Config) {
		return false
	}
	was, is := old.topic.Partitions[i], next.topic.Partitions[i]
	return was.Leader == is.Leader && was.LeaderEpoch == is.LeaderEpoch && slices.Equal(was.ISR, is.ISR) &&
		old.options.Target.Magic == next.options.Target.Magic
}

// await waits for a shard's word; false when the shards have stopped.
func (b *Broker) await(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-b.stopped:
		return false
	}
}

// adopt tells a partition's owner what the image says of it.
type adopt struct {
	host    *Hosted
	part    *meta.Partition
	options TopicOptions
	broker  int32
	isNew   bool
	done    chan<- struct{} // with room for every sender
}

// Deliver implements reactor.Message.
func (a *adopt) Deliver(s *reactor.Shard) {
	defer func() { a.done <- struct{}{} }()
	l, h := localOf(s), a.host
	if a.isNew {
		h.Log.Bind(s.Disk)
		l.hosts[h.Log] = h
		h.Log.OnSubmit(l.submits)
	}
	h.Log.SetOptions(a.options.Log) // those of a recovered log may be old
	h.minISR, h.durable, h.limits, h.format = a.options.MinISR, a.options.Durable, a.options.Limits, a.options.Target.Magic
	change := h.role.Become(replica.State{Leader: a.part.Leader, LeaderEpoch: a.part.LeaderEpoch, ISR: a.part.ISR})
	if change.Elected {
		h.Log.AssignEpoch(h.role.Epoch(), h.Log.End())
	}
	if hw := h.role.HighWatermark(); hw > h.Log.HighWatermark() {
		h.Log.SetHighWatermark(hw)
	}
	if change.Deposed {
		l.wakeAll(h)
		l.resign(h)
	}
	if change.Elected && h.Topic == offsetsTopic {
		l.lead(h)
	}
	l.touch(h)
}

// wakeAll ends the wait of every ask of a partition.
func (l *Local) wakeAll(h *Hosted) {
	for len(h.waiters) > 0 {
		a := h.waiters[0]
		a.leave(l)
		a.finish(l)
	}
}

// dropGone closes the partitions that the route no longer places here.
func (b *Broker) dropGone(route *Route) {
	for key, h := range b.hosts {
		if tr := route.topics[h.Topic]; tr != nil && tr.topic.ID == key.topic && tr.host(key.partition) == h {
			continue
		}
		delete(b.hosts, key)
		done := make(chan struct{})
		h.shard.Post(&leaveHost{host: h, done: done})
		if !b.await(done) {
			return
		}
		if err := b.logs.Delete(logstore.TopicPartition{Topic: h.Topic, Partition: h.Partition}); err != nil {
			b.log.Error("partition cannot be removed", "tp", h.Topic, "partition", h.Partition, "err", err.Error())
		}
	}
}

// leaveHost takes a partition from its owner.
type leaveHost struct {
	host *Hosted
	done chan struct{}
}

// Deliver implements reactor.Message.
func (m *leaveHost) Deliver(s *reactor.Shard) {
	l, h := localOf(s), m.host
	h.gone, h.left = true, m.done
	h.Log.StopMove()
	l.wakeAll(h)
	l.resign(h)
	l.touch(h) // what is queued or under way still ends
}
