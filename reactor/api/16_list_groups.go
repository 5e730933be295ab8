// ListGroups, versions 0 to 5.
//
//   - All groups that this broker coordinates; COORDINATOR_LOAD_IN_PROGRESS beside them while a partition is being read.
//   - From version 4 on only those in the given states, from 5 on of the given types; case does not matter. Every group here
//     is classic; a type that does not exist matches none.

package api

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// classicType is the type of every group here.
const classicType = "classic"

func (b *Broker) listGroups(r *Request) {
	req := r.Msg.(*kmsg.ListGroupsRequest)
	r.Detach()
	var hosts []*Hosted
	loading := false
	if t := b.route.Load().topics[offsetsTopic]; t != nil && listsClassic(req.TypesFilter) {
		for _, h := range t.hosts {
			if h != nil {
				hosts = append(hosts, h)
			}
		}
		for i := range t.hosts {
			loading = loading || t.recovers(int32(i))
		}
	}
	found := make([]*group.Listed, len(hosts))
	all := newGather(len(hosts), func() { r.Reply(listAnswer(found, loading)) })
	for i, h := range hosts {
		b.On(h.Topic, h.Partition, func(h *Hosted, err error) {
			if err != nil || h.coord == nil {
				all.one()
				return
			}
			h.coord.Do(&group.List{States: req.StatesFilter, To: answerTo(func(a *group.Listed) {
				found[i] = a
				all.one()
			})})
		})
	}
}

func listsClassic(types []string) bool {
	for _, t := range types {
		if strings.EqualFold(t, classicType) {
			return true
		}
	}
	return len(types) == 0
}

func listAnswer(found []*group.Listed, loading bool) *kmsg.ListGroupsResponse {
	resp := kmsg.NewPtrListGroupsResponse()
	if loading {
		resp.ErrorCode = int16(wire.CoordinatorLoadInProgress)
	}
	for _, a := range found {
		if a == nil {
			continue // not coordinated here
		}
		if a.Err != nil && resp.ErrorCode == 0 {
			resp.ErrorCode = int16(codeOf(a.Err))
		}
		for i := range a.Groups {
			g := kmsg.NewListGroupsResponseGroup()
			g.Group, g.ProtocolType, g.GroupState, g.GroupType = a.Groups[i].Group, a.Groups[i].ProtocolType, a.Groups[i].State, classicType
			resp.Groups = append(resp.Groups, g)
		}
	}
	return resp
}
