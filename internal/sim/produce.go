package sim

import (
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// produce lets somebody append something.
func (w *World) produce(p *Part) {
	if p.log == nil {
		return
	}
	if w.rand.Percent(35) {
		w.send(p, nil, w.build(p, nil, w.rand.Between(1, 6)), logstore.FromClient, anything)
		return
	}
	c := p.clients[w.rand.Intn(len(p.clients))]
	switch {
	case len(c.flight) == 0 && len(c.retry) > 0:
		w.retry(p, c)
	case len(c.retry) > 0:
	case c.owes && len(c.flight) == 0:
		w.marker(p, c, 0)
	case c.owes:
	case w.rand.Percent(12):
		w.provoke(p, c)
	case c.txn && !c.inTxn && len(c.flight) == 0:
		c.inTxn = true
		w.next(p, c)
	case c.txn && c.inTxn && len(c.flight) == 0 && w.rand.Percent(30):
		w.marker(p, c, int16(w.rand.Intn(2)))
	case len(c.flight) < 5:
		w.next(p, c)
	}
}

// next sends the next batch of a producer.
func (w *World) next(p *Part, c *client) {
	n := w.rand.Between(1, 5)
	want := anything
	if len(c.flight) == 0 {
		want = p.expect(c, c.epoch, c.next, c.next+int32(n)-1)
	}
	raw := w.build(p, c, n)
	c.next += int32(n)
	w.send(p, c, raw, logstore.FromClient, want)
}

// retry sends the first batch again whose answer was an error or never came.
func (w *World) retry(p *Part, c *client) {
	s := c.retry[0]
	c.retry = c.retry[1:]
	k := s.kept
	if k.Marker >= 0 {
		w.send(p, c, s.raw, logstore.FromCoordinator, anything)
		return
	}
	w.send(p, c, s.raw, logstore.FromClient, p.expect(c, k.PEpoch, k.Seq, k.Seq+int32(k.Last-k.Base)))
}

// marker ends a transaction.
func (w *World) marker(p *Part, c *client, kind int16) {
	c.inTxn, c.owes = false, false
	w.send(p, c, batch.BuildMarker(c.pid, c.epoch, kind, 7, w.clk.WallMs()), logstore.FromCoordinator, anything)
}

// provoke sends what must be refused, or is a repeat.
func (w *World) provoke(p *Part, c *client) {
	if len(c.flight) > 0 { // a repeat of what is under way
		first := c.flight[w.rand.Intn(len(c.flight))]
		if first.bad || first.kept.Marker >= 0 || first.want > written {
			return
		}
		for _, s := range c.flight { // of an epoch that may still be refused
			if s.bad || s.want == anything && s != first {
				return
			}
		}
		s := w.send(p, c, first.raw, logstore.FromClient, anything)
		s.bad, s.again = true, first
		return
	}
	if len(c.retry) > 0 {
		return
	}
	st := p.model.prod[c.pid]
	was := *c
	switch w.rand.Intn(3) {
	case 0: // a gap
		c.next += int32(w.rand.Between(1, 9))
	case 1: // an old epoch
		c.epoch--
	default: // an old batch
		if st == nil || len(st.batches) == 0 || st.epoch != c.epoch {
			return
		}
		w.repeat(p, c, st)
		return
	}
	if st == nil || c.epoch < 0 {
		*c = was
		return
	}
	raw := w.build(p, c, 2)
	want := p.expect(c, c.epoch, c.next, c.next+1)
	s := w.send(p, c, raw, logstore.FromClient, want)
	c.epoch, c.next = was.epoch, was.next
	s.bad = true
}

// repeat sends one of the last batches of a producer again; its values differ, which nobody looks at.
func (w *World) repeat(p *Part, c *client, st *producerState) {
	old := st.batches[len(st.batches)-1-w.rand.Intn(min(len(st.batches), 7))]
	next := c.next
	c.next = old.Seq
	raw := w.build(p, c, int(old.Last-old.Base)+1)
	c.next = next
	s := w.send(p, c, raw, logstore.FromClient, p.expect(c, c.epoch, old.Seq, old.Seq+int32(old.Last-old.Base)))
	s.bad = true
}
