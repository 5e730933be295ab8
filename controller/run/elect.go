package run

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/zk/client"
)

// elect finds out who is the active controller, and becomes it when nobody is.
func (l *loop) elect(ctx context.Context) error {
	for {
		if _, _, err := l.zk.ExistsW(ctx, pathController); err != nil {
			return err
		}
		n, err := l.zk.GetW(ctx, pathController)
		switch {
		case errors.Is(err, client.ErrNoNode):
			won, err := l.stand(ctx)
			if won || err != nil {
				return err
			}
		case err != nil:
			return err
		case n.Stat.EphemeralOwner == l.zk.SessionID(): // won by an attempt whose answer was lost
			return l.resume(ctx)
		default:
			if gone, err := l.evict(ctx, pathController, n); gone || err != nil {
				if err != nil {
					return err
				}
				continue
			}
			return l.follow(ctx, n)
		}
	}
}

// refreshOffice looks at /controller after its watch has fired, which it also does for what we wrote ourselves.
func (l *loop) refreshOffice(ctx context.Context) error {
	n, err := l.zk.GetW(ctx, pathController)
	if err == nil && l.active && n.Stat.EphemeralOwner == l.zk.SessionID() {
		return nil
	}
	if err != nil && !errors.Is(err, client.ErrNoNode) {
		return err
	}
	l.resign()
	return nil
}

// stand tries to take /controller and to raise the epoch in one step.
func (l *loop) stand(ctx context.Context) (won bool, err error) {
	epoch, version, err := l.readEpoch(ctx)
	if err != nil {
		return false, err
	}
	node := controllerNode{2, l.c.id, strconv.FormatInt(l.o.Clock.WallMs(), 10), -1}
	results, err := l.zk.Multi(ctx, client.CreateOp(pathController, encode(node), client.Ephemeral),
		client.SetOp(pathEpoch, []byte(strconv.Itoa(int(epoch)+1)), version))
	switch {
	case err == nil:
		return true, l.takeOffice(ctx, epoch+1, results[1].Stat.Version)
	case errors.Is(err, client.ErrNodeExists), errors.Is(err, client.ErrBadVersion), errors.Is(err, client.ErrUnknownOutcome):
		return false, nil // somebody was first, perhaps we ourselves: look again
	}
	return false, fmt.Errorf("run: election: %w", err)
}

func (l *loop) readEpoch(ctx context.Context) (epoch, version int32, err error) {
	n, err := l.zk.Get(ctx, pathEpoch)
	if errors.Is(err, client.ErrNoNode) {
		if err := l.zk.Ensure(ctx, pathEpoch, []byte("0")); err != nil {
			return 0, 0, err
		}
		n, err = l.zk.Get(ctx, pathEpoch)
	}
	if err != nil {
		return 0, 0, err
	}
	e, err := strconv.ParseInt(strings.TrimSpace(string(n.Data)), 10, 32)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s: %w", errBadNode, pathEpoch, err)
	}
	return int32(e), n.Stat.Version, nil
}

func (l *loop) resume(ctx context.Context) error {
	epoch, version, err := l.readEpoch(ctx)
	if err != nil {
		return err
	}
	return l.takeOffice(ctx, epoch, version)
}

// takeOffice begins our term: everything is read again, under the new fence.
func (l *loop) takeOffice(ctx context.Context, epoch, version int32) error {
	l.epoch, l.store.fence = epoch, version
	l.update(func(b *meta.Builder) { b.SetController(l.c.id, epoch) })
	feature, status := l.version.featureNode()
	node := struct {
		Features map[string]string `json:"features"`
		Version  int               `json:"version"`
		Status   int               `json:"status"`
	}{map[string]string{}, feature, status}
	if err := l.zk.Ensure(ctx, pathFeature, encode(node)); err != nil {
		return err
	}
	for _, dir := range []string{pathLogDirEvents, pathISRChanges} {
		names, err := l.zk.ChildrenW(ctx, dir)
		if err != nil {
			return err
		}
		for i := range names {
			names[i] = dir + "/" + names[i]
		}
		if err := l.store.deleteAll(ctx, names); err != nil {
			return err
		}
	}
	l.elected, l.active, l.stale.all = true, true, true
	l.c.active.Store(true)
	l.o.Log.Info("this broker is the active controller", "broker", l.c.id, "epoch", epoch)
	return nil
}

// follow accepts another broker as the active controller.
func (l *loop) follow(ctx context.Context, n client.Node) error {
	var node controllerNode
	var loose struct {
		BrokerID int32 `json:"brokerid"`
	}
	if err := decode(pathController, n.Data, &loose); err != nil {
		return err
	}
	node.BrokerID = loose.BrokerID
	epoch, _, err := l.readEpoch(ctx)
	if err != nil {
		return err
	}
	l.update(func(b *meta.Builder) { b.SetController(node.BrokerID, epoch) })
	l.elected, l.active, l.stale.all = true, false, true
	l.c.active.Store(false)
	l.o.Log.Info("another broker is the active controller", "broker", node.BrokerID, "epoch", epoch)
	return nil
}
