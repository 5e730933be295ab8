package wire

// FetchRequest is a decoded Fetch request, versions 4 to 18. Names are views into the frame;
// the slices are reused by the next Parse.
type FetchRequest struct {
	ReplicaID    int32
	ReplicaEpoch int64
	MaxWaitMs    int32
	MinBytes     int32
	MaxBytes     int32
	Isolation    int8
	SessionID    int32
	SessionEpoch int32
	Topics       []FetchTopic
	Parts        []FetchPart
	Forgotten    []FetchForgotten
	Rack         []byte
}

// FetchTopic is one topic of a request: Parts[First:First+Count] are its partitions.
type FetchTopic struct {
	Name  []byte
	ID    [16]byte
	First int
	Count int
}

// FetchPart is what is asked of one partition. Fields a version lacks hold Kafka's defaults.
type FetchPart struct {
	Topic            int
	Index            int32
	LeaderEpoch      int32 // -1: not checked
	Offset           int64
	LastFetchedEpoch int32 // -1: none
	LogStart         int64 // followers only, -1 otherwise
	MaxBytes         int32
}

// FetchForgotten is a partition that leaves the session.
type FetchForgotten struct {
	Name  []byte
	ID    [16]byte
	Index int32
}

// Parse reads the body of a Fetch request. Errors: ErrTruncated and the Reader's other faults.
func (f *FetchRequest) Parse(r *Reader, version int16) error {
	flex := version >= fetchFlexible
	f.Topics, f.Parts, f.Forgotten, f.Rack = f.Topics[:0], f.Parts[:0], f.Forgotten[:0], nil
	f.ReplicaID, f.ReplicaEpoch, f.SessionID, f.SessionEpoch, f.Isolation = -1, -1, 0, -1, 0
	if version <= 14 {
		f.ReplicaID = r.Int32()
	}
	f.MaxWaitMs, f.MinBytes = r.Int32(), r.Int32()
	f.MaxBytes = 1<<31 - 1
	if version >= 3 {
		f.MaxBytes = r.Int32()
	}
	if version >= 4 {
		f.Isolation = r.Int8()
	}
	if version >= 7 {
		f.SessionID, f.SessionEpoch = r.Int32(), r.Int32()
	}
	for range r.Array(flex, 2) {
		if f.parseTopic(r, version, flex); r.err != nil {
			return r.err
		}
	}
	if version >= 7 {
		f.parseForgotten(r, version, flex)
	}
	if version >= 11 {
		f.Rack = r.String(flex)
	}
	r.Tags(flex, f.requestTag)
	return r.err
}

func (f *FetchRequest) requestTag(tag uint32, field *Reader) bool {
	if tag != 1 { // 0 is the cluster id, for KRaft's own log
		return false
	}
	f.ReplicaID, f.ReplicaEpoch = field.Int32(), field.Int64()
	field.Tags(true, nil)
	return true
}

func (f *FetchRequest) parseTopic(r *Reader, version int16, flex bool) {
	t := FetchTopic{First: len(f.Parts)}
	if version >= fetchTopicIDs {
		t.ID = r.UUID()
	} else {
		t.Name = r.String(flex)
	}
	t.Count = r.Array(flex, 16)
	for range t.Count {
		p := FetchPart{Topic: len(f.Topics), Index: r.Int32(), LeaderEpoch: -1, LastFetchedEpoch: -1, LogStart: -1}
		if version >= 9 {
			p.LeaderEpoch = r.Int32()
		}
		p.Offset = r.Int64()
		if version >= 12 {
			p.LastFetchedEpoch = r.Int32()
		}
		if version >= 5 {
			p.LogStart = r.Int64()
		}
		p.MaxBytes = r.Int32()
		r.Tags(flex, nil)
		if r.err != nil {
			return
		}
		f.Parts = append(f.Parts, p)
	}
	r.Tags(flex, nil)
	f.Topics = append(f.Topics, t)
}

func (f *FetchRequest) parseForgotten(r *Reader, version int16, flex bool) {
	for range r.Array(flex, 2) {
		var g FetchForgotten
		if version >= fetchTopicIDs {
			g.ID = r.UUID()
		} else {
			g.Name = r.String(flex)
		}
		for range r.Array(flex, 4) {
			g.Index = r.Int32()
			f.Forgotten = append(f.Forgotten, g)
		}
		if r.Tags(flex, nil); r.err != nil {
			return
		}
	}
}
