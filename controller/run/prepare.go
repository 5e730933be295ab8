package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/zk/client"
)

const (
	defaultReservedMax = 1000
	defaultRetryEvery  = time.Second
)

// Prepared is a broker that has a session, a cluster id and a broker id but is not registered: the time to open the log
// directories, which need both ids, and to fill in the Options that only then are known.
type Prepared struct {
	Options   *Options // may be changed until Start
	ClusterID string
	BrokerID  int32

	version ibp
	group   *task.Group
	inbox   *inbox
	zk      *client.Client
}

// Prepare connects, makes the root znodes and finds out the ids.
func Prepare(ctx context.Context, o Options, group *task.Group) (*Prepared, error) {
	version, err := parseIBP(o.IBP)
	if err != nil {
		return nil, err
	}
	if o.Random == nil {
		return nil, errors.New("run: Options.Random is missing")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.Clock == nil {
		o.Clock = clock.NewReal()
	}
	if o.RetryEvery <= 0 {
		o.RetryEvery = defaultRetryEvery
	}
	if o.ReservedMax == 0 {
		o.ReservedMax = defaultReservedMax
	}
	if o.DefaultPartitions == 0 {
		o.DefaultPartitions = 1
	}
	if o.DefaultReplicationFactor == 0 {
		o.DefaultReplicationFactor = 1
	}
	o.Random = &lockedReader{r: o.Random}
	p := &Prepared{Options: &o, version: version, group: group, inbox: newInbox(), BrokerID: o.BrokerID}
	o.ZK.OnEvent = p.inbox.event
	if o.ZK.Log == nil {
		o.ZK.Log = o.Log
	}
	if p.zk, err = client.Open(ctx, o.ZK, group); err != nil {
		return nil, err
	}
	if err := p.prepare(ctx); err != nil {
		p.zk.Close()
		return nil, err
	}
	return p, nil
}

func (p *Prepared) prepare(ctx context.Context) error {
	if p.Options.OnSession != nil {
		p.Options.OnSession(p.zk.SessionID())
	}
	for _, path := range rootPaths() {
		if err := p.zk.Ensure(ctx, path, nil); err != nil {
			return fmt.Errorf("run: %s: %w", path, err)
		}
	}
	if err := p.clusterID(ctx); err != nil {
		return err
	}
	if p.BrokerID >= 0 {
		return nil
	}
	if !p.Options.GenerateID {
		return errors.New("run: broker.id is -1 and broker.id.generation.enable is off")
	}
	// The version that an unconditional write leaves is a number that nobody else was given.
	st, err := p.zk.Set(ctx, pathBrokerSeqID, []byte{}, client.AnyVersion)
	if err != nil {
		return fmt.Errorf("run: %s: %w", pathBrokerSeqID, err)
	}
	p.BrokerID = p.Options.ReservedMax + st.Version
	return nil
}

func (p *Prepared) clusterID(ctx context.Context) error {
	var node struct {
		Version string `json:"version"`
		ID      string `json:"id"`
	}
	n, err := p.zk.Get(ctx, pathClusterID)
	if errors.Is(err, client.ErrNoNode) {
		if p.Options.ClusterID != "" && !p.Options.TakeClusterID {
			return fmt.Errorf("%w: the data is of cluster %s, and this ZooKeeper holds no cluster", ErrClusterIDMismatch, p.Options.ClusterID)
		}
		if node.Version, node.ID = "1", p.Options.ClusterID; node.ID == "" {
			id, rerr := randomID(p.Options.Random)
			if rerr != nil {
				return rerr
			}
			node.ID = id.String()
		}
		if err := p.zk.Ensure(ctx, pathClusterID, encode(node)); err != nil {
			return fmt.Errorf("run: %s: %w", pathClusterID, err)
		}
		n, err = p.zk.Get(ctx, pathClusterID) // another broker may have been first
	}
	if err != nil {
		return fmt.Errorf("run: %s: %w", pathClusterID, err)
	}
	if err := decode(pathClusterID, n.Data, &node); err != nil {
		return err
	}
	if want := p.Options.ClusterID; want != "" && want != node.ID {
		return fmt.Errorf("%w: the data is of cluster %s, ZooKeeper holds %s", ErrClusterIDMismatch, want, node.ID)
	}
	p.ClusterID = node.ID
	return nil
}

// lockedReader lets the requests that are in flight together share one source.
type lockedReader struct {
	mu sync.Mutex
	r  io.Reader
}

// Read implements io.Reader.
func (l *lockedReader) Read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(b)
}

// randomID is a fresh topic or cluster id: none that starts with a dash, which command lines take for a flag.
func randomID(random io.Reader) (meta.ID, error) {
	for {
		var b [16]byte
		if _, err := io.ReadFull(random, b[:]); err != nil {
			return meta.ID{}, fmt.Errorf("run: no randomness: %w", err)
		}
		if id := meta.UUID(b); id.String()[0] != '-' {
			return id, nil
		}
	}
}

// Close ends the session of a Prepared that was not started.
func (p *Prepared) Close() { p.zk.Close() }

// Start registers, takes part in the election, loads the cluster and publishes the first image; it returns when that
// image's Publish has returned.
func (p *Prepared) Start(ctx context.Context) (*Controller, error) {
	p.Options.BrokerID = p.BrokerID
	c := &Controller{inbox: p.inbox, id: p.BrokerID, cluster: p.ClusterID, zk: p.zk, over: make(chan struct{})}
	l := newLoop(c, p)
	ready := make(chan error, 1)
	if !p.group.Go("controller", func(gctx context.Context) { l.run(gctx, ctx, ready) }) {
		p.zk.Close()
		return nil, ErrClosed
	}
	if err := <-ready; err != nil {
		<-c.over
		return nil, err
	}
	return c, nil
}
