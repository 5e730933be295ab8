// SyncGroup, versions 0 to 5.
//
//   - The leader's brings the assignment, which is handed out once it is in the log; the others wait for that.
//   - From version 5 on protocol type and name must be there and be the group's.

package api

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/group"
)

func (b *Broker) syncGroup(r *Request) {
	req := r.Msg.(*kmsg.SyncGroupRequest)
	r.Detach()
	if r.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil) {
		r.Reply(syncAnswer(&group.Synced{Err: group.ErrInconsistentProtocol}))
		return
	}
	in := &group.Sync{
		Group: req.Group, MemberID: req.MemberID, Instance: req.InstanceID, Generation: req.Generation,
		ProtocolType: req.ProtocolType, ProtocolName: req.Protocol,
	}
	for i := range req.GroupAssignment {
		g := &req.GroupAssignment[i]
		in.Assignments = append(in.Assignments, group.Assignment{MemberID: g.MemberID, Bytes: bytes.Clone(g.MemberAssignment)})
	}
	in.To = answerTo(func(a *group.Synced) { r.Reply(syncAnswer(a)) })
	b.askGroup(req.Group, in)
}

func syncAnswer(a *group.Synced) *kmsg.SyncGroupResponse {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.ErrorCode = int16(codeOf(a.Err))
	resp.ProtocolType, resp.Protocol, resp.MemberAssignment = a.ProtocolType, a.ProtocolName, a.Assignment
	return resp
}
