package plan

import (
	"errors"
	"fmt"
)

var (
	// ErrTopicExists is returned when the name is taken, also by a topic whose deletion has not ended.
	ErrTopicExists = errors.New("the topic exists")
	// ErrUnknownTopic is returned when no topic has that name, or its deletion has begun.
	ErrUnknownTopic = errors.New("no such topic")
	// ErrInvalidTopicName is returned for a name outside [a-zA-Z0-9._-]{1,249}, for . and .., and for one that
	// collides with an existing name once dots and underscores are the same.
	ErrInvalidTopicName = errors.New("invalid topic name")
	// ErrInvalidPartitions is returned for a count below 1, and by an increase that is none.
	ErrInvalidPartitions = errors.New("invalid number of partitions")
	// ErrInvalidReplicationFactor is returned for a factor below 1 or above the number of live brokers.
	ErrInvalidReplicationFactor = errors.New("invalid replication factor")
	// ErrInvalidReplicaAssignment is returned for a manual assignment that cannot be carried out.
	ErrInvalidReplicaAssignment = errors.New("invalid replica assignment")
	// ErrInvalidConfig is returned when a topic or broker setting is unknown or its value is refused.
	ErrInvalidConfig = errors.New("invalid configuration")
	// ErrInvalidRequest is returned for a specification that contradicts itself: counts beside an assignment.
	ErrInvalidRequest = errors.New("contradictory specification")
	// ErrReassignmentInProgress is returned when partitions are added to a topic that is being reassigned.
	ErrReassignmentInProgress = errors.New("a reassignment is in progress")
	// ErrTopicDeletionDisabled is returned by a deletion while delete.topic.enable is false.
	ErrTopicDeletionDisabled = errors.New("topic deletion is disabled")
	// ErrNotController is returned when another broker is the active controller, or none is yet.
	ErrNotController = errors.New("this broker is not the active controller")
)

// Error is a refusal: what kind, and a sentence for the user.
type Error struct {
	Kind error
	Msg  string
}

// Error implements error.
func (e *Error) Error() string { return e.Msg }

// Unwrap makes errors.Is find the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Refuse makes an *Error.
func Refuse(kind error, format string, args ...any) error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}
