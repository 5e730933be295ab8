package group

import (
	"maps"
	"math"
	"slices"

	"github.com/pelton-broker/pelton/internal/invariant"
)

// refuse answers a request that may not reach the groups: an empty id where one is needed, a partition that is
// still loading or gone.
func (m *Machine) refuse(in Input) (Reply, bool) {
	var err error
	switch m.phase {
	case phaseLoading:
		err = ErrLoading
	case phaseUnloaded:
		err = ErrNotCoordinator
	case phaseActive:
		if idError(in) == nil {
			return Reply{}, false
		}
	}
	if list, ok := in.(*List); ok {
		// A list is of what is known so far, with the error beside it.
		return Reply{To: list.To, Answer: m.list(list.States, err)}, true
	}
	return Refuse(in, err), true
}

// maxString is the longest string that the records' format can hold. Flexible requests can bring longer ones.
const maxString = math.MaxInt16

// idError refuses names with which a request can come to nothing.
func idError(in Input) error {
	id, needed := "", true
	switch in := in.(type) {
	case *Join:
		if in.tooLong() {
			return ErrTooLong
		}
		id = in.Group
	case *Sync:
		id = in.Group
	case *Heartbeat:
		id = in.Group
	case *Leave:
		id = in.Group
	case *DeleteOffsets:
		id = in.Group
	case *Commit:
		// Commits, fetches, descriptions and deletions have always borne the empty id.
		id, needed = in.Group, false
	default:
		return nil
	}
	switch {
	case id == "" && needed:
		return ErrInvalidGroupID
	case len(id) > maxString:
		return ErrTooLong
	}
	return nil
}

func (in *Join) tooLong() bool {
	// A new member's id is the instance or client id with 37 characters more.
	const room = maxString - 64
	if len(in.MemberID) > maxString || len(in.ClientID) > room || len(in.ProtocolType) > maxString || in.Instance != nil && len(*in.Instance) > room {
		return true
	}
	for i := range in.Protocols {
		if len(in.Protocols[i].Name) > maxString {
			return true
		}
	}
	return false
}

// Refuse is the answer to a request that never reached a machine, or not a ready one. While a coordinator loads, a sync
// is told to join again and a heartbeat that all is well, since old clients know no other answer there. An empty group id
// where one is needed counts before err.
func Refuse(in Input, err error) Reply {
	if bad := idError(in); bad != nil {
		err = bad
	}
	switch in := in.(type) {
	case *Join:
		return Reply{in.To, &Joined{Err: err, MemberID: in.MemberID, Generation: -1}}
	case *Sync:
		if err == ErrLoading {
			err = ErrRebalanceInProgress
		}
		return Reply{in.To, &Synced{Err: err}}
	case *Heartbeat:
		if err == ErrLoading {
			err = nil
		}
		return Reply{in.To, &Beat{Err: err}}
	case *Leave:
		return Reply{in.To, &Left{Err: err}}
	case *Commit:
		out := make([]PartitionResult, 0, len(in.Offsets))
		for i := range in.Offsets {
			out = append(out, PartitionResult{in.Offsets[i].TopicPartition, err})
		}
		return Reply{in.To, &Committed{Offsets: out}}
	case *Fetch:
		return Reply{in.To, &Fetched{Err: err}}
	case *Describe:
		return Reply{in.To, &Described{Err: err}}
	case *List:
		return Reply{in.To, &Listed{Err: err}}
	case *Delete:
		return Reply{in.To, &Deleted{Err: err}}
	case *DeleteOffsets:
		return Reply{in.To, &OffsetsDeleted{Err: err}}
	}
	invariant.Broken("group: refused something that is no request", in)
	return Reply{}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
