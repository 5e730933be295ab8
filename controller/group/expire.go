package group

import "slices"

// expireScan bounds how many offsets one step looks at, so that a round over very many does not hold the shard.
const expireScan = 2000

// expireOffsets drops the offsets whose time is up, and the empty groups that have none left. A round goes over all
// groups, a part of them each step.
func (m *Machine) expireOffsets() {
	if len(m.expiring) == 0 {
		m.expiring = sortedKeys(m.groups)
	}
	for scanned := 0; len(m.expiring) > 0 && scanned < expireScan; {
		g := m.groups[m.expiring[0]]
		m.expiring = m.expiring[1:]
		scanned++
		if g == nil || len(g.pending) > 0 {
			continue // gone meanwhile, or somebody is about to join with the id just handed out
		}
		scanned += len(g.offsets)
		gone := g.expired(m.now.WallMs, m.opt.RetentionMs)
		if records := m.removeOffsets(g, gone); len(records) > 0 {
			// A lost tombstone is written again by the next round, or after the next loading.
			m.store(records, emptyStored{})
		}
	}
	after := m.opt.RetentionCheckMs
	if len(m.expiring) > 0 {
		after = 1
	}
	m.timers.arm(&m.expire, m.now.MonoMs+after)
}

// expired lists the offsets whose time is up at nowMs.
//   - A group that had members and is empty now: counted from when it became empty, or from the commit where an old
//     record did not say when that was.
//   - A stable group of consumers that knows its topics: counted from the commit, for topics nobody reads.
//   - A group that never had members: counted from the commit.
//   - Otherwise nothing expires. A commit that brought its own time (v2–v4) goes by that alone in all three.
func (g *group) expired(nowMs, retentionMs int64) []TopicPartition {
	isConsumer := g.protocolType != nil && *g.protocolType == consumerType
	fromEmpty := false
	switch {
	case g.protocolType == nil:
	case g.state == stateEmpty:
		fromEmpty = g.stateMs >= 0
	case isConsumer && g.subscribed != nil && g.state == stateStable:
	default:
		return nil
	}
	var gone []TopicPartition
	for tp, o := range g.offsets {
		if len(g.storing[tp]) > 0 || g.protocolType != nil && g.state == stateStable && g.isSubscribed(tp.Topic) {
			continue
		}
		base := o.CommitMs
		if fromEmpty {
			base = g.stateMs
		}
		if o.ExpireMs >= 0 && nowMs >= o.ExpireMs || o.ExpireMs < 0 && nowMs-base >= retentionMs {
			gone = append(gone, tp)
		}
	}
	slices.SortFunc(gone, comparePartitions)
	return gone
}
