package group

// expireOffsets drops the offsets whose time is up, and the empty groups that have none left.
func (m *Machine) expireOffsets() {
	for _, id := range sortedKeys(m.groups) {
		g := m.groups[id]
		if len(g.pending) > 0 {
			continue // somebody is about to join with the id just handed out
		}
		gone := g.expired(m.now.WallMs, m.opt.RetentionMs)
		if records := m.removeOffsets(g, gone); len(records) > 0 {
			// A lost tombstone is written again by the next round, or after the next loading.
			m.store(records, emptyStored{})
		}
	}
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
	for _, tp := range sortedOffsets(g.offsets) {
		o := g.offsets[tp]
		if _, storing := g.storing[tp]; storing {
			continue
		}
		if g.protocolType != nil && g.state == stateStable && g.isSubscribed(tp.Topic) {
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
	return gone
}
