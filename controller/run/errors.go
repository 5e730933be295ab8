package run

import (
	"errors"

	"github.com/pelton-broker/pelton/controller/plan"
)

// The refusals of controller/plan under the names that handlers use; errors.Is works with either.
var (
	ErrTopicExists              = plan.ErrTopicExists
	ErrUnknownTopic             = plan.ErrUnknownTopic
	ErrInvalidTopicName         = plan.ErrInvalidTopicName
	ErrInvalidPartitions        = plan.ErrInvalidPartitions
	ErrInvalidReplicationFactor = plan.ErrInvalidReplicationFactor
	ErrInvalidReplicaAssignment = plan.ErrInvalidReplicaAssignment
	ErrInvalidConfig            = plan.ErrInvalidConfig
	ErrInvalidRequest           = plan.ErrInvalidRequest
	ErrReassignmentInProgress   = plan.ErrReassignmentInProgress
	ErrTopicDeletionDisabled    = plan.ErrTopicDeletionDisabled
	ErrNotController            = plan.ErrNotController
)

var (
	// ErrClosed is returned by every method after Close, or after the task group was stopped.
	ErrClosed = errors.New("run: the controller is closed")
	// ErrBrokerIDTaken is returned by Start when a live broker is registered under our id.
	ErrBrokerIDTaken = errors.New("run: another broker with this id is registered and alive")
	// ErrClusterIDMismatch is returned by Start when ZooKeeper's cluster id is not the one that the data belongs to.
	ErrClusterIDMismatch = errors.New("run: the data directory belongs to another cluster")
	// ErrNoProducerIDs is returned when all producer ids have been given out.
	ErrNoProducerIDs = errors.New("run: the producer ids are used up")
	// errStale is returned when a znode changed between reading and writing it; the caller reads again.
	errStale = errors.New("run: the znode has changed meanwhile")
	// errFenced is returned when /controller_epoch is no longer the one that we wrote: another controller is active.
	errFenced = errors.New("run: fenced by a newer controller")
)
