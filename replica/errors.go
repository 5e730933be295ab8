package replica

import "errors"

var (
	// ErrNotLeader is returned when this broker does not lead the partition.
	ErrNotLeader = errors.New("replica: this broker does not lead the partition")
	// ErrFencedEpoch is returned when a request carries an older leader epoch than the partition's.
	ErrFencedEpoch = errors.New("replica: the leader epoch of the request is old")
	// ErrUnknownEpoch is returned when a request carries a newer leader epoch than this broker has heard of.
	ErrUnknownEpoch = errors.New("replica: the leader epoch of the request is not known here yet")
	// ErrNotEnoughReplicas is returned when fewer replicas are in sync than an append with acks=all needs.
	ErrNotEnoughReplicas = errors.New("replica: fewer replicas are in sync than min.insync.replicas")
)
