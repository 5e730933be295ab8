package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/zk/client"
)

// changeKept is how long a change notification stays for brokers that are slow to look.
const changeKept = 15 * time.Minute

// refreshChanges reads the entities that new change notifications name, and removes old notifications.
func (l *loop) refreshChanges(ctx context.Context) error {
	names, err := l.zk.ChildrenW(ctx, pathConfigChanges)
	if err != nil {
		return err
	}
	slices.SortFunc(names, func(a, b string) int { return int(changeNumber(a) - changeNumber(b)) })
	for _, name := range names {
		number := changeNumber(name)
		if number < 0 {
			continue
		}
		path := pathConfigChanges + "/" + name
		n, err := l.zk.Get(ctx, path)
		if errors.Is(err, client.ErrNoNode) {
			continue
		}
		if err != nil {
			return err
		}
		if number > l.change {
			if err := l.applyChange(ctx, path, n.Data); err != nil {
				return err
			}
			l.change = number
			continue
		}
		if l.o.Clock.WallMs()-n.Stat.CtimeMs > changeKept.Milliseconds() {
			if err := l.zk.Delete(ctx, path, client.AnyVersion); err != nil && !errors.Is(err, client.ErrNoNode) {
				return err
			}
		}
	}
	return nil
}

func (l *loop) applyChange(ctx context.Context, path string, data []byte) error {
	kind, name, err := decodeChange(path, data)
	if err != nil {
		l.o.Log.Warn("a change notification cannot be read and is skipped", "err", err)
		return nil
	}
	switch {
	case kind == "topics" && !strings.Contains(name, "/"):
		set, err := l.readConfig(ctx, pathTopicConfig(name))
		if err != nil {
			return err
		}
		return l.topicConfig(ctx, name, set)
	case kind == "brokers":
		return l.readBrokerConfig(ctx, name)
	case kind == "users" || kind == "clients" || kind == "ips":
		return l.quotaChanged(ctx, kind, name)
	}
	return nil
}
