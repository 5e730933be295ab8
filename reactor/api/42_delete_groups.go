// DeleteGroups, versions 0 to 2.
//
//   - A group with members is NON_EMPTY_GROUP, one that is not there GROUP_ID_NOT_FOUND; one named twice is answered once.
//   - Answered once the tombstones of its offsets and of itself are in the log.

package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/group"
)

func (b *Broker) deleteGroups(r *Request) {
	req := r.Msg.(*kmsg.DeleteGroupsRequest)
	r.Detach()
	var ids []string
	for _, id := range req.Groups {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	resp := kmsg.NewPtrDeleteGroupsResponse()
	resp.Groups = make([]kmsg.DeleteGroupsResponseGroup, len(ids))
	all := newGather(len(ids), func() { r.Reply(resp) })
	for i, id := range ids {
		resp.Groups[i].Group = id
		b.askGroup(id, &group.Delete{Group: id, To: answerTo(func(a *group.Deleted) {
			resp.Groups[i].ErrorCode = int16(codeOf(a.Err))
			all.one()
		})})
	}
}
