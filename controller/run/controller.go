package run

import (
	"context"
	"sync/atomic"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/zk/client"
)

// CreateTopicSpec is what CreateTopic is asked for.
type CreateTopicSpec struct {
	Name              string
	Partitions        int32             // -1: the broker's default; must be -1 beside an Assignment
	ReplicationFactor int32             // -1 likewise
	Assignment        map[int32][]int32 // partition → replicas, the first one preferred
	Config            map[string]string
	ValidateOnly      bool
}

// CreatedTopic is what CreateTopic made, or would have made.
type CreatedTopic struct {
	Name              string
	ID                meta.ID // zero with ValidateOnly
	Partitions        int32
	ReplicationFactor int32
	Assignment        [][]int32
	Config            map[string]string
}

// Controller is the broker's membership in the cluster.
type Controller struct {
	image   atomic.Pointer[meta.Image]
	epoch   atomic.Int64 // of our registration
	active  atomic.Bool
	lost    atomic.Bool // no connection with coordination now
	id      int32
	cluster string
	inbox   *inbox
	zk      *client.Client
	loop    *loop
	over    chan struct{} // closed when the loop has ended
}

// Start is Prepare and Prepared.Start in one, for callers that know everything beforehand.
func Start(ctx context.Context, o Options, group *task.Group) (*Controller, error) {
	p, err := Prepare(ctx, o, group)
	if err != nil {
		return nil, err
	}
	return p.Start(ctx)
}

// BrokerID is our id, generated or given.
func (c *Controller) BrokerID() int32 { return c.id }

// ClusterID is the cluster's id.
func (c *Controller) ClusterID() string { return c.cluster }

// BrokerEpoch is the epoch of our registration.
func (c *Controller) BrokerEpoch() int64 { return c.epoch.Load() }

// Active tells whether we are the active controller.
func (c *Controller) Active() bool { return c.active.Load() }

// Connected tells whether coordination can be reached now; a session outlives short losses.
func (c *Controller) Connected() bool { return !c.lost.Load() }

// Image is the last published image.
func (c *Controller) Image() *meta.Image { return c.image.Load() }

// do has the loop carry out fn and waits until what it changed was published.
func (c *Controller) do(ctx context.Context, fn func(ctx context.Context) error) error {
	return c.carry(&command{ctx: ctx, run: fn, done: make(chan error, 1)})
}

func (c *Controller) carry(cmd *command) error {
	if !c.inbox.command(cmd) {
		return ErrClosed
	}
	select {
	case err := <-cmd.done:
		return err
	case <-cmd.ctx.Done():
		return cmd.ctx.Err()
	}
}

// CreateTopic makes a topic and returns after the image that holds it was published.
func (c *Controller) CreateTopic(ctx context.Context, spec CreateTopicSpec) (CreatedTopic, error) {
	var made CreatedTopic
	result := make(chan CreatedTopic, 1) // the loop may outlive our waiting
	err := c.do(ctx, func(ctx context.Context) error {
		t, err := c.loop.createTopic(ctx, spec)
		result <- t
		return err
	})
	if err == nil {
		made = <-result
	}
	return made, err
}

// DeleteTopic removes a topic; it returns when the image without it was published and its znodes are gone, or, with
// a replica on a broker that is away, when the removal has begun.
func (c *Controller) DeleteTopic(ctx context.Context, name string) error {
	return c.do(ctx, func(ctx context.Context) error { return c.loop.deleteTopic(ctx, name) })
}

// CreatePartitions grows a topic to count partitions. assignment, when not nil, names the replicas of the new ones.
func (c *Controller) CreatePartitions(ctx context.Context, name string, count int32, assignment [][]int32, validateOnly bool) error {
	return c.do(ctx, func(ctx context.Context) error {
		return c.loop.createPartitions(ctx, name, count, assignment, validateOnly)
	})
}

// Reassign has a partition be held by these brokers, the preferred leader first. Those that hold it now may be put in another order.
func (c *Controller) Reassign(ctx context.Context, topic string, partition int32, replicas []int32) error {
	return c.do(ctx, func(ctx context.Context) error {
		return c.loop.reassign(ctx, requested{Topic: topic, Partition: partition, Replicas: replicas})
	})
}

// AlterTopicConfig replaces the topic's whole set of overrides.
func (c *Controller) AlterTopicConfig(ctx context.Context, name string, set map[string]string) error {
	return c.do(ctx, func(ctx context.Context) error { return c.loop.alterTopicConfig(ctx, name, set) })
}

// AlterBrokerConfig replaces the dynamic settings of one broker, or with a nil id the cluster-wide ones.
func (c *Controller) AlterBrokerConfig(ctx context.Context, id *int32, set map[string]string) error {
	return c.do(ctx, func(ctx context.Context) error { return c.loop.alterBrokerConfig(ctx, id, set) })
}

// AllocateProducerIDs reserves a block of producer ids for this broker.
func (c *Controller) AllocateProducerIDs(ctx context.Context) (start int64, n int32, err error) {
	result := make(chan int64, 1)
	err = c.do(ctx, func(ctx context.Context) error {
		at, err := c.loop.allocateProducerIDs(ctx)
		result <- at
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	return <-result, producerBlock, nil
}

// Close removes the registration by ending the session, and waits for the loop.
func (c *Controller) Close(ctx context.Context) error {
	c.zk.Close()
	c.inbox.stop()
	select {
	case <-c.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
