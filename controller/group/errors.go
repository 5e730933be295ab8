package group

import "errors"

// Errors that answers carry. reactor/api maps each to its number.
var (
	// ErrInvalidGroupID is returned when a group id is empty where the request needs one.
	ErrInvalidGroupID = errors.New("group: the group id is empty")
	// ErrTooLong is returned when a name is longer than the records' format can hold.
	ErrTooLong = errors.New("group: a name is too long")
	// ErrLoading is returned while the partition's records are still being read.
	ErrLoading = errors.New("group: the coordinator is loading")
	// ErrNotCoordinator is returned once the partition has moved away, and by stores that found so.
	ErrNotCoordinator = errors.New("group: this is not the coordinator")
	// ErrNotAvailable is returned when the group is going away or its log cannot take records now.
	ErrNotAvailable = errors.New("group: the coordinator is not available")
	// ErrUnknownMember is returned when the member id or the instance id is not in the group.
	ErrUnknownMember = errors.New("group: unknown member")
	// ErrFencedInstance is returned when another member id holds the instance id.
	ErrFencedInstance = errors.New("group: the instance id belongs to another member")
	// ErrIllegalGeneration is returned when the generation is not the group's.
	ErrIllegalGeneration = errors.New("group: illegal generation")
	// ErrInconsistentProtocol is returned when type or protocols do not fit the group's.
	ErrInconsistentProtocol = errors.New("group: inconsistent protocol")
	// ErrInvalidSessionTimeout is returned when the session timeout is outside its bounds.
	ErrInvalidSessionTimeout = errors.New("group: session timeout out of bounds")
	// ErrRebalanceInProgress is returned when the member has to join again.
	ErrRebalanceInProgress = errors.New("group: rebalance in progress")
	// ErrMemberIDRequired is returned with a fresh member id, with which the client joins again.
	ErrMemberIDRequired = errors.New("group: join again with the given member id")
	// ErrMaxSize is returned when the group has as many members as it may.
	ErrMaxSize = errors.New("group: the group is full")
	// ErrNonEmpty is returned when a group with members cannot be deleted.
	ErrNonEmpty = errors.New("group: the group is not empty")
	// ErrNotFound is returned when there is no such group and the request needs one.
	ErrNotFound = errors.New("group: no such group")
	// ErrSubscribed is returned when offsets of a topic are to go while a member reads it.
	ErrSubscribed = errors.New("group: the group is subscribed to the topic")
	// ErrMetadataTooLarge is returned when the text beside an offset is over its limit.
	ErrMetadataTooLarge = errors.New("group: offset metadata too large")
	// ErrCommitTooLarge is returned when the records of one commit do not fit into a batch.
	ErrCommitTooLarge = errors.New("group: the commit is too large")
	// ErrInternal is returned where Kafka answers UNKNOWN_SERVER_ERROR.
	ErrInternal = errors.New("group: unexpected request")

	// ErrTimedOut is what the host reports when an append got no answer in time. It never reaches a client as such.
	ErrTimedOut = errors.New("group: the append timed out")
	// ErrTooLarge is what the host reports when the log refuses the batch for its size. It never reaches a client as such.
	ErrTooLarge = errors.New("group: the batch is too large")
	// ErrCorrupt is returned when a record of the log cannot be read.
	ErrCorrupt = errors.New("group: unreadable record")
)
