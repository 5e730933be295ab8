// DescribeGroups, versions 0 to 6.
//
//   - A group that is not there is Dead without an error; from version 6 on GROUP_ID_NOT_FOUND with a sentence.
//   - Metadata, assignments and the protocol are told of a stable group only.
//   - From 3 on the authorised operations, where they are asked for.

package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/reactor/wire"
)

func (b *Broker) describeGroups(r *Request) {
	req := r.Msg.(*kmsg.DescribeGroupsRequest)
	r.Detach()
	resp := kmsg.NewPtrDescribeGroupsResponse()
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, len(req.Groups))
	all := newGather(len(req.Groups), func() { r.Reply(resp) })
	for i, id := range req.Groups {
		out := &resp.Groups[i]
		out.Default()
		out.Group = id
		in := &group.Describe{Group: id, To: answerTo(func(a *group.Described) {
			describeAnswer(r.Version, req.IncludeAuthorizedOperations, a, out)
			all.one()
		})}
		b.askGroup(id, in)
	}
}

func describeAnswer(version int16, operations bool, a *group.Described, out *kmsg.DescribeGroupsResponseGroup) {
	out.ErrorCode = int16(codeOf(a.Err))
	out.State, out.ProtocolType, out.Protocol = a.State, a.ProtocolType, a.Protocol
	if a.Err == nil && !a.Found && version >= 6 {
		message := fmt.Sprintf("there is no group %s", out.Group)
		out.ErrorCode, out.ErrorMessage = int16(wire.GroupIDNotFound), &message
	}
	if operations && out.ErrorCode == 0 {
		out.AuthorizedOperations = describeOperations(version)
	}
	for i := range a.Members {
		d := &a.Members[i]
		m := kmsg.NewDescribeGroupsResponseGroupMember()
		m.MemberID, m.InstanceID, m.ClientID, m.ClientHost = d.MemberID, d.Instance, d.ClientID, d.ClientHost
		m.ProtocolMetadata, m.MemberAssignment = d.Metadata, d.Assignment
		out.Members = append(out.Members, m)
	}
}

// describeOperations is what may be done with a group. From version 6 on configurations are among it: groups have some
// since Kafka 4.
func describeOperations(version int16) int32 {
	if version >= 6 {
		return groupOperations | 1<<10 | 1<<11
	}
	return groupOperations
}
