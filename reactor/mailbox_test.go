package reactor

import (
	"sync"
	"sync/atomic"
	"testing"
)

// ball goes to and fro between shards until its hops are used up.
type ball struct {
	hops  int
	pairs []*Shard
	left  *atomic.Int64
	done  chan struct{}
	in    atomic.Int32 // boxes that it is in; a second delivery of one send would show
}

func (b *ball) Deliver(s *Shard) {
	if b.in.Add(-1) != 0 {
		panic("delivered twice")
	}
	if b.hops--; b.hops > 0 {
		b.in.Add(1)
		s.Send(b.pairs[(s.ID+1+b.hops%2)%len(b.pairs)], b)
		return
	}
	if b.left.Add(-1) == 0 {
		close(b.done)
	}
}

func TestMailTinyBoxesNeverStall(t *testing.T) {
	for _, shards := range []int{2, 3} {
		v, _ := serve(t, Options{Shards: shards, OpenDisk: openFake, MailSlots: 2}, &hooks{})
		const balls, hops = 500, 200
		var left atomic.Int64
		left.Store(int64(balls * shards))
		done := make(chan struct{})
		for _, s := range v.Shards() {
			onShard(s, func(s *Shard) {
				for range balls {
					b := &ball{hops: hops, pairs: v.Shards(), left: &left, done: done}
					b.in.Add(1)
					s.Send(v.Shards()[(s.ID+1)%shards], b)
				}
			})
		}
		<-done
		var kept, sent, received uint64
		for _, s := range v.Shards() {
			onShard(s, func(s *Shard) {
				c := s.Counters()
				kept, sent, received = kept+c.KeptBack, sent+c.Sent, received+c.Received
			})
		}
		if sent != uint64(balls*shards*hops) {
			t.Fatalf("%d sent", sent)
		}
		if kept == 0 {
			t.Fatal("no ring was ever full: the test tests nothing")
		}
	}
}

// numbered checks that a pair's mail keeps its order.
type numbered struct {
	n    int
	next *int
	done chan struct{}
	last int
	bad  *atomic.Bool
}

func (m *numbered) Deliver(*Shard) {
	if *m.next != m.n {
		m.bad.Store(true)
	}
	*m.next++
	if *m.next == m.last {
		close(m.done)
	}
}

func TestMailKeepsItsOrder(t *testing.T) {
	v, _ := serve(t, Options{Shards: 2, OpenDisk: openFake, MailSlots: 4}, &hooks{})
	const count = 20_000
	var bad atomic.Bool
	done, next := make(chan struct{}), 0
	a, b := v.Shards()[0], v.Shards()[1]
	for first := 0; first < count; first += 100 {
		onShard(a, func(s *Shard) {
			for n := first; n < first+100; n++ {
				m := &numbered{n: n, next: &next, done: done, last: count, bad: &bad}
				if n%2 == 0 {
					s.Send(b, m)
				} else {
					s.Reply(b, m)
				}
			}
		})
	}
	<-done
	if bad.Load() {
		t.Fatal("mail overtook mail")
	}
}

func TestPostFromManyGoroutines(t *testing.T) {
	v, _ := serve(t, fakeOptions(), &hooks{})
	const posters, each = 8, 2000
	var wg sync.WaitGroup
	var bad atomic.Bool
	s := v.Shards()[1]
	for range posters {
		next, done := 0, make(chan struct{})
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range each {
				s.Post(&numbered{n: n, next: &next, done: done, last: each, bad: &bad})
			}
			<-done
		}()
	}
	wg.Wait()
	if bad.Load() {
		t.Fatal("posts of one goroutine overtook each other")
	}
}

func TestMailToSelfComesInTheSameTurn(t *testing.T) {
	var order []string
	h := &hooks{}
	v, _ := serve(t, Options{Shards: 1, OpenDisk: openFake}, h)
	onShard(v.Shards()[0], func(s *Shard) {
		order = nil
		h.turn = func(*Shard) { order = append(order, "turn") }
		s.Send(s, &call{fn: func(*Shard) { order = append(order, "mail") }})
	})
	onShard(v.Shards()[0], func(*Shard) {
		h.turn = nil
		if len(order) < 2 || order[0] != "mail" || order[1] != "turn" {
			t.Errorf("order: %v", order)
		}
	})
}

func TestMailAllocatesNothing(t *testing.T) {
	r := newRing(4)
	o := &outbox{ring: r}
	s := &Shard{}
	m := &call{fn: func(*Shard) {}}
	if n := testing.AllocsPerRun(1000, func() {
		for range 10 { // more than the ring holds
			o.put(m)
		}
		for o.late.len() > 0 || r.waiting() > 0 {
			for range r.waiting() {
				r.take().Deliver(s)
			}
			o.retry()
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
