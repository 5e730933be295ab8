package api

import (
	"errors"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/controller/plan"
	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/reactor/wire"
	"github.com/pelton-broker/pelton/replica"
)

// ErrNotHosted is returned when a partition is not open on this broker.
var ErrNotHosted = errors.New("api: the partition is not on this broker")

// codeRow maps one domain error to Kafka's code.
type codeRow struct {
	err  error
	code wire.Code
}

// recordRows are the codes for what is wrong with records.
func recordRows() []codeRow {
	return []codeRow{
		{batch.ErrCRC, wire.CorruptMessage},
		{batch.ErrTruncated, wire.CorruptMessage},
		{batch.ErrTooLarge, wire.MessageTooLarge},
		{batch.ErrMagic, wire.CorruptMessage},
		{batch.ErrNotOneBatch, wire.InvalidRecord},
		{batch.ErrEpoch, wire.InvalidProducerEpoch},
		{batch.ErrCodec, wire.UnsupportedCompressionType},
		{batch.ErrBomb, wire.RecordListTooLarge},
		{batch.ErrDecompress, wire.CorruptMessage},
		{batch.ErrNeedsNewFormat, wire.UnsupportedForMessageFormat},
	}
}

// codeRows is the whole mapping. errors_test.go checks that every exported sentinel of the packages below is in it.
func codeRows() []codeRow {
	return append(recordRows(), []codeRow{
		{ErrNotHosted, wire.UnknownTopicOrPartition},
		{errUnknownTopicID, wire.UnknownTopicID},
		{errUnsupported, wire.UnsupportedVersion},
		{errThrottled, wire.ThrottlingQuotaExceeded},

		{logstore.ErrOffsetOutOfRange, wire.OffsetOutOfRange},
		{logstore.ErrOffline, wire.KafkaStorageError},
		{logstore.ErrNoSpace, wire.KafkaStorageError},
		{logstore.ErrClosed, wire.NotLeaderOrFollower},
		{logstore.ErrNoDir, wire.KafkaStorageError},
		{logstore.ErrNotFound, wire.ReplicaNotAvailable},
		{logstore.ErrUnknownDir, wire.LogDirNotFound},
		{logstore.ErrLongName, wire.InvalidTopicException},
		{logstore.ErrNoFuture, wire.KafkaStorageError},
		{logstore.ErrTopicID, wire.InconsistentTopicID},
		{logstore.ErrOutOfOrderSequence, wire.OutOfOrderSequenceNumber},
		{logstore.ErrInvalidProducerEpoch, wire.InvalidProducerEpoch},
		{logstore.ErrDuplicateSequence, wire.DuplicateSequenceNumber},
		{logstore.ErrUnknownProducer, wire.UnknownProducerID},
		{logstore.ErrTooLarge, wire.RecordListTooLarge},

		{replica.ErrNotLeader, wire.NotLeaderOrFollower},
		{replica.ErrFencedEpoch, wire.FencedLeaderEpoch},
		{replica.ErrUnknownEpoch, wire.UnknownLeaderEpoch},
		{replica.ErrNotEnoughReplicas, wire.NotEnoughReplicas},

		{group.ErrInvalidGroupID, wire.InvalidGroupID},
		{group.ErrTooLong, wire.InvalidRequest},
		{group.ErrLoading, wire.CoordinatorLoadInProgress},
		{group.ErrNotCoordinator, wire.NotCoordinator},
		{group.ErrNotAvailable, wire.CoordinatorNotAvailable},
		{group.ErrUnknownMember, wire.UnknownMemberID},
		{group.ErrFencedInstance, wire.FencedInstanceID},
		{group.ErrIllegalGeneration, wire.IllegalGeneration},
		{group.ErrInconsistentProtocol, wire.InconsistentGroupProtocol},
		{group.ErrInvalidSessionTimeout, wire.InvalidSessionTimeout},
		{group.ErrRebalanceInProgress, wire.RebalanceInProgress},
		{group.ErrMemberIDRequired, wire.MemberIDRequired},
		{group.ErrMaxSize, wire.GroupMaxSizeReached},
		{group.ErrNonEmpty, wire.NonEmptyGroup},
		{group.ErrNotFound, wire.GroupIDNotFound},
		{group.ErrSubscribed, wire.GroupSubscribedToTopic},
		{group.ErrMetadataTooLarge, wire.OffsetMetadataTooLarge},
		{group.ErrCommitTooLarge, wire.InvalidCommitOffsetSize},
		{group.ErrTimedOut, wire.RequestTimedOut},
		{group.ErrTooLarge, wire.MessageTooLarge},
		{group.ErrInternal, wire.UnknownServerError},
		{group.ErrCorrupt, wire.CorruptMessage},

		{run.ErrTopicExists, wire.TopicAlreadyExists},
		{run.ErrUnknownTopic, wire.UnknownTopicOrPartition},
		{run.ErrInvalidTopicName, wire.InvalidTopicException},
		{run.ErrInvalidPartitions, wire.InvalidPartitions},
		{run.ErrInvalidReplicationFactor, wire.InvalidReplicationFactor},
		{run.ErrInvalidReplicaAssignment, wire.InvalidReplicaAssignment},
		{run.ErrInvalidConfig, wire.InvalidConfig},
		{run.ErrInvalidRequest, wire.InvalidRequest},
		{run.ErrReassignmentInProgress, wire.ReassignmentInProgress},
		{run.ErrTopicDeletionDisabled, wire.TopicDeletionDisabled},
		{run.ErrNotController, wire.NotController},
		{run.ErrClosed, wire.BrokerNotAvailable},
	}...)
}

// codeOf is Kafka's code for a domain error; UNKNOWN_SERVER_ERROR for one that the table lacks.
func codeOf(err error) wire.Code {
	if err == nil {
		return wire.None
	}
	var record *batch.InvalidRecordError
	var stamp *batch.InvalidTimestampError
	switch {
	case errors.As(err, &record):
		return wire.InvalidRecord
	case errors.As(err, &stamp):
		return wire.InvalidTimestamp
	}
	for _, row := range codeRows() {
		if errors.Is(err, row.err) {
			return row.code
		}
	}
	return wire.UnknownServerError
}

// messageOf is the sentence that goes to the client beside the code.
func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// refusal is a domain error of a kind with a sentence of its own.
func refusal(kind error, format string, args ...any) error { return plan.Refuse(kind, format, args...) }
