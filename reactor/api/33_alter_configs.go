// AlterConfigs, versions 0 to 2: replaces the whole set of a resource; what the request does not name goes back to its default.
//
//   - The same resource twice is INVALID_REQUEST for it; a null value INVALID_REQUEST; a key or value that is refused INVALID_CONFIG.
//   - validate_only checks and changes nothing.

package api

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/internal/config"
)

// configResource names what a change of configuration is about.
type configResource struct {
	kind kmsg.ConfigResourceType
	name string
}

func (b *Broker) alterConfigs(r *Request) {
	req := r.Msg.(*kmsg.AlterConfigsRequest)
	resp := kmsg.NewPtrAlterConfigsResponse()
	count := map[configResource]int{}
	for i := range req.Resources {
		count[configResource{req.Resources[i].ResourceType, req.Resources[i].ResourceName}]++
	}
	for i := range req.Resources {
		q := &req.Resources[i]
		res := configResource{q.ResourceType, q.ResourceName}
		rr := kmsg.NewAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = q.ResourceType, q.ResourceName
		changes, err := replacing(q)
		rr.ErrorCode, rr.ErrorMessage = b.alterResource(res, count[res], req.ValidateOnly, err,
			func(*config.Table, map[string]string) (map[string]string, error) { return applied(changes), nil })
		resp.Resources = append(resp.Resources, rr)
	}
	r.Reply(resp)
}

// nextConfig works out a resource's next set of overrides from the old one.
type nextConfig func(table *config.Table, old map[string]string) (map[string]string, error)

// alterResource carries out what one entry of either request asks for, unless what it says is wrong in itself, and tells how it ended.
func (b *Broker) alterResource(res configResource, named int, validate bool, wrong error, next nextConfig) (code int16, message *string) {
	err := wrong
	if named > 1 {
		err = refusal(run.ErrInvalidRequest, "the request names this resource more than once")
	}
	if err == nil {
		err = b.changeResource(res, validate, next)
	}
	if err != nil {
		return int16(codeOf(err)), kmsg.StringPtr(messageOf(err))
	}
	return 0, nil
}

func replacing(q *kmsg.AlterConfigsRequestResource) ([]config.Change, error) {
	var changes []config.Change
	for _, c := range q.Configs {
		if c.Value == nil {
			return nil, refusal(run.ErrInvalidRequest, "the value of %s is null", c.Name)
		}
		changes = append(changes, config.Change{Name: c.Name, Op: config.OpSet, Value: *c.Value})
	}
	return changes, nil
}

func applied(changes []config.Change) map[string]string {
	set := map[string]string{}
	for _, c := range changes {
		set[c.Name] = c.Value
	}
	return set
}

// changeResource works out a resource's next set of overrides, checks it and has the controller write it.
func (b *Broker) changeResource(res configResource, validate bool, next nextConfig) error {
	switch res.kind {
	case kmsg.ConfigResourceTypeTopic:
		return b.alterTopic(res.name, validate, next)
	case kmsg.ConfigResourceTypeBroker:
		return b.alterBroker(res.name, validate, next)
	}
	return refusal(run.ErrInvalidRequest, "configurations of kind %d cannot be changed", int8(res.kind))
}

func (b *Broker) alterTopic(name string, validate bool, next nextConfig) error {
	t := b.route.Load().topics[name]
	if t == nil {
		return refusal(run.ErrUnknownTopic, "no topic is named %s", name)
	}
	c := b.Config()
	set, err := next(c.Topics(), t.topic.Config)
	if err == nil {
		err = c.ValidateTopic(set)
	}
	if err != nil {
		return invalidConfig(run.ErrInvalidConfig, err)
	}
	if validate {
		return nil
	}
	return b.cluster.AlterTopicConfig(context.Background(), name, set)
}

func (b *Broker) alterBroker(name string, validate bool, next nextConfig) error {
	var id *int32
	img := b.Image()
	old := img.DefaultBrokerConfig
	if name != "" {
		n, err := strconv.ParseInt(name, 10, 32)
		if err != nil || int32(n) != b.Options().BrokerID {
			return refusal(run.ErrInvalidRequest, "this is broker %d; send the change to broker %q itself", b.Options().BrokerID, name)
		}
		own := int32(n)
		id, old = &own, img.BrokerConfigs[own]
	}
	c := b.Config()
	set, err := next(c.Brokers(), old)
	if err == nil {
		err = c.ValidateBroker(set, id != nil)
	}
	if err != nil {
		return invalidConfig(run.ErrInvalidRequest, err)
	}
	if validate {
		return nil
	}
	return b.cluster.AlterBrokerConfig(context.Background(), id, set)
}

// invalidConfig gives the table's refusals their kind: INVALID_CONFIG for topics, INVALID_REQUEST for brokers, as Kafka in ZooKeeper mode.
func invalidConfig(kind, err error) error {
	var value *config.ValueError
	var invalid *config.InvalidError
	if errors.As(err, &value) || errors.As(err, &invalid) {
		return refusal(kind, "%s", err.Error())
	}
	return fmt.Errorf("api: %w", err)
}
