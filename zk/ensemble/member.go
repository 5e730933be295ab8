package ensemble

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/tree"
	"github.com/pelton-broker/pelton/zk/txnlog"
)

// Member is a Core on disk and network, driven by the loop of a server.
type Member struct {
	*Core
	cfg     Config
	fs      disk.FS
	log     *slog.Logger
	snapDir string
	wal     *WAL
	state   State
	// proposed is a secret for session passwords, where no key is shared.
	proposed []byte
	txns     *txnlog.Log
	links    *Links
	sink     Sink
	spool    *spool
	written  int64 // the version of the configuration that is in the file; 0 before any
	queue    []*Persist
	// trimAt is the zxid that the transaction log must have on disk before the raft log's older files may go; 0 when none wait.
	trimAt int64
	err    error
}

// Open reads the raft log beside the transaction logs and listens for the other members.
func Open(cfg Config, fs disk.FS, snapDir, dataLogDir string, rec *txnlog.Recovered, random io.Reader, log *slog.Logger) (*Member, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if cfg.KeepEntries == 0 {
		cfg.KeepEntries = keepEntries
	}
	if cfg.Mutual && (cfg.TLS == nil || !cfg.TLS.Mutual) {
		return nil, fmt.Errorf("%w: without a key the links must be covered by TLS with a certificate at both ends", ErrConfig)
	}
	m := &Member{cfg: cfg, fs: fs, log: log, snapDir: snapDir, spool: newSpool(fs, snapDir, log)}
	var fresh bool
	var err error
	if cfg.Mutual {
		m.proposed = make([]byte, secretSize)
		if _, err := io.ReadFull(random, m.proposed); err != nil {
			return nil, fmt.Errorf("zk/ensemble: secret for session passwords: %w", err)
		}
	}
	if m.wal, m.state, fresh, err = readWAL(fs, dataLogDir+"/"+walDir); err != nil {
		return nil, err
	}
	if fresh {
		m.state = State{Base: firstBase(cfg.Servers, rec.Zxid)}
		m.state.Hard = &pb.HardState{Term: &m.state.Base.Term, Vote: new(uint64), Commit: &m.state.Base.Index}
	}
	if rec.Zxid < m.state.Base.Zxid {
		return nil, fmt.Errorf("%w: 0x%x and 0x%x", ErrBehind, rec.Zxid, m.state.Base.Zxid)
	}
	host := cfg.Me().Host
	if cfg.ListenOnAllIPs {
		host = ""
	}
	stall := int64(electionTicks) * cfg.raftTickMs() * 2
	if m.links, err = newLinks(raftID(cfg.MyID), net.JoinHostPort(host, strconv.Itoa(cfg.Me().Peer)), cfg.Key, cfg.TLS, stall, random, log); err != nil {
		return nil, fmt.Errorf("zk/ensemble: peer port: %w", err)
	}
	peers := map[uint64]string{}
	for _, s := range cfg.Servers {
		peers[raftID(s.ID)] = s.PeerAddr()
	}
	m.links.SetPeers(peers)
	return m, nil
}

// firstBase is where the log of a member begins that has none. A directory that comes from a server alone, or from
// Apache's, has transactions already: the index is their zxid, so that whoever has more of them has the longer log, and
// terms begin behind their epoch.
func firstBase(servers []Server, zxid int64) Base {
	conf := &pb.ConfState{}
	for _, s := range servers {
		if s.Observer {
			conf.Learners = append(conf.Learners, raftID(s.ID))
		} else {
			conf.Voters = append(conf.Voters, raftID(s.ID))
		}
	}
	return Base{Index: uint64(zxid) + 1, Term: uint64(zxid>>32) + 1, Zxid: zxid, Conf: conf}
}

// Start builds the Core on the loop that will drive it.
func (m *Member) Start(o Options, d disk.Disk, txns *txnlog.Log, wake func()) error {
	m.sink, m.txns = o.Sink, txns
	txns.Lazy()
	tick := m.cfg.raftTickMs()
	o.ID, o.State, o.Sink = raftID(m.cfg.MyID), m.state, m
	o.TickMs, o.ElectionTicks, o.HeartbeatTicks = tick, electionTicks, heartbeatTicks
	o.SessionTickMs, o.SyncLimitMs = int64(m.cfg.TickTimeMs), int64(m.cfg.TickTimeMs*m.cfg.SyncLimit)
	o.Servers, o.ReconfigEnabled, o.StandaloneOff, o.KeepEntries = m.cfg.Servers, m.cfg.ReconfigEnabled, m.cfg.StandaloneOff, m.cfg.KeepEntries
	o.Log = m.log
	o.Secret = m.proposed
	m.wal.attach(d, func(p *Persist) { m.Core.Persisted(p) })
	// The log goes on in a file of its own: what is behind a torn tail must not be written over.
	kind := byte(recMark)
	if m.wal.file == 0 {
		kind = recBase
	}
	if err := m.wal.Roll(kind, m.state.Base, m.state.Hard, m.state.Entries); err != nil {
		return err
	}
	if kind == recMark {
		m.trimAt = m.state.Base.Zxid // all of it is in the new file
	}
	var err error
	if m.Core, err = NewCore(o); err != nil {
		return err
	}
	m.links.SetWake(wake)
	m.spool.setWake(wake)
	m.setPeers()
	return nil
}

func (m *Member) setPeers() {
	m.Core.bookChanged = false
	peers := map[uint64]string{}
	for id, s := range m.Core.book {
		peers[id] = s.PeerAddr()
	}
	m.links.SetPeers(peers)
}

// Turn takes what came, lets time pass, and sends and writes what follows from it.
func (m *Member) Turn(nowMs, wallMs int64) {
	for _, in := range m.links.Take() {
		if in.Body == nil {
			m.Core.LinkDown(in.From)
		} else {
			m.Core.Receive(in.From, in.Body)
		}
	}
	m.spool.turn(m.Core)
	m.Core.Turn(nowMs, wallMs)
	m.flush()
}

// flush sends and writes.
func (m *Member) flush() {
	for _, p := range m.Core.Packets() {
		m.links.Send(p)
	}
	for _, p := range m.Core.Pieces() {
		m.spool.put(p)
	}
	m.queue = append(m.queue, m.Core.Persists()...)
	for len(m.queue) > 0 {
		p := m.queue[0]
		if p.Install != nil {
			if m.wal.busy || len(m.wal.waiting) > 0 || !m.txns.Idle() {
				m.wal.urgent = m.wal.urgent || len(m.wal.waiting) > 0
				break
			}
			if m.err = m.install(p); m.err != nil {
				return
			}
		} else {
			m.wal.Append(p)
		}
		m.queue = m.queue[1:]
	}
	if m.Core.bookChanged {
		m.setPeers()
		m.writeServers()
	}
	m.roll()
	m.wal.Turn()
	m.txns.Turn()
}

// install puts a state that came from the leader on disk: first the snapshot, then the raft log that begins behind it.
// Between the two the tree is ahead of the log, which Open and Core.apply allow for.
func (m *Member) install(p *Persist) error {
	if err := m.spool.publish(p.Install.Stream); err != nil {
		return err
	}
	hard := p.Hard
	if hard == nil {
		_, hard = m.Core.Tail()
	}
	if err := m.wal.Roll(recBase, p.Install.Base, hard, p.Entries); err != nil {
		return err
	}
	m.trimAt = 0
	m.txns.Reset(p.Install.Base.Zxid)
	m.Core.Persisted(p)
	return nil
}

// roll begins a new file of the raft log when the old one is large, and lets older ones go when the transaction log
// has everything that only they hold.
func (m *Member) roll() {
	if m.err != nil {
		return
	}
	if m.trimAt != 0 && m.txns.Durable() >= m.trimAt {
		m.trimAt = 0
		m.err = m.wal.Trim()
		return
	}
	if m.trimAt != 0 || !m.wal.Full() {
		return
	}
	base, err := m.Core.Base()
	if err != nil {
		return
	}
	entries, hard := m.Core.Tail()
	if m.err = m.wal.Roll(recMark, base, hard, entries); m.err == nil {
		m.trimAt = base.Zxid
		m.txns.Sync()
	}
}

// OnDisk takes a completed operation of one of the logs; false when it is somebody else's.
func (m *Member) OnDisk(op *disk.Op) {
	if op.Owner == any(m.wal) {
		m.wal.OnDisk(op)
		return
	}
	m.txns.OnDisk(op)
}

// Idle is true when everything is written.
func (m *Member) Idle() bool { return !m.wal.busy && m.txns.Idle() }

// Err is what ended the member.
func (m *Member) Err() error {
	switch {
	case m.err != nil:
		return m.err
	case m.wal.Err() != nil:
		return m.wal.Err()
	}
	return m.txns.Err()
}

// Roll begins a new file of the transaction log: a snapshot is on its way.
func (m *Member) Roll() { m.txns.Roll() }

// Close ends the links and closes the logs; nothing may be in flight.
func (m *Member) Close() error {
	m.links.Close()
	m.spool.close()
	if m.wal.busy {
		return m.txns.Close()
	}
	err := m.wal.Close()
	if cerr := m.txns.Close(); err == nil {
		err = cerr
	}
	return err
}

// Abandon ends a member that was opened and not started.
func (m *Member) Abandon() { m.links.Close() }

// Applied implements Sink: the transaction goes to the transaction log too.
func (m *Member) Applied(x *tree.Txn, res *tree.Result, n int64) {
	m.txns.Append(x)
	m.sink.Applied(x, res, n)
}

// Resumed implements Sink.
func (m *Member) Resumed(n int64, ok bool) { m.sink.Resumed(n, ok) }

// Synced implements Sink.
func (m *Member) Synced(id int64) { m.sink.Synced(id) }

// Lost implements Sink.
func (m *Member) Lost() { m.sink.Lost() }

// Serving implements Sink.
func (m *Member) Serving(on bool) { m.sink.Serving(on) }

// Moved implements Sink.
func (m *Member) Moved(session int64) { m.sink.Moved(session) }

// Secret implements Sink.
func (m *Member) Secret(secret []byte) { m.sink.Secret(secret) }

// Agreed is the secret that the ensemble has agreed on; nil before.
func (m *Member) Agreed() []byte { return m.Core.Secret() }

// Replaced implements Sink.
func (m *Member) Replaced() { m.sink.Replaced() }
