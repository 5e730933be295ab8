package sim

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// rot flips a bit on the platter and in the cache, or puts a stray sector there. Files without any checksum or order of their own (the
// checkpoints, the transaction index) are left out: no reader of Kafka's format could tell.
func (w *World) rot(p *Part) {
	if p.log == nil || p.hurt() || !w.rand.Percent(30) {
		return
	}
	dir := p.log.Path()
	_, _, n := w.vol.walk(dir)
	if n == nil {
		return
	}
	var names []string
	for _, name := range n.dir.sorted() {
		for _, suffix := range []string{".log", ".index", ".timeindex", ".snapshot"} {
			if f := n.dir.names[name].file; strings.HasSuffix(name, suffix) && f != nil && len(f.cache) > 0 {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return
	}
	name := names[w.rand.Intn(len(names))]
	f := n.dir.names[name].file
	at := w.rand.Intn(len(f.cache))
	if s := at / sector; s < len(f.dirty) && f.dirty[s] || at >= len(f.platter) {
		return
	}
	if strings.HasSuffix(name, ".log") {
		base := batchAt(f.cache, at)
		if base < 0 {
			return
		}
		p.model.Hurt = base
	} else {
		p.model.HurtSide = true
	}
	w.Faults++
	w.vol.Note("rot"+name, int64(at))
	if w.rand.Percent(80) {
		bit := byte(1) << w.rand.Intn(8)
		f.cache[at] ^= bit
		f.platter[at] ^= bit
		return
	}
	for i := at; i < min(at+64, len(f.cache), len(f.platter)); i++ { // a write that was meant for another place
		x := byte(w.rand.Uint64())
		f.cache[i], f.platter[i] = x, x
	}
}

// batchAt is the base offset of the batch whose checksum covers a byte; -1 where no checksum does.
func batchAt(b []byte, at int) int64 {
	for pos := 0; pos+batch.HeaderSize <= len(b); {
		size := int(binary.BigEndian.Uint32(b[pos+8:])) + batch.LogOverhead
		if size <= batch.LogOverhead {
			return -1
		}
		if at < pos+size {
			if at < pos+21 {
				return -1
			}
			return int64(binary.BigEndian.Uint64(b[pos:]))
		}
		pos += size
	}
	return -1
}

// checkIndexes compares the offset indexes that a clean stop left with the batches that they point to.
func (w *World) checkIndexes(p *Part) {
	if p.hurt() {
		return
	}
	_, _, n := w.vol.walk(p.log.Path())
	if n == nil || n.dir == nil {
		return
	}
	for _, name := range n.dir.sorted() {
		base, suffix, ok := logstore.ParseFileName(name)
		log := n.dir.names[strings.TrimSuffix(name, ".index")+".log"]
		if !ok || suffix != ".index" || log == nil {
			continue
		}
		index := n.dir.names[name].file.cache
		for len(index) >= 8 {
			rel, pos := int64(binary.BigEndian.Uint32(index)), int(binary.BigEndian.Uint32(index[4:]))
			index = index[8:]
			if pos >= len(log.file.cache) {
				w.broken("%s: %s points behind the log", p.tp, name)
				return
			}
			e, err := batch.ParseEntry(log.file.cache[pos:])
			if err != nil || e.Last != base+rel {
				w.broken("%s: %s says that offset %d is at %d, there is %d (%v)", p.tp, name, base+rel, pos, e.Last, err)
				return
			}
		}
	}
}

// heal gives every directory its room back; then whatever is online must take records again before long.
func (w *World) heal() {
	for _, root := range w.vol.roots {
		w.vol.Empty(root)
	}
	w.vol.armed = nil
	for _, p := range w.parts {
		if p.log == nil || p.hurt() || w.sick[p.log.Dir()] || w.vol.Dead() || w.broke != nil {
			continue
		}
		before, tries := p.model.Next, 0
		for ; tries < 30 && p.model.Next == before && w.broke == nil && !w.vol.Dead(); tries++ {
			w.send(p, nil, w.build(p, nil, 1), logstore.FromClient, anything)
			w.settle(p)
			w.clk.Advance(1100 * time.Millisecond)
		}
		w.collectFaults()
		if p.model.Next == before && w.broke == nil && !w.vol.Dead() && !w.sick[p.log.Dir()] {
			w.broken("%s takes no records although there is room", p.tp)
		}
		p.tight = false
	}
}

// settle lets a partition come to rest.
func (w *World) settle(p *Part) {
	for range 200 {
		w.turn(p)
		w.queueStep()
		w.work(p)
		if w.vol.Dead() || w.queue.InFlight() == 0 && len(p.jobs) == 0 && len(p.flight) == 0 {
			return
		}
	}
}

// finish heals the world and looks at all of it once more, after a clean stop.
func (w *World) finish() {
	if w.broke != nil {
		return
	}
	w.vol.Budget = -1
	w.heal()
	for _, p := range w.parts {
		if p.log != nil {
			w.settle(p)
		}
	}
	if w.broke == nil {
		w.endMoves()
	}
	w.stopClean()
}
