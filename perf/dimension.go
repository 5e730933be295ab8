package perf

import "strconv"

// Dim is the dimension a metric has beside the shard. Its values are a fixed list, so that a
// slot is found by position and no label ever holds text of a client.
type Dim uint8

// The dimensions.
const (
	DimNone  Dim = iota
	DimAPI       // position: the API key
	DimPhase     // position: PhaseAt(class, phase)
	DimClass     // position: Class
	DimDisk      // position: DiskAt(backend, kind)
	DimClose     // position: Close
	DimCode      // position: CodeAt(error code)
)

// Phase is a stretch of a request's life.
type Phase uint8

// The phases of a request.
const (
	PhaseRead      Phase = iota // from the turn's begin to the request's, the read of its last bytes included
	PhaseParse                  // decoding, finding the partitions, checking records
	PhaseHop                    // to the shard that owns the partition and back
	PhaseQueue                  // for the answers before it on its connection
	PhaseSubmit                 // in the log's queue until the disk is asked
	PhaseDevice                 // the log: a write, or finding the records and bringing them into memory
	PhaseSync                   // a write with its fdatasync
	PhasePurgatory              // for records to come
	PhaseEncode                 // making the answer
	PhaseSocket                 // until the socket has taken the records
	NumPhases
)

// Class groups requests whose phases are kept apart.
type Class uint8

// The classes of request.
const (
	ClassProduce Class = iota
	ClassFetch
	ClassOther
	NumClasses
)

// DiskKind is the kind of a disk operation, and Backend the way it went.
type (
	DiskKind uint8
	Backend  uint8
)

// Disk operation kinds and backends.
const (
	DiskWrite DiskKind = iota
	DiskRead
	DiskSync
	DiskReadAhead
	DiskOther
	numDiskKinds

	BackendUring    Backend = 0
	BackendPortable Backend = 1
	BackendInline   Backend = 2
	numBackends             = 3
)

// Close is why a connection ended.
type Close uint8

// Causes of a connection's end.
const (
	CloseEOF Close = iota
	CloseReset
	CloseIdle
	CloseSlowReader
	CloseFrame
	CloseProtocol
	CloseLimit
	CloseStop
	CloseOther
	numCloses
)

const (
	numAPIs  = 96  // the last one is "other"
	numCodes = 136 // -1 … 133, and "other"
)

// PhaseAt is the position of a phase of a class.
func PhaseAt(c Class, p Phase) int { return int(c)*int(NumPhases) + int(p) }

// DiskAt is the position of an operation's backend and kind.
func DiskAt(b Backend, k DiskKind) int { return int(b)*int(numDiskKinds) + int(k) }

// CodeAt is the position of a Kafka error code.
func CodeAt(code int16) int { return int(code) + 1 }

// Size is the number of positions.
func (d Dim) Size() int {
	switch d {
	case DimAPI:
		return numAPIs
	case DimPhase:
		return int(NumClasses) * int(NumPhases)
	case DimClass:
		return int(NumClasses)
	case DimDisk:
		return numBackends * int(numDiskKinds)
	case DimClose:
		return int(numCloses)
	case DimCode:
		return numCodes
	case DimNone:
	}
	return 1
}

// LabelNames are the labels that a dimension adds to shard.
func (d Dim) LabelNames() []string {
	switch d {
	case DimAPI:
		return []string{"api"}
	case DimPhase:
		return []string{"class", "phase"}
	case DimClass:
		return []string{"class"}
	case DimDisk:
		return []string{"backend", "kind"}
	case DimClose:
		return []string{"cause"}
	case DimCode:
		return []string{"code"}
	case DimNone:
	}
	return nil
}

// LabelValues are the values of LabelNames at a position.
func (d Dim) LabelValues(at int) []string {
	switch d {
	case DimAPI:
		return []string{APIName(at)}
	case DimPhase:
		return []string{Class(at / int(NumPhases)).String(), Phase(at % int(NumPhases)).String()}
	case DimClass:
		return []string{Class(at).String()}
	case DimDisk:
		return []string{Backend(at / int(numDiskKinds)).String(), DiskKind(at % int(numDiskKinds)).String()}
	case DimClose:
		return []string{Close(at).String()}
	case DimCode:
		if at == numCodes-1 {
			return []string{"other"}
		}
		return []string{strconv.Itoa(at - 1)}
	case DimNone:
	}
	return nil
}

// String names the phase.
func (p Phase) String() string {
	return nth(int(p), "read", "parse", "hop", "queue", "submit", "device", "fsync", "purgatory", "encode", "socket")
}

// String names the class.
func (c Class) String() string { return nth(int(c), "produce", "fetch", "other") }

// String names the kind.
func (k DiskKind) String() string { return nth(int(k), "write", "read", "sync", "readahead", "other") }

// String names the backend.
func (b Backend) String() string { return nth(int(b), "uring", "portable", "inline") }

// String names the cause.
func (c Close) String() string {
	return nth(int(c), "eof", "reset", "idle", "slow-reader", "frame", "protocol", "limit", "stop", "other")
}

func nth(i int, names ...string) string {
	if i < 0 || i >= len(names) {
		return "other"
	}
	return names[i]
}

// APIName is Kafka's name of an API key, or the key's number for one that has none here.
func APIName(key int) string {
	if key >= numAPIs-1 || key < 0 {
		return "other"
	}
	name := nth(key, "Produce", "Fetch", "ListOffsets", "Metadata", "LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown",
		"OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup", "Heartbeat", "LeaveGroup", "SyncGroup", "DescribeGroups", "ListGroups",
		"SaslHandshake", "ApiVersions", "CreateTopics", "DeleteTopics", "DeleteRecords", "InitProducerId", "OffsetForLeaderEpoch",
		"AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "WriteTxnMarkers", "TxnOffsetCommit", "DescribeAcls", "CreateAcls", "DeleteAcls",
		"DescribeConfigs", "AlterConfigs", "AlterReplicaLogDirs", "DescribeLogDirs", "SaslAuthenticate", "CreatePartitions",
		"CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken", "DescribeDelegationToken", "DeleteGroups", "ElectLeaders",
		"IncrementalAlterConfigs", "AlterPartitionReassignments", "ListPartitionReassignments", "OffsetDelete", "DescribeClientQuotas",
		"AlterClientQuotas", "DescribeUserScramCredentials", "AlterUserScramCredentials", "Vote", "BeginQuorumEpoch", "EndQuorumEpoch",
		"DescribeQuorum", "AlterPartition", "UpdateFeatures", "Envelope", "FetchSnapshot", "DescribeCluster", "DescribeProducers",
		"BrokerRegistration", "BrokerHeartbeat", "UnregisterBroker", "DescribeTransactions", "ListTransactions", "AllocateProducerIds",
		"ConsumerGroupHeartbeat", "ConsumerGroupDescribe", "ControllerRegistration", "GetTelemetrySubscriptions", "PushTelemetry",
		"AssignReplicasToDirs", "ListClientMetricsResources", "DescribeTopicPartitions")
	if name == "other" {
		return strconv.Itoa(key)
	}
	return name
}
