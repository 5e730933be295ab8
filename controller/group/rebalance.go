package group

func (m *Machine) maybePrepare(g *group) {
	if g.canRebalance() {
		m.prepare(g)
	}
}

// prepare starts a rebalance: syncs that wait are sent back to join, and the group waits for its members. A group that
// was empty waits the initial delay, so that members that start together meet in one generation.
func (m *Machine) prepare(g *group) {
	if g.state == stateCompleting {
		m.resetAssignment(g, ErrRebalanceInProgress)
	}
	m.endSync(g)
	wasEmpty := g.state == stateEmpty
	g.moveTo(statePreparing, m.now.WallMs)
	if wasEmpty {
		delay := int64(m.opt.InitialDelayMs)
		g.initial.running = true
		g.initial.delayMs = delay
		g.initial.remainedMs = max(g.rebalanceMs()-delay, 0)
		m.timers.arm(&g.join, m.now.MonoMs+delay)
		return
	}
	m.timers.arm(&g.join, m.now.MonoMs+g.rebalanceMs())
	m.tryCompleteJoin(g)
}

// tryCompleteJoin ends the preparing when nobody is awaited any more. The initial delay always runs out.
func (m *Machine) tryCompleteJoin(g *group) {
	if g.state == statePreparing && !g.initial.running && g.allJoined() {
		m.completeJoin(g)
	}
}

func (m *Machine) joinTimeUp(g *group) {
	if g.state != statePreparing {
		return
	}
	if g.initial.running && g.newMember && g.initial.remainedMs != 0 {
		g.newMember = false
		delay := min(int64(m.opt.InitialDelayMs), g.initial.remainedMs)
		g.initial.remainedMs = max(g.initial.remainedMs-g.initial.delayMs, 0)
		g.initial.delayMs = delay
		m.timers.arm(&g.join, m.now.MonoMs+delay)
		return
	}
	m.completeJoin(g)
}

// completeJoin makes the next generation of those who have joined. Dynamic members that have not are removed; static
// ones stay until their session ends.
func (m *Machine) completeJoin(g *group) {
	g.initial.running = false
	m.timers.disarm(&g.join)
	for _, mb := range append([]*member(nil), g.members...) {
		if mb.awaitsJoin == nil && !mb.isStatic() {
			m.drop(g, mb)
		}
	}
	if len(g.members) > 0 && !g.electJoined() {
		// Only static members, and none has come: wait on until one does or their sessions end.
		m.timers.arm(&g.join, m.now.MonoMs+max(g.rebalanceMs(), 1))
		return
	}
	g.nextGeneration(m.now.WallMs)
	if g.state == stateEmpty {
		v := g.value(nil)
		m.store([]Record{{encodeGroupKey(g.id), encodeGroupValueAs(v, m.opt.written().Group)}}, emptyStored{})
		return
	}
	m.rebalances++
	for _, mb := range g.members {
		a := m.joinedNow(g, mb)
		if g.leader == mb.id {
			a.Members = g.joinedMembers()
		}
		m.answerJoin(g, mb, a)
		m.beat(mb)
		mb.isNew = false
		g.unsynced[mb.id] = struct{}{}
	}
	m.timers.arm(&g.sync, m.now.MonoMs+g.rebalanceMs())
}

// emptyStored ends the store of an empty generation. A failure is harmless: the generation before it would come back
// after a crash, and its members would time out.
type emptyStored struct{}

func (emptyStored) stored(*Machine, int64, error) {}

func (m *Machine) endSync(g *group) {
	clear(g.unsynced)
	m.timers.disarm(&g.sync)
}

// syncTimeUp removes the members that took part in the join and have not synced.
func (m *Machine) syncTimeUp(g *group) {
	if len(g.unsynced) == 0 || g.state != stateCompleting && g.state != stateStable {
		return
	}
	for _, id := range sortedKeys(g.unsynced) {
		if mb := g.byID[id]; mb != nil {
			m.answerJoin(g, mb, joinError("", ErrUnknownMember))
			m.drop(g, mb)
		}
	}
	m.prepare(g)
}

// sessionEnded removes a member that has not been heard of, unless it is the member that waits for us.
func (m *Machine) sessionEnded(g *group, mb *member) {
	if g.byID[mb.id] != mb || mb.keptByWaiting() {
		return
	}
	m.expel(g, mb)
}

// expel removes mb for good and lets the rest rebalance.
func (m *Machine) expel(g *group, mb *member) {
	m.answerJoin(g, mb, joinError("", ErrUnknownMember))
	m.answerSync(mb, &Synced{Err: ErrUnknownMember})
	m.drop(g, mb)
	m.maybePrepare(g)
	m.tryCompleteJoin(g)
}
