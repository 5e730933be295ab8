// AlterClientQuotas, versions 0 and 1: sets and removes quotas of users, clients and addresses (KIP-546).
//
//   - Each entry succeeds or fails by itself. What is wrong with it is INVALID_REQUEST.
//   - Byte rates and connection rates are whole numbers; a value within a millionth of one is it.
//   - validate_only checks and changes nothing. The answer comes when this broker keeps to the new quotas.

package api

import (
	"context"
	"math"
	"net/netip"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/reactor/quota"
)

func (b *Broker) alterClientQuotas(r *Request) {
	req := r.Msg.(*kmsg.AlterClientQuotasRequest)
	resp := kmsg.NewPtrAlterClientQuotasResponse()
	for i := range req.Entries {
		entry := &req.Entries[i]
		re := kmsg.NewAlterClientQuotasResponseEntry()
		for _, part := range entry.Entity {
			e := kmsg.NewAlterClientQuotasResponseEntryEntity()
			e.Type, e.Name = part.Type, part.Name
			re.Entity = append(re.Entity, e)
		}
		if err := b.alterQuota(entry, req.ValidateOnly); err != nil {
			re.ErrorCode, re.ErrorMessage = int16(codeOf(err)), kmsg.StringPtr(messageOf(err))
		}
		resp.Entries = append(resp.Entries, re)
	}
	r.Reply(resp)
}

func (b *Broker) alterQuota(entry *kmsg.AlterClientQuotasRequestEntry, validate bool) error {
	e, err := quotaEntityOf(entry.Entity)
	if err != nil {
		return err
	}
	set, drop, err := quotaChanges(e, entry.Ops)
	if err != nil || validate {
		return err
	}
	return b.cluster.AlterQuota(context.Background(), e, set, drop)
}

// quotaEntityOf reads whom an entry is about, into the names of the znodes.
func quotaEntityOf(parts []kmsg.AlterClientQuotasRequestEntryEntity) (e meta.QuotaEntity, err error) {
	if len(parts) == 0 {
		return e, refusal(run.ErrInvalidRequest, "Invalid empty client quota entity")
	}
	for _, part := range parts {
		name := meta.DefaultEntity
		if part.Name != nil {
			if name = quota.Encode(*part.Name); part.Type == entityIP {
				name = *part.Name
			}
		}
		switch part.Type {
		case entityUser:
			e.User = name
		case entityClient:
			e.Client = name
		case entityIP:
			e.IP = name
		default:
			return e, refusal(run.ErrInvalidRequest, "Unhandled client quota entity type: %s", part.Type)
		}
		if part.Name != nil && *part.Name == "" {
			return e, refusal(run.ErrInvalidRequest, "Empty %s not supported", part.Type)
		}
	}
	switch {
	case e.IP == "":
		return e, nil
	case e.User != "" || e.Client != "":
		return e, refusal(run.ErrInvalidRequest, "Invalid quota entity combination, IP entity should not be used with user/client ID entity.")
	}
	if _, err := netip.ParseAddr(e.IP); e.IP != meta.DefaultEntity && (err != nil || strings.Contains(e.IP, "%")) {
		return e, refusal(run.ErrInvalidRequest, "%s is not a valid IP or resolvable host.", e.IP)
	}
	return e, nil
}

// quotaNumber is what values a quota takes.
type quotaNumber uint8

const (
	quotaUnknown quotaNumber = iota
	quotaLong
	quotaInt
	quotaDouble
)

func quotaNumberOf(e meta.QuotaEntity, key string) quotaNumber {
	switch {
	case e.IP != "" && key == "connection_creation_rate":
		return quotaInt
	case e.IP != "":
	case key == "producer_byte_rate" || key == "consumer_byte_rate":
		return quotaLong
	case key == "request_percentage" || key == "controller_mutation_rate":
		return quotaDouble
	}
	return quotaUnknown
}

// quotaChanges reads an entry's changes. Removing what nobody knows is no error: it may be left from another version.
func quotaChanges(e meta.QuotaEntity, ops []kmsg.AlterClientQuotasRequestEntryOp) (set map[string]string, drop []string, err error) {
	set = map[string]string{}
	for _, op := range ops {
		if op.Remove {
			delete(set, op.Key)
			drop = append(drop, op.Key)
			continue
		}
		text, err := quotaText(quotaNumberOf(e, op.Key), op)
		if err != nil {
			return nil, nil, err
		}
		set[op.Key] = text
	}
	return set, drop, nil
}

// quotaText is a value as the znode holds it.
func quotaText(n quotaNumber, op kmsg.AlterClientQuotasRequestEntryOp) (string, error) {
	const epsilon = 1e-6
	kind, most := "LONG", float64(math.MaxInt64)
	switch n {
	case quotaUnknown:
		return "", refusal(run.ErrInvalidRequest, "Invalid configuration key %s", op.Key)
	case quotaDouble:
		return config.JavaDouble(op.Value), nil
	case quotaInt:
		kind, most = "INT", math.MaxInt32
	case quotaLong:
	}
	whole := math.Trunc(op.Value + epsilon)
	if math.IsNaN(op.Value) || math.Abs(whole) > most || math.Abs(whole-op.Value) > epsilon {
		return "", refusal(run.ErrInvalidRequest, "Configuration %s must be a %s value", op.Key, kind)
	}
	return strconv.FormatInt(int64(whole), 10), nil
}
