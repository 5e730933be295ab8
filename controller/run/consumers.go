package run

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/zk/client"
)

// ConsumerOffset is what a group of 0.8 keeps below /consumers for a partition; found is false when it has nothing there. Such groups are
// their consumers' own: no broker reads what else they keep.
func (c *Controller) ConsumerOffset(ctx context.Context, group, topic string, partition int32) (offset int64, found bool, err error) {
	if strings.Contains(group, "/") || group == "" {
		return 0, false, ErrInvalidRequest
	}
	n, err := c.zk.Get(ctx, pathConsumerOffset(group, topic, partition))
	if errors.Is(err, client.ErrNoNode) || (err == nil && len(n.Data) == 0) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	offset, err = strconv.ParseInt(string(n.Data), 10, 64)
	return offset, err == nil, err
}

// SetConsumerOffset keeps an offset below /consumers, as version 0 of OffsetCommit asks for.
func (c *Controller) SetConsumerOffset(ctx context.Context, group, topic string, partition int32, offset int64) error {
	if strings.Contains(group, "/") || group == "" {
		return ErrInvalidRequest
	}
	path, data := pathConsumerOffset(group, topic, partition), strconv.AppendInt(nil, offset, 10)
	_, err := c.zk.Set(ctx, path, data, client.AnyVersion)
	if !errors.Is(err, client.ErrNoNode) {
		return err
	}
	if err := c.zk.Ensure(ctx, path[:strings.LastIndexByte(path, '/')], nil); err != nil {
		return err
	}
	if _, err = c.zk.Create(ctx, path, data, client.Persistent); errors.Is(err, client.ErrNodeExists) {
		_, err = c.zk.Set(ctx, path, data, client.AnyVersion)
	}
	return err
}
