package broker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/reactor/api"
	"github.com/pelton-broker/pelton/zk/client"
	"github.com/pelton-broker/pelton/zk/server"
)

// Broker is a running broker with everything below it.
type Broker struct {
	config *config.Broker
	log    *slog.Logger
	fs     disk.FS // of the log directories
	clock  clock.Clock
	shards int

	zk        *server.Server // nil with an outside ZooKeeper
	logs      *logstore.Manager
	perf      *perf.Registry
	server    *reactor.Server
	api       *api.Broker
	prepared  *run.Prepared
	cluster   *run.Controller
	session   sessionFile
	listeners []*netpoll.Listener
	admin     *admin
	group     *task.Group // everything that ends before the shards do
	base      *task.Group // pools that the shards' last work still needs

	unclaimed []logstore.TopicPartition
	adopted   []AdoptedTopic
	dryRun    bool // of an adoption

	connections *netpoll.Limiter
	probe       disk.Probe
	probeOnce   sync.Once
	failed      chan error
	dirFailures chan string // with room for every directory
	started     int64
	tookMs      int64
}

// newBroker is a broker of which nothing runs yet.
func newBroker(c *config.Broker, log *slog.Logger) *Broker {
	b := &Broker{config: c, log: log, fs: disk.OS(), clock: clock.NewReal(), shards: c.Int("num.shards"), group: task.NewGroup(), base: task.NewGroup(), failed: make(chan error, 8),
		dirFailures: make(chan string, len(c.LogDirs()))}
	b.started = b.clock.Mono()
	if b.shards == 0 {
		b.shards = max(1, len(netpoll.UsableCPUs()))
	}
	return b
}

// Start builds a broker and returns when it serves; after a crash some partitions may still be recovered then. The error names what is in the way; nothing is left running then.
func Start(ctx context.Context, c *config.Broker, log *slog.Logger) (*Broker, error) {
	return newBroker(c, log).begin(ctx)
}

func (b *Broker) begin(ctx context.Context) (*Broker, error) {
	if err := b.start(ctx); err != nil {
		b.abandon()
		return nil, err
	}
	b.tookMs = (b.clock.Mono() - b.started) / 1e6
	return b, nil
}

func (b *Broker) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{b.checkKnobs, b.openLogs, b.startCoordination, b.prepare, b.startShards, b.listen, b.join, b.adopt, b.serve} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// openLogs locks the log directories and reads what they say about themselves.
func (b *Broker) openLogs(context.Context) error {
	m, err := logstore.OpenManager(logstore.ManagerOptions{
		Dirs: b.config.LogDirs(), FS: b.fs, Clock: b.clock, BrokerID: b.config.BrokerID(),
		RecoveryThreads: b.config.Int("num.recovery.threads.per.data.dir"), Log: b.log,
		Pause:        func(ns int64) { time.Sleep(time.Duration(ns)) },
		OnDirOffline: b.dirFailed,
	})
	b.logs = m
	return err
}

// startCoordination starts the embedded ZooKeeper unless one is configured.
func (b *Broker) startCoordination(context.Context) error {
	if b.config.Str("zookeeper.connect") != "" {
		return nil
	}
	dir := b.coordinationDir()
	listen := b.config.Str("pelton.zookeeper.listen")
	if listen == "off" {
		return errors.New("zookeeper.connect is not set and the embedded server is switched off: give one of the two")
	}
	s, err := server.Start(server.Options{DataDir: dir, ClientAddr: listen, Embedded: true, FS: disk.OS(), Clock: b.clock, Log: b.log,
		Fatal: func(err error) { b.fatal(fmt.Errorf("embedded coordination: %w", err)) }})
	if err != nil {
		return fmt.Errorf("embedded coordination: %w", err)
	}
	b.zk = s
	return nil
}

// coordinationDir is where the embedded coordination keeps its data.
func (b *Broker) coordinationDir() string {
	if dir := b.config.Str("pelton.zookeeper.data.dir"); dir != "" {
		return dir
	}
	return filepath.Join(filepath.Dir(b.config.LogDirs()[0]), "zookeeper")
}

// prepare opens the session with coordination and learns the ids of the cluster and of this broker.
func (b *Broker) prepare(ctx context.Context) error {
	c := b.config
	connect := c.Str("zookeeper.connect")
	if b.zk != nil {
		connect = b.zk.Addr().String()
	}
	b.session = sessionFile{fs: disk.OS(), path: filepath.Join(c.LogDirs()[0], sessionFileName), log: b.log}
	o := run.Options{
		ZK: client.Options{Connect: connect, SessionTimeout: time.Duration(c.Ms("zookeeper.session.timeout.ms")) * time.Millisecond,
			ConnectionTimeout: time.Duration(c.ZooKeeperConnectTimeoutMs()) * time.Millisecond, SetACL: c.Bool("zookeeper.set.acl"), Log: b.log},
		BrokerID: b.givenID(), ClusterID: b.logs.ClusterID(), TakeClusterID: b.zk != nil || c.Bool("pelton.log.adopt"), GenerateID: c.Bool("broker.id.generation.enable"), ReservedMax: int32(c.Int("reserved.broker.max.id")),
		IBP: c.Str("inter.broker.protocol.version"), PreviousSession: b.session.read(),
		DefaultPartitions: int32(c.Int("num.partitions")), DefaultReplicationFactor: int32(c.Int("default.replication.factor")),
		DeleteTopicsDisabled: !c.Bool("delete.topic.enable"), UncleanElection: c.Bool("unclean.leader.election.enable"),
		CheckTopicConfig:  c.ValidateTopic,
		CheckNewTopic:     b.checkNewTopic,
		CheckBrokerConfig: func(id *int32, set map[string]string) error { return c.ValidateBroker(set, id != nil) },
		OnSessionLost:     func() { b.log.Warn("the session with coordination has expired; registering anew") },
		Fatal:             b.fatal, Clock: b.clock, Random: rand.Reader, Log: b.log,
	}
	if rack := c.Str("broker.rack"); rack != "" {
		o.Rack = &rack
	}
	prepared, err := run.Prepare(ctx, o, b.group)
	if err != nil {
		return b.identityError(fmt.Errorf("joining the cluster at %s: %w", connect, err))
	}
	b.prepared = prepared
	return b.logs.Identify(b.id(), prepared.ClusterID)
}

// givenID is the id in the configuration or, without one there, in meta.properties. A broker with its own coordination is alone, so it needs
// no generated one.
func (b *Broker) givenID() int32 {
	if id := b.logs.BrokerID(); id >= 0 || b.zk == nil {
		return id
	}
	return 0
}

// checkNewTopic keeps a new topic out of the directories of an earlier one.
func (b *Broker) checkNewTopic(name string) error {
	if path := b.logs.UnclaimedPath(name); path != "" {
		return fmt.Errorf("%w: %s", logstore.ErrUnclaimed, path)
	}
	return nil
}

// startShards starts the loops; they have no connection yet.
func (b *Broker) startShards(context.Context) error {
	b.perf = perf.NewRegistry(b.shards)
	b.api = api.NewBroker(api.Parts{Config: b.config, Derive: derive(b.id(), batch.NewCodecs(), b.shards), Logs: b.logs, Perf: b.perf,
		Group: b.base, Clock: b.clock, Log: b.log, After: func(ns int64) <-chan time.Time { return time.After(time.Duration(ns)) }})
	b.server = reactor.New(b.reactorOptions(b.config, b.limiter()), b.api)
	b.api.Bind(b.server)
	return b.server.Start()
}

// id is the broker's id, given or generated.
func (b *Broker) id() int32 { return b.prepared.BrokerID }

// listen takes the ports, so that free ones are known before they are advertised; nobody is accepted yet.
func (b *Broker) listen(context.Context) error {
	for _, l := range b.config.Listeners() {
		host := l.Host
		if host == "" {
			host = "0.0.0.0"
		}
		addr := net.JoinHostPort(host, strconv.Itoa(l.Port))
		nl, err := netpoll.Listen(addr, netpoll.ListenOptions{Limiter: b.limiter(), Socket: socketOptions(b.config)})
		if err != nil {
			return fmt.Errorf("listener %s on %s: %w", l.Name, addr, err)
		}
		b.listeners = append(b.listeners, nl)
	}
	return nil
}

// endpoints are the advertised listeners with the ports that were taken.
func (b *Broker) endpoints() []meta.Endpoint {
	ports := map[string]int{}
	for i, l := range b.config.Listeners() {
		if i < len(b.listeners) {
			ports[l.Name] = int(b.listeners[i].Addr().Port())
		}
	}
	var out []meta.Endpoint
	for _, l := range b.config.Advertised() {
		host, port := l.Host, l.Port
		if host == "" || host == "0.0.0.0" {
			host = hostname()
		}
		if port == 0 {
			port = ports[l.Name]
		}
		out = append(out, meta.Endpoint{Listener: l.Name, Host: host, Port: int32(port), Protocol: l.Protocol})
	}
	return out
}

// join registers with the cluster; it returns when the partitions that are ours are open.
func (b *Broker) join(ctx context.Context) error {
	b.prepared.Options.Endpoints, b.prepared.Options.Publish, b.prepared.Options.Lost = b.endpoints(), b.api.Publish, b.api.Lost
	b.prepared.Options.OnSession = b.session.write
	cluster, err := b.prepared.Start(ctx)
	if err != nil {
		return fmt.Errorf("joining the cluster: %w", err)
	}
	b.cluster = cluster
	b.api.Join(cluster)
	return b.renewEpochs(ctx)
}

// renewEpochs begins a new leader epoch for each log that came back shorter than it was, before the first client can write to it.
func (b *Broker) renewEpochs(ctx context.Context) error {
	shortened := b.api.Shortened()
	if len(shortened) == 0 {
		return nil
	}
	err := b.cluster.RaiseLeaderEpochs(ctx, shortened)
	if errors.Is(err, run.ErrNotController) {
		return nil // the cluster has another controller, and it elects
	}
	if err != nil {
		return fmt.Errorf("new leader epochs for logs that lost their end: %w", err)
	}
	return nil
}

// serve opens the doors.
func (b *Broker) serve(context.Context) error {
	for _, l := range b.listeners {
		b.server.Serve(l)
	}
	b.group.Go("checkpoint", b.checkpoints)
	b.group.Go("log-dirs", b.watchDirs)
	b.group.Go("recovered", b.api.AttachRecovered)
	b.exportCounters()
	return b.serveAdmin()
}

// checkpoints writes the checkpoint files at their beat.
func (b *Broker) checkpoints(ctx context.Context) {
	every := time.Duration(b.config.Ms("log.flush.offset.checkpoint.interval.ms")) * time.Millisecond
	for tick := time.NewTicker(every); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			b.logs.Sweep()
			if err := b.logs.Checkpoint(); err != nil {
				b.log.Error("checkpoint", "err", err.Error())
			}
		}
	}
}

// fatal ends the broker; the first cause counts.
func (b *Broker) fatal(err error) {
	select {
	case b.failed <- err:
	default:
	}
}

// Fatal yields the error after which the broker must end.
func (b *Broker) Fatal() <-chan error { return b.failed }

// Stop takes the broker down in the order that loses nothing: no new requests, registration given up, shards drained, logs closed
// cleanly, coordination last. Errors are joined; a clean stop lets the next start skip recovery.
func (b *Broker) Stop(ctx context.Context) error {
	var errs []error
	if b.admin != nil {
		b.admin.stop()
	}
	for _, l := range b.listeners {
		l.Close()
	}
	switch {
	case b.cluster != nil:
		errs = append(errs, b.cluster.Close(ctx))
	case b.prepared != nil:
		b.prepared.Close()
	}
	b.group.Stop()
	if b.logs != nil {
		b.logs.Halt()
	}
	if b.server != nil {
		b.server.Stop()
		b.api.ShardsStopped()
	}
	b.base.Stop()
	if b.logs != nil {
		errs = append(errs, b.logs.CloseClean())
	}
	if b.zk != nil {
		errs = append(errs, b.zk.Stop())
	}
	return errors.Join(errs...)
}

// abandon takes down what a start that failed has built.
func (b *Broker) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := b.Stop(ctx); err != nil {
		b.log.Warn("while giving up the start", "err", err.Error())
	}
}

// Addr is where a listener takes connections.
func (b *Broker) Addr() netip.AddrPort { return b.listeners[0].Addr() }
