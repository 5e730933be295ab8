// IncrementalAlterConfigs, versions 0 and 1: sets, deletes, appends to and subtracts from single keys.
//
//   - The same resource or the same key twice is INVALID_REQUEST; so is a null value, but for a deletion.
//   - Append and subtract work on lists, from the default when the key is not set; on any other key INVALID_CONFIG.
//   - A value equal to the default is kept as the topic's own (C-41).

package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/internal/config"
)

func (b *Broker) incrementalAlterConfigs(r *Request) {
	req := r.Msg.(*kmsg.IncrementalAlterConfigsRequest)
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	count := map[configResource]int{}
	for i := range req.Resources {
		count[configResource{req.Resources[i].ResourceType, req.Resources[i].ResourceName}]++
	}
	for i := range req.Resources {
		q := &req.Resources[i]
		res := configResource{q.ResourceType, q.ResourceName}
		rr := kmsg.NewIncrementalAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = q.ResourceType, q.ResourceName
		changes, err := incremental(q)
		rr.ErrorCode, rr.ErrorMessage = b.alterResource(res, count[res], req.ValidateOnly, err,
			func(t *config.Table, old map[string]string) (map[string]string, error) { return t.Apply(old, changes) })
		resp.Resources = append(resp.Resources, rr)
	}
	r.Reply(resp)
}

func incremental(q *kmsg.IncrementalAlterConfigsRequestResource) ([]config.Change, error) {
	var changes []config.Change
	seen := map[string]bool{}
	for _, c := range q.Configs {
		switch {
		case seen[c.Name]:
			return nil, refusal(run.ErrInvalidRequest, "the request changes %s more than once", c.Name)
		case c.Value == nil && config.Op(c.Op) != config.OpDelete:
			return nil, refusal(run.ErrInvalidRequest, "the value of %s is null", c.Name)
		}
		seen[c.Name] = true
		change := config.Change{Name: c.Name, Op: config.Op(c.Op)}
		if c.Value != nil {
			change.Value = *c.Value
		}
		changes = append(changes, change)
	}
	return changes, nil
}
