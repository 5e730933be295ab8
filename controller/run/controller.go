package run

import (
	"context"
	"sync/atomic"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/internal/task"
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
	image atomic.Pointer[meta.Image]
}

// Start connects, prepares the tree, registers, takes part in the election, loads the cluster and publishes the first
// image. It returns when that image's Publish has returned.
func Start(ctx context.Context, o Options, group *task.Group) (*Controller, error) {
	return nil, ErrClosed
}

// BrokerID is our id, generated or given.
func (c *Controller) BrokerID() int32 { return 0 }

// ClusterID is the cluster's id.
func (c *Controller) ClusterID() string { return "" }

// BrokerEpoch is the epoch of our registration.
func (c *Controller) BrokerEpoch() int64 { return 0 }

// Image is the last published image.
func (c *Controller) Image() *meta.Image { return c.image.Load() }

// CreateTopic makes a topic and returns after the image that holds it was published.
func (c *Controller) CreateTopic(ctx context.Context, spec CreateTopicSpec) (CreatedTopic, error) {
	return CreatedTopic{}, ErrClosed
}

// DeleteTopic removes a topic; it returns when the image without it was published and its znodes are gone, or, with
// a replica on a broker that is away, when the removal has begun.
func (c *Controller) DeleteTopic(ctx context.Context, name string) error { return ErrClosed }

// CreatePartitions grows a topic to count partitions. assignment, when not nil, names the replicas of the new ones.
func (c *Controller) CreatePartitions(ctx context.Context, name string, count int32, assignment [][]int32, validateOnly bool) error {
	return ErrClosed
}

// AlterTopicConfig replaces the topic's whole set of overrides.
func (c *Controller) AlterTopicConfig(ctx context.Context, name string, set map[string]string) error {
	return ErrClosed
}

// AlterBrokerConfig replaces the dynamic settings of one broker, or with a nil id the cluster-wide ones.
func (c *Controller) AlterBrokerConfig(ctx context.Context, id *int32, set map[string]string) error {
	return ErrClosed
}

// AllocateProducerIDs reserves a block of producer ids for this broker.
func (c *Controller) AllocateProducerIDs(ctx context.Context) (start int64, n int32, err error) {
	return 0, 0, ErrClosed
}

// Close removes the registration by ending the session, and waits for the loop.
func (c *Controller) Close(ctx context.Context) error { return nil }
