package group

// Effects are what one step asks for. The host carries out Appends, then Replies, then the deadline.
// They are valid until the next step.
type Effects struct {
	Appends []Append
	Replies []Reply
	// Deadline is the monotonic millisecond at which the next Tick is due; NoDeadline for none.
	Deadline int64
}

// NoDeadline says that nothing waits for time.
const NoDeadline = -1

// Append is one batch for the log. Its end comes back as Appended with the same token.
type Append struct {
	Token       uint64
	TimestampMs int64
	Records     []Record
}

// Record is one key and its value; a nil value deletes the key.
type Record struct {
	Key, Value []byte
}

// Reply answers one request.
type Reply struct {
	To     Ref
	Answer Answer
}

// Answer is one of the types below.
type Answer interface{ answer() }

// Joined answers Join.
type Joined struct {
	Err            error
	MemberID       string
	Generation     int32
	ProtocolType   *string
	ProtocolName   *string
	Leader         string
	SkipAssignment bool
	Members        []JoinedMember
}

// JoinedMember is one member as the leader sees it.
type JoinedMember struct {
	MemberID string
	Instance *string
	Metadata []byte
}

// Synced answers Sync.
type Synced struct {
	Err          error
	ProtocolType *string
	ProtocolName *string
	Assignment   []byte
}

// Beat answers Heartbeat.
type Beat struct{ Err error }

// Left answers Leave.
type Left struct {
	Err     error
	Members []LeftMember
}

// LeftMember is the outcome for one leaver.
type LeftMember struct {
	MemberID string
	Instance *string
	Err      error
}

// Committed answers Commit, one entry for each entry asked, in their order.
type Committed struct{ Offsets []PartitionResult }

// PartitionResult is the outcome for one partition.
type PartitionResult struct {
	TopicPartition
	Err error
}

// Fetched answers Fetch.
type Fetched struct {
	Err     error
	Offsets []FetchedOffset
}

// FetchedOffset is one committed offset; Offset -1 when there is none.
type FetchedOffset struct {
	TopicPartition
	Offset      int64
	LeaderEpoch int32
	Metadata    string
}

// Described answers Describe.
type Described struct {
	Err          error
	Found        bool
	State        string
	ProtocolType string
	Protocol     string
	Members      []DescribedMember
}

// DescribedMember is one member as an administrator sees it.
type DescribedMember struct {
	MemberID   string
	Instance   *string
	ClientID   string
	ClientHost string
	Metadata   []byte
	Assignment []byte
}

// Listed answers List.
type Listed struct {
	Err    error
	Groups []ListedGroup
}

// ListedGroup is one group of a list.
type ListedGroup struct {
	Group        string
	ProtocolType string
	State        string
}

// Deleted answers Delete.
type Deleted struct{ Err error }

// OffsetsDeleted answers DeleteOffsets.
type OffsetsDeleted struct {
	Err        error
	Partitions []PartitionResult
}

func (*Joined) answer()         {}
func (*Synced) answer()         {}
func (*Beat) answer()           {}
func (*Left) answer()           {}
func (*Committed) answer()      {}
func (*Fetched) answer()        {}
func (*Described) answer()      {}
func (*Listed) answer()         {}
func (*Deleted) answer()        {}
func (*OffsetsDeleted) answer() {}
