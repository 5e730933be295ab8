package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/pelton-broker/pelton/zk/client"
)

// producerBlock is how many ids one allocation reserves, as in Kafka.
const producerBlock = 1000

// allocateProducerIDs takes the block after the last one, by compare-and-set: whoever loses reads again.
func (l *loop) allocateProducerIDs(ctx context.Context) (int64, error) {
	for {
		n, err := l.zk.Get(ctx, pathProducerIDs)
		if err != nil {
			return 0, err
		}
		next := int64(0)
		if len(n.Data) > 0 {
			var last producerNode
			if err := decode(pathProducerIDs, n.Data, &last); err != nil {
				return 0, err
			}
			end, err := strconv.ParseInt(last.End, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%w: %s: %w", errBadNode, pathProducerIDs, err)
			}
			if end > math.MaxInt64-producerBlock {
				return 0, ErrNoProducerIDs
			}
			next = end + 1
		}
		block := producerNode{1, l.c.id, strconv.FormatInt(next, 10), strconv.FormatInt(next+producerBlock-1, 10)}
		_, err = l.zk.Set(ctx, pathProducerIDs, encode(block), n.Stat.Version)
		if errors.Is(err, client.ErrBadVersion) {
			continue
		}
		return next, err
	}
}
