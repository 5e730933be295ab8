package server

import (
	"errors"
	"runtime"

	"github.com/pelton-broker/pelton/internal/arena"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/session"
	"github.com/pelton-broker/pelton/zk/tree"
	"github.com/pelton-broker/pelton/zk/txnlog"
)

// loop is everything that the loop goroutine owns.
type loop struct {
	o        *Options
	srv      *Server
	net      *netpoll.Net
	arena    *arena.Arena
	disk     disk.Disk
	reaped   []*disk.Op
	stopping bool

	tree     *tree.Tree
	prep     *tree.Prep
	prop     Proposer
	ens      *together // nil when the server is alone
	sessions *session.Tracker
	// ordered are the transactions proposed and not yet applied, oldest first.
	ordered []proposal
	head    int
	result  tree.Result
	nextID  int64 // of the next session
	secret  []byte
	peers   map[*peer]struct{}

	nowMs   int64 // monotonic, cached at the turn's start
	wallMs  int64
	due     []*session.Session
	buf     []byte // the answer being encoded
	notices notices

	snap        snapshots
	containerMs int64 // when empty containers are looked for again
	sweepMs     int64
	stats       stats
	m           metrics
	names       namespaces
	bornMs      int64   // when the loop began
	traceMask   int64   // kept for whoever sets it; nothing is traced by it
	arriving    arrival // of the connection that OnOpen is about to be told of
	doors       doors
	quiet       bool // nothing came during the last nap
	napNs       int64
	words       words
}

// proposal is a transaction on its way and who asked for it.
type proposal struct {
	x    *tree.Txn
	from *peer // nil for the server's own
}

const (
	// containerEveryMs is ZooKeeper's znode.container.checkIntervalMs.
	containerEveryMs = 60_000
	sweepEveryMs     = 500
	// connectWithinNs is how long a connection may be without a session.
	connectWithinNs = 30_000_000_000
	// outMax is the number of unsent bytes above which a connection is not read any more.
	outMax = 4 << 20
	// longNap is how long the loop sleeps before it tells Go's scheduler. Each sleep that the scheduler knows of has its monitor look around
	// every 20 µs for some milliseconds after the wake-up, which for a burst of pings costs more than answering it; during a nap it looks
	// every 10 ms.
	longNap = 100_000_000
	// quietNs is the least wait after which the loop counts as idle.
	quietNs = 1_000_000
)

func newLoop(s *Server, rec *txnlog.Recovered, secret []byte, snapDir, logDir string) (*loop, error) {
	l := &loop{o: &s.o, srv: s, tree: rec.Tree, prep: tree.NewPrep(rec.Tree), secret: secret, peers: map[*peer]struct{}{}}
	l.tree.Extended, l.tree.EnforceQuota = s.o.ExtendedTypes, s.o.EnforceQuota
	l.tree.Schemes = s.o.Schemes
	l.tree.EnsureConfig()
	l.tick()
	l.stats.reset(l.nowMs)
	l.names = newNamespaces()
	l.m, l.bornMs, l.traceMask = newMetrics(), l.nowMs, defaultTraceMask
	l.m.txns.add(int64(rec.Replayed))
	l.m.start.add(s.recoverMs)
	l.words = newWords(s.o.FourLetterWhitelist)
	l.snap = snapshots{dir: snapDir, logDir: logDir, since: rec.Replayed, last: max(rec.Snapshot, 0), lastMs: l.wallMs}
	l.containerMs = l.nowMs + containerEveryMs
	l.sessions = session.NewTracker(int64(s.o.TickTimeMs), l.nowMs)
	for id, timeout := range rec.Sessions {
		l.sessions.Add(id, timeout, l.nowMs)
	}
	l.nextID = firstSessionID(s.o.ServerID, l.wallMs, rec.MaxSession)
	l.arena = arena.New(arena.Options{})
	d, probe, err := disk.Open(s.o.Disk)
	if err != nil {
		return nil, err
	}
	s.o.Log.Debug("zk disk", "took", probe.String())
	if s.o.WrapDisk != nil {
		d = s.o.WrapDisk(d)
	}
	l.disk = d
	log, err := txnlog.OpenLog(s.o.FS, d, logDir, rec.Zxid)
	if err == nil {
		if s.member == nil {
			l.prop = newSolo(log, rec.Zxid, s.o.Clock, &l.m)
		}
		l.napNs = napNs(s)
		n := netpoll.Options{Sniff: true, MaxFrame: int32(s.o.JuteMaxBuffer), MaxOut: outMax, Limiter: s.limiter, FrameNs: connectWithinNs, NapNs: l.napNs, Eager: true}
		l.net, err = netpoll.NewNet(n, l.arena, l)
	}
	if err == nil {
		err = l.openDoors()
	}
	if err == nil && d.WakeFD() >= 0 {
		err = l.net.Watch(d.WakeFD(), d.ResetWake)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	if s.member != nil {
		if err := l.joinEnsemble(s.member, rec, log); err != nil {
			d.Close()
			return nil, err
		}
	}
	s.mail.mu.Lock()
	s.mail.wake = l.net.Wake
	s.mail.mu.Unlock()
	return l, nil
}

// firstSessionID is ZooKeeper's rule, the server's number above 40 bits of time and 16 of counting, but never an id used before.
func firstSessionID(server int, wallMs, last int64) int64 {
	id := int64(uint64(wallMs)<<24>>8) | int64(server)<<56
	if last>>56 == id>>56 {
		id = max(id, last+1)
	}
	return id
}

func (l *loop) tick() {
	l.nowMs = l.o.Clock.Mono() / 1e6
	l.wallMs = l.o.Clock.WallMs()
}

// run is the loop: wait, read, apply what is durable, write what came, answer.
func (l *loop) run() error {
	for !l.stopping {
		if err := l.wait(); err != nil {
			return errors.Join(err, l.shut())
		}
		if err := l.turn(); err != nil {
			return errors.Join(err, l.shut())
		}
	}
	return l.shut()
}

// napNs is how long the loop naps, where it may hold one of the scheduler's processors for so long: not where a broker's shards want it, or
// where there is only this one. Nearly every turn of a member hands messages to the goroutines of the links, which would wait for the nap's end there.
func napNs(s *Server) int64 {
	scarce := s.o.Embedded || runtime.GOMAXPROCS(0) == 1
	switch {
	case scarce && s.member != nil:
		return -1
	case scarce:
		return 0
	}
	return longNap
}

// wait sleeps until something happens. When nothing came during a whole nap the next wait is most likely as long: another nap, which the
// scheduler's monitor watches all the while, would only cost.
func (l *loop) wait() error {
	if l.quiet {
		l.net.NoNap()
	}
	begunNs := l.o.Clock.Mono()
	err := l.net.Wait(l.sleepNs())
	l.quiet = l.o.Clock.Mono()-begunNs >= max(l.napNs, quietNs)
	return err
}

func (l *loop) turn() error {
	l.tick()
	l.net.SetNow(l.o.Clock.Mono())
	for _, fn := range l.srv.mail.take() {
		fn(l)
	}
	if err := l.net.Dispatch(); err != nil {
		return err
	}
	l.timers()
	l.acceptWaiting()
	l.reap()
	if l.ens != nil {
		l.ens.turn()
	} else {
		l.prop.Turn()
		l.disk.Flush()
		l.reap()
	}
	l.snapshotTurn()
	l.net.FlushOut()
	return l.prop.Err()
}

// sleepNs is how long nothing will happen by itself.
func (l *loop) sleepNs() int64 {
	if l.snap.active() {
		return l.snap.sleepNs()
	}
	until := min(l.sessions.NextMs(), l.containerMs)
	if l.ens != nil {
		until = l.ens.member.NextMs()
	}
	if len(l.peers) > 0 {
		until = min(until, l.sweepMs)
	}
	if l.doors.againMs > 0 {
		until = min(until, l.doors.againMs)
	}
	return max(until-l.nowMs, 1) * 1e6
}

func (l *loop) timers() {
	alone := l.ens == nil // else sessions and containers are the leader's
	if alone && l.nowMs >= l.sessions.NextMs() {
		l.due = l.sessions.Due(l.nowMs, l.due[:0])
		for _, s := range l.due {
			l.expire(s)
		}
	}
	if alone && l.nowMs >= l.containerMs {
		l.containerMs = l.nowMs + containerEveryMs
		l.sweepContainers()
	}
	if l.nowMs >= l.sweepMs {
		l.sweepMs = l.nowMs + sweepEveryMs
		l.net.Sweep(l.o.Clock.Mono())
	}
}

// reap takes completions and applies what has become final.
func (l *loop) reap() {
	l.reapMember()
	if l.prop.Err() != nil {
		return
	}
	final := l.prop.Final()
	for l.head < len(l.ordered) && l.ordered[l.head].x.Zxid <= final {
		p := l.ordered[l.head]
		l.ordered[l.head] = proposal{}
		l.head++
		l.apply(p)
	}
	if l.head == len(l.ordered) {
		l.ordered, l.head = l.ordered[:0], 0
	}
}

// newTxn begins a transaction with the next place in the order.
func (l *loop) newTxn(session int64, cxid int32) *tree.Txn {
	return &tree.Txn{Session: session, Cxid: cxid, Zxid: l.prop.NextZxid(), TimeMs: l.wallMs}
}

func (l *loop) propose(x *tree.Txn, from *peer) {
	l.ordered = append(l.ordered, proposal{x: x, from: from})
	l.prop.Propose(x)
}

// apply carries a final transaction out, tells the watchers, and answers whoever asked. Events go out first:
// nobody sees a change before he is told of it.
func (l *loop) apply(p proposal) {
	x := p.x
	if x.Zxid <= l.tree.Zxid {
		invariant.Broken("zk/server: applied out of order", l.tree.Zxid, x.Zxid)
	}
	l.tree.Apply(x, &l.result)
	l.prep.Committed(x.Zxid)
	l.carriedOut(x)
	if x.Op == jute.OpCloseSession {
		l.sessionClosed(x.Session, p.from)
	}
	if p.from != nil {
		p.from.applied(x, &l.result, x.Zxid)
	}
}

// carriedOut counts a transaction that the tree has taken, and tells the watchers.
func (l *loop) carriedOut(x *tree.Txn) {
	l.names.wrote(x)
	l.snap.since++
	l.m.commits++
	events := l.tree.TakeEvents()
	l.notifyAll(events)
	if len(events) > 0 {
		l.countEvents(events)
	}
}

// countEvents tells the metrics how many watchers each kind of event had.
func (l *loop) countEvents(events []tree.Event) {
	for from := 0; from < len(events); {
		to := from + 1
		for to < len(events) && events[to].Type == events[from].Type && events[to].Path == events[from].Path {
			to++
		}
		l.m.told(events[from].Type, to-from)
		from = to
	}
}

// nodeCount is the number that words show: Apache counts the root twice, by its names "" and "/".
func (l *loop) nodeCount() int { return l.tree.Count() + 1 }

// sweepContainers deletes containers that had children and are empty, and TTL nodes without children whose time is over.
func (l *loop) sweepContainers() {
	for _, path := range l.tree.Expired(l.wallMs) {
		x := l.newTxn(0, 0)
		r := jute.NewReader(jute.AppendText(nil, path))
		if err := l.prep.Request(jute.OpDeleteContainer, &r, &tree.Caller{}, x); err == nil {
			l.propose(x, nil)
		}
	}
}

// shut ends the loop: what was taken is written, connections close, the files are closed.
func (l *loop) shut() error {
	for _, fn := range l.srv.mail.close() {
		fn(l)
	}
	if l.ens != nil {
		l.resign()
		l.drainMember()
	}
	for l.prop.Err() == nil && l.prop.Final() < l.prop.NextZxid()-1 {
		l.prop.Turn()
		l.disk.Flush()
		l.reap()
		if l.prop.Final() < l.prop.NextZxid()-1 && l.disk.InFlight() > 0 {
			if err := l.net.Wait(shutPollNs); err != nil {
				break
			}
			l.disk.ResetWake()
		}
	}
	l.net.FlushOut()
	l.net.Close()
	l.snap.end()
	l.lastSnapshot()
	l.disk.Close()
	err := l.prop.Close()
	l.arena.Close()
	return err
}

// resign gives another member the time to take the lead.
func (l *loop) resign() {
	if l.prop.Err() != nil || !l.ens.member.Resign() {
		return
	}
	for until := l.nowMs + resignMs; l.ens.member.Leading() && l.nowMs < until; {
		if l.net.Wait(shutPollNs) != nil {
			return
		}
		l.tick()
		l.ens.turn()
	}
}

// resignMs bounds the wait for another leader at the end.
const resignMs = 500

// drainMember waits for what is on its way to the disk; the other members go on without this one.
func (l *loop) drainMember() {
	for l.disk.InFlight() > 0 {
		l.disk.Flush()
		if !l.reapMember() && l.net.Wait(shutPollNs) != nil {
			return
		}
		l.disk.ResetWake()
	}
}

// shutPollNs bounds one wait for the last write at the end.
const shutPollNs = 5_000_000
