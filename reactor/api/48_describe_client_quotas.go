// DescribeClientQuotas, versions 0 and 1: the quotas of users, clients and addresses that a filter fits (KIP-546).
//
//   - A component names one kind: user, client-id or ip; exactly, the default, or any name. A kind that no component names may be there or
//     not, and with strict must not.
//   - The same kind twice and addresses beside others are INVALID_REQUEST, other kinds UNSUPPORTED_VERSION.

package api

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/reactor/quota"
)

// The kinds of entities as the protocol names them.
const (
	entityUser   = "user"
	entityClient = "client-id"
	entityIP     = "ip"
)

// quotaFilter is a request's filter; nil where a kind is not named.
type quotaFilter struct {
	user, client, ip *kmsg.DescribeClientQuotasRequestComponent
	strict           bool
}

func (b *Broker) describeClientQuotas(r *Request) {
	req := r.Msg.(*kmsg.DescribeClientQuotasRequest)
	resp := kmsg.NewPtrDescribeClientQuotasResponse()
	f, err := quotaFilterOf(req)
	if err != nil {
		resp.ErrorCode, resp.ErrorMessage = int16(codeOf(err)), kmsg.StringPtr(messageOf(err))
		r.Reply(resp)
		return
	}
	resp.Entries = []kmsg.DescribeClientQuotasResponseEntry{}
	img := b.Image()
	for e, set := range img.Quotas {
		if f.fits(e) {
			resp.Entries = append(resp.Entries, quotaEntry(e, set))
		}
	}
	slices.SortFunc(resp.Entries, func(a, b kmsg.DescribeClientQuotasResponseEntry) int {
		return slices.CompareFunc(a.Entity, b.Entity, func(x, y kmsg.DescribeClientQuotasResponseEntryEntity) int {
			return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(nameOr(x.Name), nameOr(y.Name)))
		})
	})
	r.Reply(resp)
}

func nameOr(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}

func quotaFilterOf(req *kmsg.DescribeClientQuotasRequest) (f quotaFilter, err error) {
	f.strict = req.Strict
	for i := range req.Components {
		c := &req.Components[i]
		at, what := &f.user, "user"
		switch c.EntityType {
		case entityUser:
		case entityClient:
			at, what = &f.client, "client"
		case entityIP:
			at, what = &f.ip, "ip"
		case "":
			return f, refusal(run.ErrInvalidRequest, "Unexpected empty filter component entity type")
		default:
			return f, refusal(errUnsupported, "Custom entity type '%s' not supported", c.EntityType)
		}
		if *at != nil {
			return f, refusal(run.ErrInvalidRequest, "Duplicate %s filter component entity type", what)
		}
		if c.MatchType == kmsg.QuotasMatchTypeExact && c.Match == nil || c.MatchType < 0 || c.MatchType > kmsg.QuotasMatchTypeAny {
			return f, refusal(run.ErrInvalidRequest, "Unexpected match type: %d", int8(c.MatchType))
		}
		*at = c
	}
	if f.ip != nil && (f.user != nil || f.client != nil) {
		return f, refusal(run.ErrInvalidRequest, "Invalid entity filter component combination, IP filter component should not be used with user or clientId filter component.")
	}
	return f, nil
}

// fits tells whether an entity is asked for.
func (f *quotaFilter) fits(e meta.QuotaEntity) bool {
	return f.one(f.user, e.User) && f.one(f.client, e.Client) && f.one(f.ip, e.IP)
}

func (f *quotaFilter) one(c *kmsg.DescribeClientQuotasRequestComponent, name string) bool {
	switch {
	case c == nil:
		return !f.strict || name == ""
	case c.MatchType == kmsg.QuotasMatchTypeDefault:
		return name == meta.DefaultEntity
	case c.MatchType == kmsg.QuotasMatchTypeAny:
		return name != ""
	case f.ip == c:
		return name == *c.Match
	}
	return name == quota.Encode(*c.Match)
}

func quotaEntry(e meta.QuotaEntity, set map[string]string) (entry kmsg.DescribeClientQuotasResponseEntry) {
	for _, part := range [...]struct{ kind, name string }{{entityClient, e.Client}, {entityIP, e.IP}, {entityUser, e.User}} {
		if part.name == "" {
			continue
		}
		entity := kmsg.NewDescribeClientQuotasResponseEntryEntity()
		if entity.Type = part.kind; part.name != meta.DefaultEntity {
			entity.Name = kmsg.StringPtr(quota.Decode(part.name))
		}
		entry.Entity = append(entry.Entity, entity)
	}
	for key, text := range set {
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			v := kmsg.NewDescribeClientQuotasResponseEntryValue()
			v.Key, v.Value = key, n
			entry.Values = append(entry.Values, v)
		}
	}
	slices.SortFunc(entry.Values, func(a, b kmsg.DescribeClientQuotasResponseEntryValue) int { return cmp.Compare(a.Key, b.Key) })
	return entry
}
