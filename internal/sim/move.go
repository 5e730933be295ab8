package sim

import (
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/pelton-broker/pelton/logstore"
)

// moves is what the model knows of a partition's way into another directory.
type moves struct {
	dir  string // where the log was seen last, "" before the first time
	to   string // where a move goes, "" without one
	from string // where the log was before its last move since the start
	sure bool   // no error and no crash leaves open whether that is so
	plan bool   // a request is under way
}

// planWork is AlterReplicaLogDirs: it decides beside the shard, and then tells the shard.
type planWork struct {
	w       *World
	p       *Part
	dir     string
	mv      *logstore.Move
	changed bool
}

// Run implements logstore.Work.
func (x *planWork) Run() {
	w, p := x.w, x.p
	w.collectFaults()
	w.checkMove(p)
	was := p.moves
	w.strained = false
	p.moves.sure = false
	var err error
	x.mv, x.changed, err = w.m.PlanMove(p.tp, x.dir)
	w.say("step %d: %s is asked into %s: changed %v, %v", w.step, p.tp, x.dir, x.changed, err)
	if w.vol.Dead() {
		return
	}
	w.collectFaults()
	switch {
	case err == nil && x.mv != nil:
		p.moves.to, p.moves.sure = x.dir, len(w.sick) == 0
	case err == nil && x.changed:
		p.moves.to, p.moves.sure = "", len(w.sick) == 0
	case err == nil:
		p.moves.sure = was.sure
	case errors.Is(err, logstore.ErrNoSpace) && (w.vol.full[x.dir] || w.strained):
	case len(w.sick) > 0 && (errors.Is(err, logstore.ErrOffline) || errors.Is(err, logstore.ErrNoFuture)):
	default:
		w.broken("%s cannot be moved to %s: %v", p.tp, x.dir, err)
	}
}

// Apply implements logstore.Work.
func (x *planWork) Apply() {
	x.p.moves.plan = false
	if x.changed {
		x.p.log.Redirect(x.mv)
	}
}

// move asks for a directory, that where the log is among them, and often has something go wrong soon afterwards.
func (w *World) move(p *Part) {
	if p.log == nil || p.moves.plan || len(w.vol.roots) < 2 {
		return
	}
	p.moves.plan = true
	dir := w.vol.roots[w.rand.Intn(len(w.vol.roots))]
	p.jobs = append(p.jobs, &job{work: &planWork{w: w, p: p, dir: dir}})
	switch n := w.rand.Intn(100); {
	case n < 20:
		w.vol.Budget = w.rand.Intn(150)
	case n < 27:
		root := []string{dir, p.log.Dir()}[w.rand.Intn(2)]
		w.vol.Arm(Fault{Call(w.rand.Intn(int(calls))), syscall.EIO, root, w.rand.Intn(60)})
	case n < 34:
		w.vol.Arm(Fault{Call(w.rand.Of(int(CallWrite), int(CallName))), syscall.ENOSPC, dir, w.rand.Intn(30)})
	case n < 36:
		w.vol.Fill(dir)
		w.tighten(dir)
	case n < 38:
		w.sick[dir] = true
		w.unsure()
		w.m.FailDir(dir, syscall.EIO)
	}
}

// beforeExchange has what matters for an exchange of names happen before a job that may be one: a start that moves after the epochs were copied, and a
// stop within it.
func (w *World) beforeExchange(p *Part, j *job) {
	if p.moves.to == "" || p.log == nil || logstore.Moves(j.work) || w.depth > 0 || w.step == w.cfg.Steps {
		return
	}
	if w.rand.Percent(25) {
		w.deleteRecords(p)
	}
	if w.vol.Budget < 0 && w.rand.Percent(12) {
		w.vol.Budget = w.rand.Intn(70)
	}
}

// unsure notes that a fault may have ended any move.
func (w *World) unsure() {
	for _, p := range w.parts {
		p.moves.sure = false
	}
}

// sweep removes the directories that moves left.
func (w *World) sweep() {
	if w.m != nil {
		w.runCut(w.m.Sweep)
	}
}

// under is the target of a partition's move, as the log directories tell it.
func (w *World) under(p *Part) string {
	for _, x := range w.m.Moves() {
		if x.TopicPartition == p.tp {
			return x.Dir
		}
	}
	return ""
}

// checkMove looks where a log lies between two steps.
func (w *World) checkMove(p *Part) {
	v, dir := &p.moves, p.log.Dir()
	if dir == v.dir {
		return
	}
	if v.sure && v.to != dir {
		w.broken("%s is in %s, it was in %s and was asked into %q", p.tp, dir, v.dir, v.to)
	}
	w.Moved++
	w.say("step %d: %s has moved from %s to %s", w.step, p.tp, v.dir, dir)
	p.model.StartSafe = max(p.model.StartSafe, p.model.Start) // carried over; what the model knows is not newer
	v.from, v.dir, v.to = v.dir, dir, ""
}

// checkPlace looks where a log lies after a start: in one directory, the right one, and with its move.
func (w *World) checkPlace(p *Part) {
	v, dir, to := &p.moves, p.log.Dir(), w.under(p)
	kept := v.sure && !p.hurt() && p.log.End() > 0 && v.dir != ""
	switch {
	case !kept:
	case dir != v.dir && dir != v.to:
		w.broken("%s is in %s, it was in %s and was asked into %q", p.tp, dir, v.dir, v.to)
	case v.to == "" && to != "":
		w.broken("%s goes to %s again, where nobody wants it", p.tp, to)
	case v.to != "" && dir != v.to && to != v.to:
		w.broken("%s was asked into %s, after a start it goes to %q", p.tp, v.to, to)
	}
	if dir != v.dir && v.dir != "" && v.to == dir {
		w.Moved++
	}
	p.moves = moves{dir: dir, to: to, sure: true}
}

// checkNames looks that there is one directory of each partition, and a future one only of a move that is under way.
func (w *World) checkNames() {
	for _, p := range w.parts {
		if p.log == nil || w.broke != nil {
			continue
		}
		to := w.under(p)
		for _, root := range w.vol.roots {
			plain, future := 0, 0
			for _, name := range w.names(root) {
				rest := strings.TrimPrefix(name, p.tp.String())
				switch {
				case rest == "":
					plain++
				case rest != name && strings.HasPrefix(rest, ".") && strings.HasSuffix(rest, "-future"):
					future++
				}
			}
			if (plain == 1) != (root == p.log.Dir()) || future > 1 || (future == 1) != (root == to) {
				w.broken("%s is in %s and goes to %q: %s holds %v", p.tp, p.log.Dir(), to, root, w.names(root))
			}
		}
	}
}

func (w *World) names(root string) []string {
	if _, _, n := w.vol.walk(root); n != nil && n.dir != nil {
		return n.dir.sorted()
	}
	return nil
}

// endMoves has every move come to its end, once nothing is wrong any more, and what they left be removed.
func (w *World) endMoves() {
	if len(w.sick) > 0 || w.halted || w.vol.Dead() {
		return
	}
	for _, p := range w.parts {
		if p.log == nil || p.hurt() {
			continue
		}
		for i := 0; i < 30 && w.under(p) != "" && w.broke == nil; i++ {
			w.settle(p)
			w.clk.Advance(1100 * time.Millisecond)
		}
		if to := w.under(p); to != "" && w.broke == nil {
			w.broken("%s does not get from %s to %s although nothing is wrong", p.tp, p.log.Dir(), to)
		}
		if w.broke == nil {
			w.checkMove(p)
		}
	}
	for _, p := range w.parts {
		if p.log != nil {
			w.settle(p)
		}
	}
	w.clk.Advance(time.Second)
	w.m.Sweep()
	if w.checkNames(); w.broke != nil {
		return
	}
	for _, root := range w.vol.roots {
		for _, name := range w.names(root) {
			if strings.HasSuffix(name, "-delete") {
				w.broken("%s is left in %s", name, root)
			}
		}
	}
}
