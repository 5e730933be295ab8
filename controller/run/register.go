package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/zk/client"
)

const (
	probeTimeout = time.Second
	// waitSlack is added to the session timeout while we wait for a dead process's registration to go.
	waitSlack = 3 * time.Second
)

// register puts us into /brokers/ids; the znode's czxid is the broker epoch.
func (l *loop) register(ctx context.Context) error {
	if l.o.OnSession != nil {
		l.o.OnSession(l.zk.SessionID())
	}
	path := pathBroker(l.c.id)
	deadline := l.o.Clock.Mono() + int64(l.zk.SessionTimeout()+waitSlack)
	for said := false; ; {
		data := encodeBroker(l.o, l.version, l.o.Clock.WallMs())
		results, err := l.zk.Multi(ctx, client.CreateOp(path, nil, client.Ephemeral), client.SetOp(path, data, 0))
		if err == nil {
			l.registeredAs(results[1].Stat.Czxid)
			return nil
		}
		if !errors.Is(err, client.ErrNodeExists) && !errors.Is(err, client.ErrUnknownOutcome) {
			return fmt.Errorf("run: %s: %w", path, err)
		}
		n, err := l.zk.Get(ctx, path)
		if errors.Is(err, client.ErrNoNode) {
			continue
		}
		if err != nil {
			return err
		}
		if n.Stat.EphemeralOwner == l.zk.SessionID() { // our own, from an attempt whose answer was lost
			l.registeredAs(n.Stat.Czxid)
			return nil
		}
		if gone, err := l.evict(ctx, path, n); gone || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if err := l.mayWait(ctx, n, deadline); err != nil {
			return err
		}
		if !said {
			said = true
			l.o.Log.Warn("a registration of our id is left from a process that has ended; waiting for its session to expire",
				"broker", l.c.id, "took", l.zk.SessionTimeout())
		}
		if err := pause(ctx, min(l.o.RetryEvery, 200*time.Millisecond)); err != nil {
			return err
		}
	}
}

func (l *loop) registeredAs(epoch int64) {
	l.registered = true
	l.c.epoch.Store(epoch)
	l.o.Log.Info("registered", "broker", l.c.id, "epoch", epoch)
}

// evict removes an ephemeral of the session that the last process on our data directory had: that process is dead, since
// we hold the directory's lock, and nothing is gained by waiting for its session to time out.
func (l *loop) evict(ctx context.Context, path string, n client.Node) (bool, error) {
	if l.o.PreviousSession == 0 || n.Stat.EphemeralOwner != l.o.PreviousSession {
		return false, nil
	}
	err := l.zk.Delete(ctx, path, client.AnyVersion)
	if errors.Is(err, client.ErrNoNode) {
		err = nil
	}
	return err == nil, err
}

// mayWait tells a leftover from a live broker with our id: a leftover has our own endpoints, which we hold now, or
// endpoints where nobody answers.
func (l *loop) mayWait(ctx context.Context, n client.Node, deadline int64) error {
	taken := func(why string, endpoints []meta.Endpoint) error {
		return fmt.Errorf("%w: broker.id=%d is registered with %v, %s; give every broker an id of its own",
			ErrBrokerIDTaken, l.c.id, endpoints, why)
	}
	b, err := decodeBroker(pathBroker(l.c.id), l.c.id, n.Data, n.Stat.Czxid)
	if err != nil {
		b = &meta.Broker{} // half written: whoever began it has died or will go on
	}
	if l.o.Clock.Mono() >= deadline {
		return taken("and its session has outlived its timeout", b.Endpoints)
	}
	if sameEndpoints(b.Endpoints, l.o.Endpoints) {
		return nil
	}
	for _, e := range b.Endpoints {
		if l.somebodyAt(ctx, e) {
			return taken("and answers there", b.Endpoints)
		}
	}
	return nil
}

func (l *loop) somebodyAt(ctx context.Context, e meta.Endpoint) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
