package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/logstore/producer"
	"github.com/pelton-broker/pelton/replica"
)

// crash ends the process, or the machine, and starts again.
func (w *World) crash() {
	cut := w.vol.Spoilt() || w.rand.Percent(50)
	w.vol.Cut = nil
	w.vol.dead, w.vol.Budget, w.vol.armed = false, -1, nil
	for _, r := range w.vol.roots {
		w.vol.Empty(r)
	}
	w.queue.Interrupt()
	for _, p := range w.parts {
		for _, s := range p.flight {
			p.maybe(s)
			if c := s.client; c != nil && !s.bad {
				c.retry = append(c.retry, s)
			}
		}
		if p.log != nil {
			w.leave(p)
		}
	}
	if cut {
		w.Cuts++
		w.vol.PowerCut()
		for _, p := range w.parts {
			p.lose(p.model.Durable)
		}
	} else {
		w.Kills++
		w.vol.Kill()
	}
	w.vol.Note("crash")
	w.say("step %d: crash, power cut %v", w.step, cut)
	clear(w.sick)
	w.start()
}

// lose notes that only what is below an offset must have survived.
func (p *Part) lose(durable int64) { p.model.Safe = min(p.model.Safe, durable) }

// leave forgets what the process knew.
func (w *World) leave(p *Part) {
	for _, c := range p.clients {
		c.flight = nil
		sort.SliceStable(c.retry, func(i, j int) bool { return c.retry[i].kept.Seq < c.retry[j].kept.Seq })
	}
	w.Cleaned += int(p.log.Compaction().Runs)
	p.model.Start, p.model.Durable = max(p.model.Start, p.log.Start()), max(p.model.Durable, p.log.RecoveryPoint())
	p.flight, p.jobs, p.log, p.role = nil, nil, nil, nil
	p.moves.plan = false
	p.model.Safe = p.model.Next
}

// start opens the directories and the logs, through whatever crashes and errors come on the way.
func (w *World) start() {
	w.halted, w.beside = false, false
	for try := 0; ; try++ {
		if try < 4 && w.rand.Percent(25) {
			w.vol.Budget = w.rand.Intn(120)
		}
		m, err := logstore.OpenManager(logstore.ManagerOptions{Dirs: w.vol.roots, FS: w.vol, Clock: w.clk, BrokerID: 1, ClusterID: "c", OneThread: true})
		if err == nil {
			w.m = m
			err = m.Identify(1, "c")
		}
		for _, p := range w.parts {
			if err == nil && w.broke == nil {
				w.open(p)
			}
		}
		if !w.vol.Dead() {
			if err != nil {
				w.broken("the directories do not open: %v", err)
			}
			if w.broke == nil {
				w.checkNames()
			}
			w.vol.Budget = -1
			return
		}
		if w.broke != nil {
			return
		}
		w.again()
	}
}

// again is a crash during the start.
func (w *World) again() {
	for _, p := range w.parts {
		if p.log != nil {
			w.leave(p)
		}
	}
	w.vol.dead = false
	if w.rand.Percent(50) {
		w.Cuts++
		w.vol.PowerCut()
		for _, p := range w.parts {
			p.lose(p.model.Durable)
		}
	} else {
		w.Kills++
		w.vol.Kill()
	}
	clear(w.sick)
	w.vol.Note("again")
}

// open opens one partition and looks at all of it.
func (w *World) open(p *Part) {
	point := w.recoveryPoint(p)
	p.epoch++
	l, err := w.m.Open(p.tp, p.id, p.opt)
	if w.vol.Dead() {
		return
	}
	if err != nil {
		var bad *logstore.CorruptError
		if errors.As(err, &bad) && p.model.Hurt >= 0 {
			w.replace(p)
			return
		}
		w.broken("%s does not open: %v", p.tp, err)
		return
	}
	w.Reopened++
	w.say("step %d: %s opened: %d to %d, durable %d, cut %d bytes", w.step, p.tp, l.Start(), l.End(), l.RecoveryPoint(), l.CutBytes())
	l.Bind(w.queue)
	if l.End() < point && p.model.Hurt < 0 && !p.stopped {
		w.broken("%s: cut to %d below the recovery point %d without a word", p.tp, l.End(), point)
	}
	if !w.survived(p, l) || w.vol.Dead() || w.broke != nil {
		return
	}
	p.log, p.tight = l, false
	w.checkPlace(p)
	m := p.model
	m.Start, m.HW, m.Durable, m.Safe = l.Start(), l.HighWatermark(), l.End(), l.End()
	p.role = replica.NewPartition(1, l.HighWatermark(), l.End())
	isr := []int32{1}
	if p.acksAll {
		isr = []int32{0, 1}
	}
	p.role.Become(replica.State{Leader: 1, LeaderEpoch: p.epoch, ISR: isr})
	l.AssignEpoch(p.epoch, l.End())
	if hw := p.role.HighWatermark(); hw > l.HighWatermark() {
		l.SetHighWatermark(hw)
	}
	w.checkProducers(p)
	w.say("step %d: %s knows the aborted transactions %v, the producers %+v", w.step, p.tp, l.AbortedIn(0, l.End()+1, nil), m.prod)
	for _, c := range p.clients {
		st := m.prod[c.pid]
		c.inTxn = st != nil && st.txn >= 0 && st.epoch == c.epoch
		for _, s := range c.retry {
			c.inTxn = c.inTxn || s.kept.Txn && s.kept.Marker < 0
		}
		for _, s := range c.retry {
			c.inTxn = c.inTxn && s.kept.Marker < 0
		}
		c.owes = c.owes || st != nil && st.txn >= 0 && st.epoch != c.epoch
	}
}

// recoveryPoint is what the checkpoint on the disk promises of a partition.
func (w *World) recoveryPoint(p *Part) int64 {
	for _, root := range w.vol.roots {
		if _, _, n := w.vol.walk(root + "/" + p.tp.String()); n == nil {
			continue
		}
		_, _, n := w.vol.walk(root + "/recovery-point-offset-checkpoint")
		if n == nil || n.file == nil {
			return 0
		}
		for _, line := range strings.Split(string(n.file.cache), "\n") {
			var topic string
			var part int32
			var offset int64
			if k, _ := fmt.Sscanf(line, "%s %d %d", &topic, &part, &offset); k == 3 && topic == p.tp.Topic {
				return offset
			}
		}
	}
	return 0
}

// survived reads the whole log and compares it with what was acknowledged. The model becomes what was found.
func (w *World) survived(p *Part, l *logstore.Log) bool {
	m := p.model
	var all []byte
	cold := w.queue.cold
	w.queue.cold = 0
	defer func() { w.queue.cold = cold }()
	for from := l.Start(); from < l.End(); {
		b, err := w.fetch(l, from, 1<<20, l.End())
		if w.vol.Dead() {
			return false
		}
		list, bad := split(b)
		if err != nil || bad != nil || len(list) == 0 {
			if p.hurt() {
				w.replace(p)
				return false
			}
			if len(b) == 0 && err == nil && p.kind == Compacts {
				break
			}
			w.broken("%s cannot be read at %d after a start: %v", p.tp, from, errors.Join(err, bad))
			return false
		}
		all = append(all, b...)
		from = list[len(list)-1].e.Last + 1
	}
	list, _ := split(all)
	if m.touches(list) { // damage was read and reported by checksums: the operator replaces it
		w.replace(p)
		return false
	}
	if p.kind != Deletes && l.Start() > m.Start {
		w.broken("%s: the start moved to %d", p.tp, l.Start())
	}
	if l.Start() < m.StartSafe && m.Hurt < 0 && !p.stopped {
		w.broken("%s: the start is back at %d, it was written down at %d", p.tp, l.Start(), m.StartSafe)
	}
	if l.Start() > m.Start && l.Start() != l.End() {
		w.broken("%s starts at %d, it was told %d", p.tp, l.Start(), m.Start)
		return false
	}
	if l.End() < m.Safe {
		if m.Hurt >= 0 && m.Hurt <= l.End() {
			w.replace(p)
			return false
		}
		w.broken("%s: records from %d on are lost, all below %d were safe", p.tp, l.End(), m.Safe)
		return false
	}
	if l.End() < m.Next {
		w.Lost++
	}
	n := len(m.Log)
	for n > 0 && (m.Log[n-1].Base >= l.End() || l.Start() == l.End() && m.Log[n-1].Last >= l.End()) {
		n--
	}
	m.Log = m.Log[:n]
	m.Next = l.End()
	if n > 0 && m.Log[n-1].Last >= l.End() {
		w.broken("%s: the end %d is inside a batch", p.tp, l.End())
	}
	w.adoptMaybe(p, l, list)
	for i := range m.Log {
		m.Log[i].Fresh = false
	}
	m.relearn()
	w.compareWhole(p, l, list)
	return w.broke == nil
}

// adoptMaybe takes batches behind the model's end that were not acknowledged, each of which somebody must have sent.
func (w *World) adoptMaybe(p *Part, l *logstore.Log, list []seen) {
	m := p.model
	end := int64(0)
	if n := len(m.Log); n > 0 {
		end = m.Log[n-1].Last + 1
	}
	if l.Start() > end { // what was left had been deleted
		end = l.Start()
	}
	for _, s := range list {
		if s.e.Last < end || w.broke != nil {
			continue
		}
		found := false
		for _, k := range m.Maybe {
			if k.CRC != crcOf(s.b) || !batch.CheckEntryCRC(s.b) {
				continue
			}
			if found = s.e.BaseOffset == end; !found {
				break
			}
			n := k.Last - k.Base
			k.Base, k.Last, k.Epoch = end, end+n, s.e.LeaderEpoch
			m.Log = append(m.Log, k)
			end = k.Last + 1
			break
		}
		if !found {
			w.broken("%s: the batch %d to %d was found behind the end %d, nobody sent it for there", p.tp, s.e.BaseOffset, s.e.Last, end)
		}
	}
	m.Maybe = nil
}

// compareWhole holds the whole log against the model.
func (w *World) compareWhole(p *Part, l *logstore.Log, list []seen) {
	m := p.model
	if w.broke != nil {
		return
	}
	w.compare(p, l.Start(), list, m)
	if p.kind == Compacts {
		w.compareLatest(p, list)
		return
	}
	want := len(m.Log) - m.at(l.Start())
	if len(list) != want && w.broke == nil && m.Hurt < 0 {
		w.broken("%s has %d batches from %d on, want %d", p.tp, len(list), l.Start(), want)
	}
}

// compareLatest looks that every key has its last value, tombstones for as long as they must stay.
func (w *World) compareLatest(p *Part, list []seen) {
	if w.broke != nil || p.model.Hurt >= 0 {
		return
	}
	have := map[int64]bool{}
	for _, s := range list {
		// What cannot be read was reported by compareRecords.
		_ = batch.Iterate(s.b, func(r batch.Record) bool {
			have[r.Offset] = true
			// What a power cut took out of the middle, and the copy that a move made before has brought back, counts again: since it came back
			// compaction may have taken older values of its key.
			if i := p.model.at(r.Offset); i < len(p.model.Log) {
				if k := &p.model.Log[i]; r.Offset >= k.Base && int(r.Offset-k.Base) < len(k.Keys) {
					k.Keys[r.Offset-k.Base] = string(r.Key)
				}
			}
			return true
		})
	}
	for i := p.model.at(p.model.Safe); i < len(p.model.Log); i++ { // never synced: a power cut may take it out of the middle, as compaction may
		k := &p.model.Log[i]
		for j := range k.Keys {
			if o := k.Base + int64(j); o >= p.model.Safe && !have[o] {
				k.Keys[j] = ""
			}
		}
	}
	latest := p.model.latest()
	for _, key := range slices.Sorted(maps.Keys(latest)) {
		v := latest[key]
		if have[v.offset] || v.value == "" && w.clk.WallMs() >= v.appendMs+p.opt.DeleteRetentionMs {
			continue
		}
		w.broken("%s: key %s has lost its last value at %d (%q)", p.tp, key, v.offset, v.value)
		return
	}
}

// checkProducers compares the producers' table with what the log says.
func (w *World) checkProducers(p *Part) {
	found := map[int64]producer.State{}
	p.log.Producers(func(s producer.State) { found[s.ProducerID] = s })
	for _, c := range p.clients {
		st := p.model.prod[c.pid]
		if st == nil {
			continue
		}
		s, ok := found[c.pid]
		if !ok {
			if len(st.batches) > 0 && st.batches[len(st.batches)-1].Base >= p.log.Start() && p.kind != Compacts {
				w.broken("%s: producer %d is forgotten", p.tp, c.pid)
			}
			delete(p.model.prod, c.pid) // with its last record
			continue
		}
		if p.kind == Compacts { // its last batch may be gone from the middle, as compareLatest says
			st.epoch, st.lastSeq = s.Epoch, s.LastSequence
			if n := len(st.batches); n > 0 && st.batches[n-1].Seq+int32(st.batches[n-1].Last-st.batches[n-1].Base) != s.LastSequence {
				st.batches = nil
			}
		}
		if s.Epoch != st.epoch || len(st.batches) > 0 && s.LastSequence != st.lastSeq || s.TxnStart != st.txn && p.kind == Keeps {
			w.broken("%s: producer %d has epoch %d, sequence %d, transaction %d; want %d, %d, %d", p.tp, c.pid,
				s.Epoch, s.LastSequence, s.TxnStart, st.epoch, st.lastSeq, st.txn)
		}
	}
}

// replace is the operator: a partition that reported damage is emptied.
func (w *World) replace(p *Part) {
	budget := w.vol.Budget
	w.vol.Budget = -1 // whoever does this by hand does all of it
	defer func() { w.vol.Budget = budget }()
	for _, root := range w.vol.roots {
		if w.vol.RemoveAll(root+"/"+p.tp.String()) == nil {
			_ = w.vol.SyncDir(root) // a missing directory is what is wanted
		}
		for _, name := range w.names(root) {
			if strings.HasPrefix(name, p.tp.String()+".") && w.vol.RemoveAll(root+"/"+name) == nil {
				_ = w.vol.SyncDir(root) // as above
			}
		}
	}
	w.retire(p)
}

// retire takes a damaged partition out of the game.
func (w *World) retire(p *Part) {
	p.model = NewModel()
	p.log = nil
	p.stopped = true
	p.moves = moves{}
	for _, c := range p.clients {
		c.restart()
		c.owes, c.flight = false, nil
	}
}

// stopClean ends the process in order; after that nothing at all may be missing.
func (w *World) stopClean() {
	for i := 0; i < 400 && w.queue.InFlight() > 0; i++ {
		w.queueStep()
	}
	w.m.Halt()
	w.halted = true
	for _, p := range w.parts { // a shard that stops answers what is under way
		for i := 0; i < 100 && len(p.jobs) > 0; i++ {
			w.work(p)
		}
	}
	if w.vol.Dead() || w.broke != nil || w.queue.InFlight() > 0 {
		return
	}
	err := w.m.CloseClean()
	w.collectFaults()
	offline := map[string]bool{}
	for _, d := range w.m.Dirs() {
		offline[d.Path] = d.Offline != nil
		w.say("step %d: stopped, %s offline: %v", w.step, d.Path, d.Offline)
	}
	if err == nil && !w.vol.Dead() {
		for _, p := range w.parts {
			if p.log != nil && !offline[p.log.Dir()] && !w.sick[p.log.Dir()] && !p.tight {
				p.model.Durable = max(p.model.Durable, p.log.End())
				w.checkIndexes(p)
			}
		}
	}
	w.clk.Advance(time.Second)
	w.crash()
}
