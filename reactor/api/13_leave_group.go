// LeaveGroup, versions 0 to 5.
//
//   - Before version 3 one member leaves and the answer has one code; from 3 on several, each with a code of its own.
//   - From 3 on an instance id without a member id removes a static member for an administrator; from 5 on with a reason.

package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/group"
)

func (b *Broker) leaveGroup(r *Request) {
	req := r.Msg.(*kmsg.LeaveGroupRequest)
	r.Detach()
	in := &group.Leave{Group: req.Group}
	if r.Version < 3 {
		in.Members = []group.Leaver{{MemberID: req.MemberID}}
	}
	for i := range req.Members {
		l := group.Leaver{MemberID: req.Members[i].MemberID, Instance: req.Members[i].InstanceID}
		if req.Members[i].Reason != nil {
			l.Reason = *req.Members[i].Reason
		}
		in.Members = append(in.Members, l)
	}
	in.To = answerTo(func(a *group.Left) { r.Reply(leaveAnswer(r.Version, a)) })
	b.askGroup(req.Group, in)
}

func leaveAnswer(version int16, a *group.Left) *kmsg.LeaveGroupResponse {
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.ErrorCode = int16(codeOf(a.Err))
	if version < 3 {
		if a.Err == nil {
			resp.ErrorCode = int16(codeOf(a.Members[0].Err))
		}
		return resp
	}
	for i := range a.Members {
		m := kmsg.NewLeaveGroupResponseMember()
		m.MemberID, m.InstanceID, m.ErrorCode = a.Members[i].MemberID, a.Members[i].Instance, int16(codeOf(a.Members[i].Err))
		resp.Members = append(resp.Members, m)
	}
	return resp
}
