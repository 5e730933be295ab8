package api

import (
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// send implements reply: bytes around file spans, in the layout of the request's version.
func (f *fetch) send(s *Session) {
	f.sent = true
	f.phases.mark(s.local.shard, perf.PhaseQueue)
	f.encode()
	f.phases.mark(s.local.shard, perf.PhaseEncode)
	s.conn.SetFrugal(f.cold)
	out := s.conn.Out()
	at, records := 0, int64(0)
	f.unsent = 1 // one for this function: a connection that dies meanwhile releases spans at once
	for i, c := 0, 0; i < len(f.parts); i++ {
		p := &f.parts[i]
		if p.send == 0 {
			continue
		}
		cut := f.cuts[c]
		c++
		copy(out.Append(cut-at), f.out.B[at:cut])
		at = cut
		f.unsent++
		if p.down != noConversion {
			out.Borrow(f.made[p.from:p.to], f)
		} else {
			out.Span(p.span.File.Fd(), p.span.Pos, p.send, f)
		}
		records += p.send
	}
	if at < len(f.out.B) {
		copy(out.Append(len(f.out.B)-at), f.out.B[at:])
	}
	s.local.set.Add(perf.FetchBytes, records)
	s.local.countAnswer(keyFetch, int64(len(f.out.B))+records)
	f.Release()
}

// Release implements netpoll.Releaser: the socket has taken a span, or the connection is gone.
func (f *fetch) Release() {
	if f.unsent--; f.unsent == 0 {
		f.phases.mark(f.local.shard, perf.PhaseSocket)
		f.phases.observe(f.local, perf.ClassFetch)
		f.releaseSpans()
	}
}

// told tells whether a partition is in the answer, and notes what the consumer now knows.
func (f *fetch) told(p *fetchPart) bool {
	e := p.entry
	if e == nil {
		return true
	}
	news := f.news(p)
	e.hw, e.start = p.res.HighWatermark, p.res.LogStart
	if p.res.Err != 0 {
		e.hw = -1 // so that the end of the error is news
	}
	return news
}

// news tells whether a partition has something that the consumer does not know.
func (f *fetch) news(p *fetchPart) bool {
	e := p.entry
	return e == nil || f.full || p.send > 0 || p.res.Err != 0 || p.res.HighWatermark != e.hw || p.res.LogStart != e.start
}

// encode writes the whole answer but the records into out and notes where those go.
func (f *fetch) encode() {
	w := &f.out
	w.B, f.cuts = w.B[:0], f.cuts[:0]
	if f.throttleMs > 0 {
		f.parts = f.parts[:0]
	}
	topics, records := f.mark()
	wire.FetchHead(w, f.version, f.corr, f.throttleMs, int16(f.code), f.sid, topics)
	for i := 0; i < len(f.parts); {
		n, told := f.run(i)
		if told > 0 {
			f.encodeTopic(i, n, told)
		}
		i += n
	}
	wire.FetchTail(w, f.version)
	wire.PatchSize(w.B, len(w.B)-4+int(records))
}

// mark decides which partitions are told, counts the topic entries, and sums the records.
func (f *fetch) mark() (topics int, records int64) {
	for i := range f.parts {
		p := &f.parts[i]
		p.res.Records = p.send
		p.told = f.told(p)
		if p.told {
			records += p.send
		}
	}
	for i := 0; i < len(f.parts); {
		n, told := f.run(i)
		if told > 0 {
			topics++
		}
		i += n
	}
	return topics, records
}

// run is the number of parts from i on that are of one topic, and how many of them are told.
func (f *fetch) run(i int) (n, told int) {
	for j := i; j < len(f.parts) && f.parts[j].name == f.parts[i].name && f.parts[j].id == f.parts[i].id; j++ {
		n++
		if f.parts[j].told {
			told++
		}
	}
	return n, told
}

func (f *fetch) encodeTopic(i, n, told int) {
	w := &f.out
	wire.FetchTopicHead(w, f.version, f.parts[i].name, f.parts[i].id, told)
	for j := i; j < i+n; j++ {
		p := &f.parts[j]
		if !p.told {
			continue
		}
		wire.FetchPartitionHead(w, f.version, &p.res)
		if p.send > 0 {
			f.cuts = append(f.cuts, len(w.B))
			if p.entry != nil && f.session != nil {
				f.session.served(p.entry)
			}
		}
		wire.FetchPartitionTail(w, f.version, &p.res)
	}
	wire.FetchTopicTail(w, f.version)
}
