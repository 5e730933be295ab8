package api

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/reactor/wire"
)

// Where says which thread runs a handler.
type Where uint8

const (
	// OnConn handlers run on the connection's shard: quick, never blocking. They reply before they return, or Detach.
	OnConn Where = iota
	// OnPool handlers run in a bounded pool off the shards and may block.
	OnPool
)

// Operation is what a request does to its resources, for authorisation.
type Operation uint8

// Kafka's operations.
const (
	OpNone Operation = iota // asks nothing of anybody
	OpRead
	OpWrite
	OpCreate
	OpDelete
	OpAlter
	OpDescribe
	OpClusterAction
	OpDescribeConfigs
	OpAlterConfigs
	OpIdempotentWrite
)

// Resource is the kind of thing a request is about, for authorisation.
type Resource uint8

// Kafka's resource kinds.
const (
	ResNone Resource = iota
	ResTopic
	ResGroup
	ResCluster
	ResTransactionalID
)

// Row is one API key: what is served, how, and what a caller needs.
type Row struct {
	Key      int16
	Min, Max int16
	// Advertised is the lowest version that ApiVersions tells; below Min only where old clients need to see it.
	Advertised int16
	Where      Where
	// Expand is how many bytes of memory a byte of the request may cost once decoded; the shard's budget is asked for that much.
	Expand    int64
	Operation Operation
	Resource  Resource
	// Handle is nil for Produce and Fetch, which have paths of their own.
	Handle func(b *Broker, r *Request)
}

// Name is Kafka's name of the key.
func (r *Row) Name() string { return kmsg.NameForKey(r.Key) }

// Rows is the whole table, in the order of keys.
func Rows() []Row {
	return []Row{
		{Key: 0, Max: 13, Operation: OpWrite, Resource: ResTopic, Expand: 1},
		{Key: 1, Max: 18, Operation: OpRead, Resource: ResTopic, Expand: 48},
		{Key: 2, Max: 11, Where: OnPool, Operation: OpDescribe, Resource: ResTopic, Expand: 8, Handle: (*Broker).listOffsets},
		{Key: 3, Min: 0, Max: 13, Operation: OpDescribe, Resource: ResTopic, Expand: 8, Handle: (*Broker).metadata},
		{Key: 8, Max: 10, Operation: OpRead, Resource: ResGroup, Expand: 16, Handle: (*Broker).offsetCommit},
		{Key: 9, Max: 10, Operation: OpDescribe, Resource: ResGroup, Expand: 16, Handle: (*Broker).offsetFetch},
		{Key: 10, Max: 6, Operation: OpDescribe, Resource: ResGroup, Expand: 8, Handle: (*Broker).findCoordinator},
		{Key: 11, Max: 9, Operation: OpRead, Resource: ResGroup, Expand: 8, Handle: (*Broker).joinGroup},
		{Key: 12, Max: 4, Operation: OpRead, Resource: ResGroup, Expand: 8, Handle: (*Broker).heartbeat},
		{Key: 13, Max: 5, Operation: OpRead, Resource: ResGroup, Expand: 16, Handle: (*Broker).leaveGroup},
		{Key: 14, Max: 5, Operation: OpRead, Resource: ResGroup, Expand: 8, Handle: (*Broker).syncGroup},
		{Key: 15, Max: 6, Operation: OpDescribe, Resource: ResGroup, Expand: 16, Handle: (*Broker).describeGroups},
		{Key: 16, Max: 5, Operation: OpDescribe, Resource: ResCluster, Expand: 8, Handle: (*Broker).listGroups},
		{Key: 18, Max: 4, Expand: 8, Handle: (*Broker).apiVersions},
		{Key: 19, Max: 7, Where: OnPool, Operation: OpCreate, Resource: ResCluster, Expand: 16, Handle: (*Broker).createTopics},
		{Key: 20, Max: 6, Where: OnPool, Operation: OpDelete, Resource: ResTopic, Expand: 16, Handle: (*Broker).deleteTopics},
		{Key: 21, Max: 2, Where: OnPool, Operation: OpDelete, Resource: ResTopic, Expand: 8, Handle: (*Broker).deleteRecords},
		{Key: 22, Max: 5, Where: OnPool, Operation: OpIdempotentWrite, Resource: ResCluster, Expand: 8, Handle: (*Broker).initProducerID},
		{Key: 23, Max: 4, Where: OnPool, Operation: OpDescribe, Resource: ResTopic, Expand: 8, Handle: (*Broker).offsetForLeaderEpoch},
		{Key: 32, Max: 4, Where: OnPool, Operation: OpDescribeConfigs, Resource: ResTopic, Expand: 16, Handle: (*Broker).describeConfigs},
		{Key: 33, Max: 2, Where: OnPool, Operation: OpAlterConfigs, Resource: ResTopic, Expand: 16, Handle: (*Broker).alterConfigs},
		{Key: 34, Max: 2, Where: OnPool, Operation: OpAlter, Resource: ResCluster, Expand: 16, Handle: (*Broker).alterReplicaLogDirs},
		{Key: 35, Max: 4, Where: OnPool, Operation: OpDescribe, Resource: ResCluster, Expand: 8, Handle: (*Broker).describeLogDirs},
		{Key: 37, Max: 3, Where: OnPool, Operation: OpAlter, Resource: ResTopic, Expand: 16, Handle: (*Broker).createPartitions},
		{Key: 42, Max: 2, Operation: OpDelete, Resource: ResGroup, Expand: 16, Handle: (*Broker).deleteGroups},
		{Key: 45, Max: 1, Where: OnPool, Operation: OpAlter, Resource: ResCluster, Expand: 16, Handle: (*Broker).alterPartitionReassignments},
		{Key: 46, Operation: OpDescribe, Resource: ResCluster, Expand: 8, Handle: (*Broker).listPartitionReassignments},
		{Key: 47, Operation: OpDelete, Resource: ResGroup, Expand: 16, Handle: (*Broker).offsetDelete},
		{Key: 44, Max: 1, Where: OnPool, Operation: OpAlterConfigs, Resource: ResTopic, Expand: 16, Handle: (*Broker).incrementalAlterConfigs},
		{Key: 48, Max: 1, Operation: OpDescribeConfigs, Resource: ResCluster, Expand: 16, Handle: (*Broker).describeClientQuotas},
		{Key: 49, Max: 1, Where: OnPool, Operation: OpAlterConfigs, Resource: ResCluster, Expand: 16, Handle: (*Broker).alterClientQuotas},
		{Key: 60, Max: 2, Operation: OpDescribe, Resource: ResCluster, Expand: 8, Handle: (*Broker).describeCluster},
		{Key: 61, Where: OnPool, Operation: OpRead, Resource: ResTopic, Expand: 8, Handle: (*Broker).describeProducers},
		{Key: 75, Operation: OpDescribe, Resource: ResTopic, Expand: 8, Handle: (*Broker).describeTopicPartitions},
	}
}

// lookup is the table by key, for dispatch.
type lookup struct {
	rows     []Row
	byKey    [128]*Row
	flexible [128]int16
	// shapes are the layouts by which a request of the slow path is checked before it is decoded.
	shapes map[int16]wire.Shape
	// codes say where the answers of the slow path keep their error codes.
	codes map[int16]*answerCodes
}

func newLookup(rows []Row) *lookup {
	t := &lookup{rows: rows, shapes: wire.Shapes(), codes: map[int16]*answerCodes{}}
	for i := range t.flexible {
		t.flexible[i] = firstFlexible(int16(i))
	}
	for i := range t.rows {
		key := t.rows[i].Key
		t.byKey[key] = &t.rows[i]
		t.codes[key] = codesIn(reflect.TypeOf(kmsg.ResponseForKey(key)).Elem())
	}
	return t
}

// firstFlexible is the first version of a key that carries tagged fields, -1 for none.
func firstFlexible(key int16) int16 {
	req := kmsg.RequestForKey(key)
	if req == nil {
		return -1
	}
	for v := int16(0); v <= req.MaxVersion(); v++ {
		if req.SetVersion(v); req.IsFlexible() {
			return v
		}
	}
	return -1
}

func (t *lookup) flexibleFrom(key int16) int16 {
	if key < 0 || int(key) >= len(t.flexible) {
		return -1
	}
	return t.flexible[key]
}

func (t *lookup) row(key int16) *Row {
	if key < 0 || int(key) >= len(t.byKey) {
		return nil
	}
	return t.byKey[key]
}
