// Heartbeat, versions 0 to 4.
//
//   - Keeps the member's session alive; REBALANCE_IN_PROGRESS tells it to join again.
//   - From version 3 on the instance id of a static member is checked.

package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/group"
)

func (b *Broker) heartbeat(r *Request) {
	req := r.Msg.(*kmsg.HeartbeatRequest)
	r.Detach()
	in := &group.Heartbeat{Group: req.Group, MemberID: req.MemberID, Instance: req.InstanceID, Generation: req.Generation}
	in.To = answerTo(func(a *group.Beat) {
		resp := kmsg.NewPtrHeartbeatResponse()
		resp.ErrorCode = int16(codeOf(a.Err))
		r.Reply(resp)
	})
	b.askGroup(req.Group, in)
}
