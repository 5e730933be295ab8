package group

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

func (m *Machine) commit(in *Commit) {
	g := m.groups[in.Group]
	if g == nil && in.Generation >= 0 {
		// A generation of a group that is gone.
		err := ErrIllegalGeneration
		if in.NotFound {
			err = ErrNotFound
		}
		m.fx.Replies = append(m.fx.Replies, Refuse(in, err))
		return
	}
	if g == nil {
		g = newGroup(in.Group, m.now.WallMs)
		m.groups[in.Group] = g
	}
	if err := g.commitError(in); err != nil {
		m.fx.Replies = append(m.fx.Replies, Refuse(in, err))
		return
	}
	if mb := g.byID[in.MemberID]; mb != nil && g.state != stateEmpty {
		m.beat(mb)
	}
	m.storeOffsets(g, in)
}

func (g *group) commitError(in *Commit) error {
	switch {
	case in.Generation < 0 && g.state == stateEmpty:
		return nil // an administrator, or a consumer that manages its partitions itself
	case in.Generation >= 0 || in.MemberID != "" || in.Instance != nil:
		if err := g.memberError(in.MemberID, in.Instance); err != nil {
			return err
		}
		if in.Generation != g.generation {
			return ErrIllegalGeneration
		}
	default:
		return ErrUnknownMember // only members commit to a group that has some
	}
	if g.state == stateCompleting {
		return ErrRebalanceInProgress
	}
	return nil
}

func (m *Machine) storeOffsets(g *group, in *Commit) {
	s := &offsetsStored{group: g, to: in.To, answer: &Committed{}}
	last := map[TopicPartition]int{} // the last entry of a partition wins
	for i := range in.Offsets {
		o := &in.Offsets[i]
		r := PartitionResult{TopicPartition: o.TopicPartition}
		if utf16Len(o.Metadata) > m.opt.MetadataMax || len(o.Metadata) > maxString {
			r.Err = ErrMetadataTooLarge
		} else {
			last[o.TopicPartition] = i
		}
		s.answer.Offsets = append(s.answer.Offsets, r)
	}
	var records []Record
	for i := range in.Offsets {
		o := &in.Offsets[i]
		if at, ok := last[o.TopicPartition]; !ok || at != i {
			continue
		}
		k := Offset{Offset: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata, CommitMs: o.TimestampMs, ExpireMs: -1}
		if k.CommitMs == -1 {
			k.CommitMs = m.now.WallMs
		}
		if in.RetentionMs != -1 {
			k.ExpireMs = max(m.now.WallMs+min(in.RetentionMs, math.MaxInt64-m.now.WallMs), 0)
		}
		records = append(records, Record{m.offsetKey(g.id, o.TopicPartition), m.encodeKept(k)})
		c := &committing{tp: o.TopicPartition, offset: k}
		s.offsets = append(s.offsets, c)
		g.storing[c.tp] = append(g.storing[c.tp], c)
	}
	if len(records) == 0 {
		m.reply(in.To, s.answer)
		return
	}
	m.store(records, s)
}

// offsetKey is the key of an offset: Kafka 0.8 knows version 0 alone, of keys as of values, and reads no offset of a partition that has others.
func (m *Machine) offsetKey(group string, tp TopicPartition) []byte {
	return encodeOffsetKeyAs(group, tp, min(m.opt.written().Offset, offsetKeyVersion))
}

// encodeKept writes an offset in the version that is asked for. A Kafka before 2.1 knows no offset without an end of its own: it takes -1 for
// one that has passed, and drops the commit within minutes.
func (m *Machine) encodeKept(o Offset) []byte {
	version := m.opt.written().Offset
	if version == offsetValueExpireVersion && o.ExpireMs < 0 {
		o.ExpireMs = o.CommitMs + min(m.opt.RetentionMs, math.MaxInt64-o.CommitMs)
	}
	return encodeOffsetValueAs(&o, version)
}

// committing is one offset on its way into the log.
type committing struct {
	tp     TopicPartition
	offset Offset
	// gone: a tombstone was appended behind it, for its topic or its group was deleted.
	gone bool
}

// offsetsStored makes committed offsets visible once they are in the log.
type offsetsStored struct {
	group   *group
	to      Ref
	offsets []*committing
	answer  *Committed
}

func (s *offsetsStored) stored(m *Machine, base int64, err error) {
	g := s.group
	for _, c := range s.offsets {
		if c.gone {
			continue
		}
		g.storing[c.tp] = slices.DeleteFunc(g.storing[c.tp], func(x *committing) bool { return x == c })
		if len(g.storing[c.tp]) == 0 {
			delete(g.storing, c.tp)
		}
		if err != nil || g.state == stateDead {
			continue
		}
		m.commits++
		if k := g.offsets[c.tp]; k == nil || k.base < base {
			g.offsets[c.tp] = &kept{Offset: c.offset, base: base}
		}
	}
	if err != nil {
		for i := range s.answer.Offsets {
			if r := &s.answer.Offsets[i]; r.Err == nil {
				r.Err = commitStoreError(err)
			}
		}
	}
	m.reply(s.to, s.answer)
}

// commitStoreError is what a committer learns of a failed store.
func commitStoreError(err error) error {
	switch err {
	case ErrTimedOut:
		return ErrNotAvailable
	case ErrTooLarge:
		return ErrCommitTooLarge
	}
	return err
}

func (m *Machine) fetch(in *Fetch) {
	g := m.groups[in.Group]
	a := &Fetched{}
	if in.All {
		if g != nil {
			for _, tp := range sortedOffsets(g.offsets) {
				a.Offsets = append(a.Offsets, fetched(g, tp))
			}
		}
	} else {
		for _, tp := range in.Partitions {
			a.Offsets = append(a.Offsets, fetched(g, tp))
		}
	}
	m.reply(in.To, a)
}

func fetched(g *group, tp TopicPartition) FetchedOffset {
	f := FetchedOffset{TopicPartition: tp, Offset: -1, LeaderEpoch: -1}
	if g == nil {
		return f
	}
	if k := g.offsets[tp]; k != nil {
		f.Offset, f.LeaderEpoch, f.Metadata = k.Offset.Offset, k.LeaderEpoch, k.Metadata
	}
	return f
}

func (m *Machine) deleteOffsets(in *DeleteOffsets) {
	g := m.groups[in.Group]
	if g == nil {
		m.reply(in.To, &OffsetsDeleted{Err: ErrNotFound})
		return
	}
	isConsumer := g.protocolType != nil && *g.protocolType == consumerType
	if g.state != stateEmpty && !isConsumer {
		m.reply(in.To, &OffsetsDeleted{Err: ErrNonEmpty})
		return
	}
	a := &OffsetsDeleted{}
	var gone []TopicPartition
	for _, tp := range in.Partitions {
		r := PartitionResult{TopicPartition: tp}
		if g.state != stateEmpty && g.isSubscribed(tp.Topic) {
			r.Err = ErrSubscribed
		} else {
			gone = append(gone, tp)
		}
		a.Partitions = append(a.Partitions, r)
	}
	records := m.removeOffsets(g, gone)
	if len(records) == 0 {
		m.reply(in.To, a)
		return
	}
	m.store(records, &offsetsGone{to: in.To, answer: a})
}

// offsetsGone answers a deletion of offsets once the tombstones are in the log.
type offsetsGone struct {
	to     Ref
	answer *OffsetsDeleted
}

func (s *offsetsGone) stored(m *Machine, _ int64, err error) {
	if err != nil {
		s.answer = &OffsetsDeleted{Err: commitStoreError(err)}
	}
	m.reply(s.to, s.answer)
}

// removeOffsets forgets offsets, and the group with the last of them when it is empty, and returns the tombstones.
// Offsets whose append is under way get one as well: it lands behind them.
func (m *Machine) removeOffsets(g *group, gone []TopicPartition) []Record {
	var records []Record
	for _, tp := range gone {
		storing := g.storing[tp]
		if g.offsets[tp] == nil && len(storing) == 0 {
			continue
		}
		for _, c := range storing {
			c.gone = true
		}
		delete(g.offsets, tp)
		delete(g.storing, tp)
		records = append(records, Record{Key: m.offsetKey(g.id, tp)})
	}
	if g.state != stateEmpty || g.hasOffsets() {
		return records
	}
	m.bury(g)
	if g.generation > 0 {
		// A group that only ever committed has no record of its own.
		records = append(records, Record{Key: encodeGroupKey(g.id)})
	}
	return records
}

func (m *Machine) topicsDeleted(in *TopicsDeleted) {
	for _, id := range sortedKeys(m.groups) {
		g := m.groups[id]
		gone := g.known(func(tp TopicPartition) bool { return slices.Contains(in.Topics, tp.Topic) })
		if len(gone) == 0 {
			continue
		}
		if records := m.removeOffsets(g, gone); len(records) > 0 {
			m.store(records, emptyStored{})
		}
	}
}

// known lists the partitions with an offset, or one under way, that match.
func (g *group) known(match func(tp TopicPartition) bool) []TopicPartition {
	var out []TopicPartition
	for tp := range g.offsets {
		if match(tp) {
			out = append(out, tp)
		}
	}
	for tp := range g.storing {
		if g.offsets[tp] == nil && match(tp) {
			out = append(out, tp)
		}
	}
	slices.SortFunc(out, comparePartitions)
	return out
}

func comparePartitions(a, b TopicPartition) int {
	if c := strings.Compare(a.Topic, b.Topic); c != 0 {
		return c
	}
	return cmp.Compare(a.Partition, b.Partition)
}

func sortedOffsets[V any](offsets map[TopicPartition]V) []TopicPartition {
	return slices.SortedFunc(maps.Keys(offsets), comparePartitions)
}

// utf16Len is the length of s as Java counts it.
func utf16Len(s string) int {
	n := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if i += size; r > 0xFFFF {
			n++
		}
		n++
	}
	return n
}
