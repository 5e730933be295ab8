// DescribeConfigs, versions 0 to 4.
//
//   - Topics: the effective values, with the layer each comes from and, when asked for, its synonyms and documentation.
//   - Brokers: an empty name means the dynamic settings of every broker; our own id means everything; another id is
//     INVALID_REQUEST, since that broker must be asked itself.
//   - Broker loggers have no levels here that could be set: the answer is empty. Other kinds are INVALID_REQUEST.
//   - Values of passwords, and of keys that nobody knows, are never shown.

package api

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/plan"
	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/reactor/wire"
)

func (b *Broker) describeConfigs(r *Request) {
	req := r.Msg.(*kmsg.DescribeConfigsRequest)
	resp := kmsg.NewPtrDescribeConfigsResponse()
	for i := range req.Resources {
		q := &req.Resources[i]
		rr := kmsg.NewDescribeConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = q.ResourceType, q.ResourceName
		entries, code, message := b.describeResource(q)
		if code == wire.None {
			message = noError
		}
		rr.ErrorCode, rr.ErrorMessage = int16(code), &message
		for j := range entries {
			rr.Configs = append(rr.Configs, describedEntry(&entries[j], req, r.Version))
		}
		resp.Resources = append(resp.Resources, rr)
	}
	r.Reply(resp)
}

func (b *Broker) describeResource(q *kmsg.DescribeConfigsRequestResource) ([]config.Entry, wire.Code, string) {
	c := b.Config()
	switch q.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		t := b.route.Load().topics[q.ResourceName]
		if err := plan.CheckName(q.ResourceName); err != nil {
			return nil, wire.InvalidTopicException, err.Error()
		}
		if t == nil {
			return nil, wire.UnknownTopicOrPartition, "no topic is named " + q.ResourceName
		}
		return c.Topic(t.topic.Config).Describe(q.ConfigNames), wire.None, ""
	case kmsg.ConfigResourceTypeBroker:
		if q.ResourceName == "" {
			return c.DescribeDefault(q.ConfigNames), wire.None, ""
		}
		if own := strconv.Itoa(int(b.Options().BrokerID)); q.ResourceName != own {
			return nil, wire.InvalidRequest, fmt.Sprintf("this is broker %s; ask broker %q itself, or give an empty name", own, q.ResourceName)
		}
		return c.DescribeBroker(q.ConfigNames), wire.None, ""
	case kmsg.ConfigResourceTypeBrokerLogger:
		return nil, wire.None, ""
	}
	return nil, wire.InvalidRequest, fmt.Sprintf("configurations of kind %d are not served", int8(q.ResourceType))
}

func describedEntry(e *config.Entry, req *kmsg.DescribeConfigsRequest, version int16) kmsg.DescribeConfigsResponseResourceConfig {
	k := kmsg.NewDescribeConfigsResponseResourceConfig()
	k.Name, k.Value, k.ReadOnly, k.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Sensitive
	k.IsDefault = e.Source == config.FromDefault
	k.Source = kmsg.ConfigSource(e.Source)
	k.ConfigType = kmsg.ConfigType(e.Kind)
	if version >= 3 && req.IncludeDocumentation && e.Doc != "" {
		k.Documentation = &e.Doc
	}
	if !req.IncludeSynonyms {
		return k
	}
	for _, s := range e.Synonyms {
		ks := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		ks.Name, ks.Value, ks.Source = s.Name, s.Value, kmsg.ConfigSource(s.Source)
		k.ConfigSynonyms = append(k.ConfigSynonyms, ks)
	}
	return k
}

// createdConfigs are the effective settings of a topic as the answer to its creation tells them.
func (b *Broker) createdConfigs(set map[string]string) []kmsg.CreateTopicsResponseTopicConfig {
	var out []kmsg.CreateTopicsResponseTopicConfig
	for _, e := range b.Config().Topic(set).Describe(nil) {
		k := kmsg.NewCreateTopicsResponseTopicConfig()
		k.Name, k.Value, k.ReadOnly, k.IsSensitive, k.Source = e.Name, e.Value, e.ReadOnly, e.Sensitive, int8(e.Source)
		out = append(out, k)
	}
	return out
}
