package sim

import (
	"fmt"
	"syscall"
	"time"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore"
)

// Config is one run.
type Config struct {
	Seed  uint64
	Steps int
	// Say is told what happens, when it is set.
	Say func(format string, a ...any)
}

func (w *World) say(format string, a ...any) {
	if w.cfg.Say != nil {
		w.cfg.Say(format, a...)
	}
}

// Failure is a broken promise.
type Failure struct {
	Seed uint64
	Step int
	What string
}

// Error implements error.
func (f *Failure) Error() string {
	return fmt.Sprintf("seed %d, step %d: %s (replay: make sim SEED=%d)", f.Seed, f.Step, f.What, f.Seed)
}

// World is one run: a machine, its log directories, partitions, producers and readers.
type World struct {
	cfg   Config
	rand  *Rand
	clk   *clock.Manual
	vol   *Volume
	queue *Queue
	m     *logstore.Manager
	parts []*Part
	ops   []*disk.Op

	step   int
	serial int
	depth  int             // of calls that were cut into
	beside bool            // the job that runs copies a log into another directory
	sick   map[string]bool // directories that an injected error reached
	broke  *Failure
	// strained: a call found no room, although there may be some for the next.
	strained bool
	// halted: moves go on after the next start only.
	halted bool

	// Counts of what happened, so that a run that tested nothing is seen.
	Acked, Kills, Cuts, Faults, Reads, Reopened, Lost, Cleaned, Moved int
}

// dirs of a run: one to three.
func dirsFor(r *Rand) []string { return []string{"/a/data", "/b/data", "/c/data"}[:r.Of(1, 2, 2, 3)] }

// Run plays a seed and returns the world, for its counts and its trace.
func Run(cfg Config) (*World, error) {
	r := NewRand(cfg.Seed)
	w := &World{cfg: cfg, rand: r, clk: clock.NewManual(1_600_000_000_000), sick: map[string]bool{}}
	dirs := dirsFor(r)
	w.vol = NewVolume(r, w.clk, dirs...)
	w.vol.Say = cfg.Say
	w.queue = &Queue{rand: r, v: w.vol, cold: r.Of(0, 5, 30)}
	for i := range r.Between(2, 4) {
		w.parts = append(w.parts, w.newPart(i))
	}
	w.start()
	for w.step = 0; w.step < cfg.Steps && w.broke == nil; w.step++ {
		w.play()
	}
	w.finish()
	if w.broke != nil {
		return w, w.broke
	}
	return w, nil
}

// Trace is a hash of everything that happened.
func (w *World) Trace() uint64 { return w.vol.trace }

func (w *World) broken(format string, a ...any) {
	if w.broke == nil {
		w.broke = &Failure{w.cfg.Seed, w.step, fmt.Sprintf(format, a...)}
	}
}

func (w *World) newPart(i int) *Part {
	r := w.rand
	kind := Kind(r.Of(0, 0, 1, 2))
	o := logstore.Options{
		SegmentBytes: int32(r.Of(1200, 3000, 8000, 40000)), IndexInterval: int32(r.Of(-1, 64, 512, 4096)), IndexMaxBytes: int32(r.Of(120, 1200, 4096)),
		FlushMessages: int64(r.Of(0, 1, 1, 7)), FlushMs: int64(r.Of(0, 0, 300)), LogAppendTime: r.Percent(25), RetentionMs: logstore.NoLimit,
		FileDeleteMs: int64(r.Of(1, 500)), SettleDelayMs: int64(r.Of(-1, -1, 200, 3000)), ProducerExpiry: 1 << 50, DedupeBytes: int64(r.Of(400, 20000)), Delete: true,
	}
	p := &Part{tp: logstore.TopicPartition{Topic: fmt.Sprintf("t%d", i)}, id: [16]byte{byte(i + 1)}, kind: kind, model: NewModel(), acksAll: r.Percent(40)}
	switch kind {
	case Deletes:
		o.RetentionBytes = int64(o.SegmentBytes) * int64(r.Between(1, 4))
	case Compacts:
		o.Delete, o.Compact, o.Cleaner, o.MinCleanableRatio = false, true, true, 0.01
		o.DeleteRetentionMs, o.SegmentBytes, o.SettleDelayMs = int64(r.Of(2000, 60_000)), min(o.SegmentBytes, 3000), int64(r.Of(-1, 200))
	}
	p.opt = o
	for c := range r.Between(1, 3) {
		p.clients = append(p.clients, &client{pid: int64(100*i + c + 1), txn: kind == Keeps && c > 0})
	}
	return p
}

// play is one step.
func (w *World) play() {
	w.vol.Note("step", int64(w.step))
	w.clk.Advance(time.Duration(w.rand.Intn(15)) * time.Millisecond)
	w.event()
	w.collectFaults()
	switch {
	case w.broke != nil:
	case w.vol.Dead():
		w.crash()
	default:
		w.check()
	}
}

// event draws what happens next.
func (w *World) event() {
	p := w.parts[w.rand.Intn(len(w.parts))]
	switch n := w.rand.Intn(1000); {
	case n < 230:
		w.produce(p)
	case n < 243:
		w.move(p)
	case n < 250:
		w.sweep()
	case n < 450:
		w.turn(p)
	case n < 650:
		w.queueStep()
	case n < 760:
		w.work(p)
	case n < 870:
		w.read(p)
	case n < 930:
		w.follow(p)
	case n < 970:
		w.tick(p)
	case n < 980:
		w.checkpoint()
	case n < 985:
		w.deleteRecords(p)
	default:
		w.trouble(p)
	}
}

// queueStep lets one operation end and gives it to its log.
func (w *World) queueStep() {
	w.queue.Step()
	w.ops = w.queue.Reap(w.ops[:0])
	for _, op := range w.ops {
		l := op.Owner.(*logstore.Log)
		l.OnDisk(op)
		for _, p := range w.parts {
			if p.log == l {
				w.turn(p)
			}
		}
	}
}

// work runs a job, or applies one that has run.
func (w *World) work(p *Part) {
	if len(p.jobs) == 0 {
		return
	}
	i := w.rand.Intn(len(p.jobs))
	j := p.jobs[i]
	switch {
	case j.busy:
		return
	case !j.ran:
		w.beforeExchange(p, j)
		j.busy = true
		beside := w.beside
		w.beside = logstore.Moves(j.work)
		w.runCut(j.work.Run)
		w.beside = beside
		j.busy, j.ran = false, true
		return
	}
	p.jobs = append(p.jobs[:i], p.jobs[i+1:]...)
	j.work.Apply()
	w.turn(p)
}

// runCut carries out what runs beside the shard: between its calls the shard goes on, and while a move copies, which takes long, so do other jobs.
func (w *World) runCut(job func()) {
	was := w.vol.Cut
	w.vol.Cut = func() {
		if w.depth > 0 || w.vol.Dead() || w.broke != nil || !w.rand.Percent(25) {
			return
		}
		w.depth++
		p := w.parts[w.rand.Intn(len(w.parts))]
		switch n := w.rand.Intn(16); {
		case n < 4:
			w.produce(p)
		case n < 9 || n < 11 && !w.beside:
			w.turn(p)
		case n < 11:
			w.duringMove(p)
		case n < 12:
			w.deleteRecords(p)
		default:
			w.queueStep()
		}
		w.depth--
	}
	job()
	w.vol.Cut = was
}

// duringMove is what may happen while a move copies.
func (w *World) duringMove(p *Part) {
	switch w.rand.Intn(8) {
	case 0:
		w.tick(p)
	case 1:
		w.checkpoint()
	case 2:
		w.deleteRecords(p)
	default:
		w.work(p)
	}
}

func (w *World) tick(p *Part) {
	if p.log == nil {
		return
	}
	if w.rand.Percent(20) {
		w.clk.Advance(time.Duration(w.rand.Intn(5000)) * time.Millisecond)
	}
	if p.kind == Compacts || w.rand.Percent(50) {
		p.log.Retain(w.clk.WallMs())
	} else {
		p.log.Tick(w.clk.WallMs())
	}
	w.turn(p)
}

func (w *World) checkpoint() {
	if w.m == nil {
		return
	}
	starts := map[*Part]int64{}
	for _, p := range w.parts {
		if p.log != nil {
			starts[p] = p.log.Start()
		}
	}
	var err error
	w.runCut(func() { err = w.m.Checkpoint() }) // what failed is told by the directories
	w.collectFaults()
	for p, start := range starts {
		if err == nil && p.log != nil && !w.sick[p.log.Dir()] {
			p.model.StartSafe = max(p.model.StartSafe, start)
		}
	}
}

func (w *World) deleteRecords(p *Part) {
	if p.log == nil || p.kind != Deletes {
		return
	}
	to := p.log.Start() + int64(w.rand.Intn(int(p.log.HighWatermark()-p.log.Start())+1))
	start, err := p.log.DeleteRecordsTo(to)
	if err == nil && start != max(to, p.model.Start) {
		w.broken("%s: records below %d were to be deleted, the log starts at %d", p.tp, to, start)
	}
	w.turn(p)
}

// follow moves what the followers have, and with it the high watermark.
func (w *World) follow(p *Part) {
	if p.log == nil || !p.acksAll {
		return
	}
	end := p.log.End()
	at := end
	if w.rand.Percent(80) { // a follower fetches whole batches
		i := p.model.at(p.log.HighWatermark())
		if i < len(p.model.Log) {
			i += w.rand.Intn(min(len(p.model.Log)-i, 4))
			at = min(end, p.model.Log[i].Last+1)
		}
	}
	if hw := p.role.Fetched(0, at); hw > p.log.HighWatermark() {
		p.log.SetHighWatermark(hw)
	}
	w.turn(p)
}

// trouble is what must not lose anything.
func (w *World) trouble(p *Part) {
	root := w.vol.roots[w.rand.Intn(len(w.vol.roots))]
	errno := syscall.EIO
	switch n := w.rand.Intn(100); {
	case n < 30:
		w.vol.Budget = w.rand.Intn(60) // stops at any call
	case n < 45:
		w.crash()
	case n < 55:
		w.stopClean()
	case n < 62:
		w.vol.Arm(Fault{Call(w.rand.Intn(int(calls))), errno, root, w.rand.Intn(40)})
	case n < 70:
		w.vol.Arm(Fault{Call(w.rand.Of(int(CallWrite), int(CallWrite), int(CallName))), syscall.ENOSPC, root, w.rand.Intn(20)})
	case n < 78:
		w.vol.Fill(root)
		w.tighten(root)
	case n < 92:
		w.heal()
	default:
		w.rot(p)
	}
}

// collectFaults notes which directories an injected error has reached.
func (w *World) collectFaults() {
	for _, f := range w.vol.Fired {
		w.Faults++
		w.unsure()
		w.say("step %d: fault %+v", w.step, f)
		w.strained = w.strained || f.Errno == syscall.ENOSPC
		if f.Errno == syscall.ENOSPC && f.Call != CallSync {
			w.tighten(f.Root)
			if f.Call == CallName && (w.compacts() || len(w.vol.roots) > 1) { // a swap or an exchange of names that cannot end needs a start
				w.sick[f.Root] = true
			}
		} else {
			w.sick[f.Root] = true
		}
	}
	w.vol.Fired = w.vol.Fired[:0]
}

// tighten notes that a directory has no room, or had none for one call.
func (w *World) tighten(root string) {
	for _, p := range w.parts {
		if p.log != nil && p.log.Dir() == root {
			p.tight = true
		}
	}
}

func (w *World) compacts() bool {
	for _, p := range w.parts {
		if p.kind == Compacts {
			return true
		}
	}
	return false
}
