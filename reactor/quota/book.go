package quota

import "sync"

// idleMs is how long a meter that nobody holds is remembered.
const idleMs = 3_600_000

// meterSlack is how many meters there may be beside twice those that were alive at the last look.
const meterSlack = 64

// Book keeps the meters of all clients, for every shard.
type Book struct {
	rates, mutations Windows
	mu               struct {
		sync.Mutex
		meters map[Tag]*Meter
		lookAt int // how many meters there may be before the idle ones are looked for
	}
}

// NewBook makes a book: rates are the windows of clients, mutations those of changes of topics.
func NewBook(rates, mutations Windows) *Book {
	b := &Book{rates: rates, mutations: mutations}
	b.mu.meters, b.mu.lookAt = map[Tag]*Meter{}, meterSlack
	return b
}

// Hold gives the meter of a tag, which stays until Drop.
func (b *Book) Hold(tag Tag, nowMs int64) *Meter {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.mu.meters[tag]
	if m == nil {
		b.sweepLocked(nowMs)
		m = &Meter{tag: tag, w: b.rates}
		if tag.Kind == Mutation {
			m.w = b.mutations
		}
		m.mu.usedMs = nowMs
		b.mu.meters[tag] = m
	}
	m.users++
	return m
}

// Drop gives a meter back; nil is no meter.
func (b *Book) Drop(m *Meter) {
	if m == nil {
		return
	}
	b.mu.Lock()
	m.users--
	b.mu.Unlock()
}

// Len is how many meters there are.
func (b *Book) Len() int { b.mu.Lock(); defer b.mu.Unlock(); return len(b.mu.meters) }

// sweepLocked forgets the meters that nobody holds and that would tell nothing: the windows have passed since they were used. Names of
// clients are theirs to choose, so that without this every new name would cost memory for ever.
func (b *Book) sweepLocked(nowMs int64) {
	if len(b.mu.meters) < b.mu.lookAt {
		return
	}
	for tag, m := range b.mu.meters {
		keep := int64(m.w.Num+1) * m.w.Ms
		if tag.Kind == Mutation {
			keep = idleMs // tokens may be owed for longer than all windows
		}
		m.mu.Lock()
		idle := nowMs - m.mu.usedMs
		m.mu.Unlock()
		if m.users == 0 && idle >= keep {
			delete(b.mu.meters, tag)
		}
	}
	b.mu.lookAt = 2*len(b.mu.meters) + meterSlack
}
