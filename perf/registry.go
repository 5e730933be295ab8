package perf

import "sync"

// Emit takes one value of a callback gauge with the values of its row's labels.
type Emit func(value float64, labels ...string)

// Registry is all sets of a process and the callbacks that the page asks.
type Registry struct {
	lay    *layout
	sets   []*Set
	shared *Shared
	mu     struct {
		sync.Mutex
		reads  [numReadIDs][]func(Emit)
		counts map[source][]func() int64
	}
}

// source is a place of a counter that is kept elsewhere.
type source struct {
	id        ID
	shard, at int
}

// NewRegistry makes the sets of that many shards.
func NewRegistry(shards int) *Registry {
	r := &Registry{lay: newLayout()}
	for range shards {
		r.sets = append(r.sets, newSet(r.lay))
	}
	r.shared = &Shared{set: newSet(r.lay)}
	return r
}

// Shard is the set that shard i writes.
func (r *Registry) Shard(i int) *Set { return r.sets[i] }

// Shards is the number of shards.
func (r *Registry) Shards() int { return len(r.sets) }

// Shared is the set of everything off the shards.
func (r *Registry) Shared() *Shared { return r.shared }

// Read adds a callback that gives a gauge's values. It runs on the thread that asks for the page,
// so it may read only what any thread may read.
func (r *Registry) Read(id ReadID, fn func(Emit)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.reads[id] = append(r.mu.reads[id], fn)
}

// Count adds a callback for a counter or gauge that some package keeps by itself: what it gives is
// added to the shard's own slot at that position. It runs on the thread that asks for the page.
func (r *Registry) Count(id ID, shard, at int, fn func() int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.counts == nil {
		r.mu.counts = map[source][]func() int64{}
	}
	k := source{id, shard, at}
	r.mu.counts[k] = append(r.mu.counts[k], fn)
}

// ValueAt is a counter or gauge of a shard at a position of its dimension, callbacks included.
func (r *Registry) ValueAt(id ID, shard, at int) int64 {
	sum := r.sets[shard].ValueAt(id, at)
	r.mu.Lock()
	fns := r.mu.counts[source{id, shard, at}]
	r.mu.Unlock()
	for _, fn := range fns {
		sum += fn()
	}
	return sum
}

// Gauge adds a callback for a gauge without labels.
func (r *Registry) Gauge(id ReadID, fn func() int64) {
	r.Read(id, func(emit Emit) { emit(float64(fn())) })
}

func (r *Registry) callbacks(id ReadID) []func(Emit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.reads[id]
}

// Total is a counter summed over the shards, its dimension and what runs off the shards.
func (r *Registry) Total(id ID) int64 {
	sum := r.shared.set.Value(id)
	for shard, s := range r.sets {
		for at := range int(s.lay.size[id]) {
			sum += r.ValueAt(id, shard, at)
		}
	}
	return sum
}

// View is a histogram at a position of its dimension, summed over the shards.
func (r *Registry) View(id HistID, at int) *HistView {
	v := &HistView{}
	for _, s := range r.sets {
		s.Hist(id, at).AddTo(v)
	}
	return v
}
