package group

import "github.com/pelton-broker/pelton/internal/invariant"

// Replay collects the records of a partition, from its start to its end, and becomes the groups of a machine.
type Replay struct {
	offsets map[string]map[TopicPartition]*kept
	groups  map[string]*GroupValue
	// open are the offsets of transactions that have no end yet, by producer.
	open map[int64][]openOffset
	// Skipped counts records of kinds that only later Kafkas know.
	Skipped int
}

type openOffset struct {
	group  string
	tp     TopicPartition
	offset *kept // nil for a deletion
}

// NewReplay returns an empty one.
func NewReplay() *Replay {
	return &Replay{offsets: map[string]map[TopicPartition]*kept{}, groups: map[string]*GroupValue{}, open: map[int64][]openOffset{}}
}

// NoProducer says that a record belongs to no transaction.
const NoProducer = -1

// Add takes one record of the batch that starts at base. producer is that of a transactional batch, else NoProducer.
func (r *Replay) Add(base, producer int64, key, value []byte) error {
	k, err := DecodeKey(key)
	if err != nil {
		return err
	}
	switch {
	case !k.Known:
		r.Skipped++
	case k.IsOffset:
		return r.addOffset(base, producer, &k, value)
	case value == nil:
		delete(r.groups, k.Group)
	default:
		v, err := DecodeGroupValue(value)
		if err != nil {
			return err
		}
		r.groups[k.Group] = &v
	}
	return nil
}

func (r *Replay) addOffset(base, producer int64, k *Key, value []byte) error {
	o := openOffset{group: k.Group, tp: k.TopicPartition}
	if value != nil {
		v, err := DecodeOffsetValue(value)
		if err != nil {
			return err
		}
		o.offset = &kept{Offset: v, base: base}
	}
	if producer != NoProducer {
		r.open[producer] = append(r.open[producer], o)
		return nil
	}
	r.put(o)
	return nil
}

func (r *Replay) put(o openOffset) {
	all := r.offsets[o.group]
	if o.offset == nil {
		if delete(all, o.tp); len(all) == 0 {
			delete(r.offsets, o.group)
		}
		return
	}
	if all == nil {
		all = map[TopicPartition]*kept{}
		r.offsets[o.group] = all
	}
	if k := all[o.tp]; k == nil || k.base <= o.offset.base {
		all[o.tp] = o.offset
	}
}

// EndTransaction takes a control record: the producer's offsets count, or never did.
func (r *Replay) EndTransaction(producer int64, commit bool) {
	if commit {
		for _, o := range r.open[producer] {
			r.put(o)
		}
	}
	delete(r.open, producer)
}

// Offsets counts the offsets collected so far.
func (r *Replay) Offsets() int {
	n := 0
	for _, all := range r.offsets {
		n += len(all)
	}
	return n
}

func (m *Machine) loaded(in *Loaded) {
	if m.phase != phaseLoading {
		invariant.Broken("group: loaded twice", m.phase)
	}
	m.phase = phaseActive
	m.timers.arm(&m.expire, m.now.MonoMs+m.opt.RetentionCheckMs)
	for _, id := range sortedKeys(in.From.groups) {
		m.load(id, in.From.groups[id])
	}
	for _, id := range sortedKeys(in.From.offsets) {
		g := m.groups[id]
		if g == nil {
			g = newGroup(id, m.now.WallMs)
			m.groups[id] = g
		}
		g.offsets = in.From.offsets[id]
	}
}

// load brings one group back. Its members have a whole session to be heard of.
func (m *Machine) load(id string, v *GroupValue) {
	g := newGroup(id, v.StateMs)
	m.groups[id] = g
	g.generation, g.protocol = v.Generation, v.Protocol
	if v.ProtocolType != "" {
		g.protocolType = &v.ProtocolType
	}
	if len(v.Members) > 0 {
		g.state = stateStable
		if g.protocol == nil {
			none := ""
			g.protocol = &none
		}
	}
	for i := range v.Members {
		s := &v.Members[i]
		mb := &member{
			id: s.MemberID, instance: s.Instance, clientID: s.ClientID, clientHost: s.ClientHost,
			rebalanceMs: s.RebalanceMs, sessionMs: s.SessionMs, assignment: s.Assignment,
			protocols: []Protocol{{Name: *g.protocol, Metadata: s.Subscription}},
		}
		if g.byID[mb.id] != nil || mb.instance != nil && g.static[*mb.instance] != "" {
			continue // a damaged record; the first one stands
		}
		g.add(mb, nil)
		m.beat(mb)
	}
	if v.Leader != nil && g.byID[*v.Leader] != nil {
		g.leader = *v.Leader
	}
	g.computeSubscribed()
	if len(g.members) > m.opt.MaxSize {
		m.prepare(g)
	}
}
