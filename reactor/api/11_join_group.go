// JoinGroup, versions 0 to 9.
//
//   - Version 0 has no rebalance timeout: the session timeout counts.
//   - From 4 on a dynamic member without an id is given one and comes again (MEMBER_ID_REQUIRED).
//   - From 5 on static members, from 9 on a static leader that comes back may be told to skip the assignment.
//   - Before 7 a protocol name that is not there is the empty string, from 7 on null.

package api

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/group"
)

func (b *Broker) joinGroup(r *Request) {
	req := r.Msg.(*kmsg.JoinGroupRequest)
	r.Detach()
	in := &group.Join{
		Group: req.Group, MemberID: req.MemberID, Instance: req.InstanceID,
		NeedID: r.Version >= 4 && req.InstanceID == nil, CanSkip: r.Version >= 9,
		ClientID: r.ClientID, ClientHost: r.clientHost(),
		RebalanceMs: req.RebalanceTimeoutMillis, SessionMs: req.SessionTimeoutMillis, ProtocolType: req.ProtocolType,
	}
	if r.Version == 0 {
		in.RebalanceMs = req.SessionTimeoutMillis
	}
	if req.Reason != nil {
		in.Reason = *req.Reason
	}
	for i := range req.Protocols {
		p := &req.Protocols[i]
		in.Protocols = append(in.Protocols, group.Protocol{Name: p.Name, Metadata: bytes.Clone(p.Metadata)})
	}
	in.To = answerTo(func(a *group.Joined) { r.Reply(joinAnswer(r.Version, a)) })
	b.askGroup(req.Group, in)
}

func joinAnswer(version int16, a *group.Joined) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.ErrorCode = int16(codeOf(a.Err))
	resp.Generation, resp.MemberID, resp.LeaderID = a.Generation, a.MemberID, a.Leader
	resp.ProtocolType, resp.Protocol, resp.SkipAssignment = a.ProtocolType, a.ProtocolName, a.SkipAssignment
	if resp.Protocol == nil && version < 7 {
		none := ""
		resp.Protocol = &none
	}
	for i := range a.Members {
		m := kmsg.NewJoinGroupResponseMember()
		m.MemberID, m.InstanceID, m.ProtocolMetadata = a.Members[i].MemberID, a.Members[i].Instance, a.Members[i].Metadata
		resp.Members = append(resp.Members, m)
	}
	return resp
}
