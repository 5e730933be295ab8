package group

// Ref is whom an answer goes to. The machine only carries it.
type Ref any

// Input is one thing that happens to the machine.
type Input interface{ input() }

// Protocol is one way of assigning that a member offers.
type Protocol struct {
	Name     string
	Metadata []byte
}

// TopicPartition names what an offset belongs to.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Join is JoinGroup.
type Join struct {
	To           Ref
	Group        string
	MemberID     string
	Instance     *string
	NeedID       bool // an unknown dynamic member is given an id and must come again (v4)
	CanSkip      bool // the client knows SkipAssignment (v9)
	ClientID     string
	ClientHost   string
	RebalanceMs  int32
	SessionMs    int32
	ProtocolType string
	Protocols    []Protocol
	Reason       string
}

// Sync is SyncGroup.
type Sync struct {
	To           Ref
	Group        string
	MemberID     string
	Instance     *string
	Generation   int32
	ProtocolType *string
	ProtocolName *string
	Assignments  []Assignment
}

// Assignment is what the leader gives one member.
type Assignment struct {
	MemberID string
	Bytes    []byte
}

// Heartbeat is Heartbeat.
type Heartbeat struct {
	To         Ref
	Group      string
	MemberID   string
	Instance   *string
	Generation int32
}

// Leave is LeaveGroup.
type Leave struct {
	To      Ref
	Group   string
	Members []Leaver
}

// Leaver is one who leaves. An empty member id with an instance id is removal by an administrator.
type Leaver struct {
	MemberID string
	Instance *string
	Reason   string
}

// Commit is OffsetCommit.
type Commit struct {
	To          Ref
	Group       string
	MemberID    string
	Instance    *string
	Generation  int32
	RetentionMs int64 // -1 for the broker's own
	// NotFound asks for ErrNotFound where a generation names a group that is not there (v10).
	NotFound bool
	Offsets  []CommitOffset
}

// CommitOffset is one entry of a commit.
type CommitOffset struct {
	TopicPartition
	Offset      int64
	LeaderEpoch int32 // -1 for none
	Metadata    string
	TimestampMs int64 // -1 for now
}

// Fetch is OffsetFetch for one group.
type Fetch struct {
	To         Ref
	Group      string
	All        bool
	Partitions []TopicPartition
}

// Describe is DescribeGroups for one group.
type Describe struct {
	To    Ref
	Group string
}

// List is ListGroups.
type List struct {
	To     Ref
	States []string // empty for all; case does not matter
}

// Delete is DeleteGroups for one group.
type Delete struct {
	To    Ref
	Group string
}

// DeleteOffsets is OffsetDelete.
type DeleteOffsets struct {
	To         Ref
	Group      string
	Partitions []TopicPartition
}

// TopicsDeleted drops the offsets of topics that are gone.
type TopicsDeleted struct{ Topics []string }

// Appended tells how an append of an earlier step ended.
type Appended struct {
	Token uint64
	Base  int64
	Err   error
}

// Tick says that time has passed.
type Tick struct{}

// Loaded ends the loading: the log has been read to its end.
type Loaded struct{ From *Replay }

// Unload gives the partition up.
type Unload struct{}

func (*Join) input()          {}
func (*Sync) input()          {}
func (*Heartbeat) input()     {}
func (*Leave) input()         {}
func (*Commit) input()        {}
func (*Fetch) input()         {}
func (*Describe) input()      {}
func (*List) input()          {}
func (*Delete) input()        {}
func (*DeleteOffsets) input() {}
func (*TopicsDeleted) input() {}
func (*Appended) input()      {}
func (*Tick) input()          {}
func (*Loaded) input()        {}
func (*Unload) input()        {}
