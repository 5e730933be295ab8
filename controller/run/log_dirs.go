package run

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/plan"
	"github.com/pelton-broker/pelton/zk/client"
)

// logDirEventPrefix begins the names of the znodes that tell of failed log directories.
const logDirEventPrefix = "log_dir_event_"

// logDirEvent is such a znode: any broker makes it, the active controller removes it.
type logDirEvent struct {
	Version int   `json:"version"`
	Broker  int32 `json:"broker"`
	Event   int   `json:"event"`
}

// ReportLogDirFailure tells the active controller, whoever that is, that a log directory of this broker has failed: it will ask for the
// partitions that are lost by that.
func (c *Controller) ReportLogDirFailure(ctx context.Context) error {
	return c.carry(&command{ctx: ctx, done: make(chan error, 1), anyMember: true, run: func(ctx context.Context) error {
		path, err := c.zk.Create(ctx, pathLogDirEvents+"/"+logDirEventPrefix, encode(logDirEvent{1, c.id, 1}), client.Sequential)
		if err == nil {
			c.loop.o.Log.Info("the failure of a log directory was reported", "path", path)
		}
		return err
	}})
}

// LookAgain has the active controller ask again which partitions cannot be served here, when that is this broker.
func (c *Controller) LookAgain(ctx context.Context) error {
	return c.carry(&command{ctx: ctx, done: make(chan error, 1), anyMember: true, run: func(context.Context) error {
		c.loop.ask = true
		return nil
	}})
}

// refreshDirs takes the reports of failed log directories away; which partitions are lost, the brokers that made them are asked.
func (l *loop) refreshDirs(ctx context.Context) error {
	names, err := l.zk.ChildrenW(ctx, pathLogDirEvents)
	if err != nil || !l.active {
		return err
	}
	for i, name := range names {
		names[i] = pathLogDirEvents + "/" + name
		n, err := l.zk.Get(ctx, names[i])
		if errors.Is(err, client.ErrNoNode) {
			continue
		}
		if err != nil {
			return err
		}
		var event logDirEvent
		switch err := decode(names[i], n.Data, &event); {
		case err != nil:
			l.o.Log.Warn("a report of a failed log directory cannot be read and is dropped", "err", err)
		case event.Broker != l.c.id:
			l.o.Log.Warn("a broker that cannot be asked reports a failed log directory; its partitions keep their leaders", "broker", event.Broker)
		default:
			l.ask = true
		}
	}
	return l.store.deleteAll(ctx, names)
}

// settleLost asks which partitions cannot be served here and has their states follow, as those of a dead broker would: the last member stays
// in the ISR, nobody leads, and the epoch rises. They come back when the broker can serve them again, which a failed directory takes a
// restart for.
func (l *loop) settleLost(ctx context.Context) error {
	for l.ask && l.active && l.o.Lost != nil {
		l.ask = false
		lost := l.o.Lost()
		if maps.EqualFunc(l.lost, lost, slices.Equal[[]int32]) {
			return nil
		}
		l.lost = lost
		l.o.Log.Warn("the partitions that this broker cannot serve have changed", "broker", l.c.id, "topics", len(lost))
		if err := l.repair(ctx, l.cur.TopicNames); err != nil {
			return err
		}
		l.publish() // opening may have found more
	}
	return nil
}

// online tells which brokers can serve a partition: those that are alive, and this one only when it has its log.
func (l *loop) online(topic string, partition int32) func(id int32) bool {
	if !slices.Contains(l.lost[topic], partition) {
		return l.live
	}
	return func(id int32) bool { return id != l.c.id && l.live(id) }
}

func (l *loop) deletable(t *meta.Topic) bool {
	return plan.Deletable(t, func(partition int32) func(int32) bool { return l.online(t.Name, partition) })
}
