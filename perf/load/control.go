package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// clientID is what brokers see of this program.
const clientID = "pelton-perf"

// Control is a connection for the few requests around a run: topics, offsets, producer ids.
type Control struct {
	w    *wire
	corr int32
	buf  []byte
}

// DialControl connects to a broker.
func DialControl(addr string) (*Control, error) {
	w, err := dial(addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConnect, err)
	}
	return &Control{w: w}, nil
}

// Close ends the connection.
func (c *Control) Close() { c.w.Close() }

// Do sends a request, whose version must be set, and fills in the answer.
func (c *Control) Do(req kmsg.Request) (kmsg.Response, error) {
	c.corr++
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))
	if _, err := c.w.Write(f.AppendRequest(nil, req, c.corr)); err != nil {
		return nil, err
	}
	var head [4]byte
	if _, err := io.ReadFull(c.w, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n < 4 || n > 256<<20 {
		return nil, fmt.Errorf("answer of %d bytes", n)
	}
	if cap(c.buf) < n {
		c.buf = make([]byte, n)
	}
	b := c.buf[:n]
	if _, err := io.ReadFull(c.w, b); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	body := b[4:]
	if resp.IsFlexible() && resp.Key() != 18 {
		if len(body) == 0 || body[0] != 0 {
			return nil, errors.New("answer header with tags")
		}
		body = body[1:]
	}
	return resp, resp.ReadFrom(body)
}

// CreateTopic makes a topic; one that is there already is taken as it is, and made is false.
func (c *Control) CreateTopic(name string, partitions int, config map[string]string) (made bool, err error) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 4, 30000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(partitions), 1
	for k, v := range config {
		e := kmsg.NewCreateTopicsRequestTopicConfig()
		e.Name, e.Value = k, &v
		t.Configs = append(t.Configs, e)
	}
	sort.Slice(t.Configs, func(i, j int) bool { return t.Configs[i].Name < t.Configs[j].Name })
	req.Topics = append(req.Topics, t)
	resp, err := c.Do(req)
	if err != nil {
		return false, fmt.Errorf("create topic %s: %w", name, err)
	}
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		if made = err == nil; !made && !errors.Is(err, kerr.TopicAlreadyExists) {
			return false, fmt.Errorf("create topic %s: %w", name, err)
		}
	}
	return made, nil
}

// DeleteTopic removes a topic.
func (c *Control) DeleteTopic(name string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis, req.TopicNames = 3, 30000, []string{name}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.DeleteTopicsResponse).Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("delete topic %s: %w", name, err)
		}
	}
	return nil
}

// Leaders gives the address of each partition's leader, in order of partition.
func (c *Control) Leaders(topic string) ([]string, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 7
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr(topic)}}
	resp, err := c.Do(req)
	if err != nil {
		return nil, fmt.Errorf("metadata of %s: %w", topic, err)
	}
	md := resp.(*kmsg.MetadataResponse)
	brokers := map[int32]string{}
	for _, b := range md.Brokers {
		brokers[b.NodeID] = fmt.Sprintf("%s:%d", b.Host, b.Port)
	}
	var leaders []string
	for _, t := range md.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return nil, fmt.Errorf("metadata of %s: %w", topic, err)
		}
		leaders = make([]string, len(t.Partitions))
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("metadata of %s-%d: %w", topic, p.Partition, err)
			}
			if int(p.Partition) < len(leaders) {
				leaders[p.Partition] = brokers[p.Leader]
			}
		}
	}
	if len(leaders) == 0 {
		return nil, fmt.Errorf("metadata of %s: no partitions", topic)
	}
	return leaders, nil
}

// Offsets that ListOffsets knows by name.
const (
	AtEnd   = -1
	AtStart = -2
)

// Offsets lists the start or the end of each partition that this broker leads.
func (c *Control) Offsets(topic string, partitions []int32, at int64) (map[int32]int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 4, -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for _, p := range partitions {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch = p, at, -1
		t.Partitions = append(t.Partitions, rp)
	}
	req.Topics = append(req.Topics, t)
	resp, err := c.Do(req)
	if err != nil {
		return nil, fmt.Errorf("offsets of %s: %w", topic, err)
	}
	offsets := map[int32]int64{}
	for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("offsets of %s-%d: %w", topic, p.Partition, err)
			}
			offsets[p.Partition] = p.Offset
		}
	}
	return offsets, nil
}

// ProducerID asks for an id for idempotent producing.
func (c *Control) ProducerID() (id int64, epoch int16, err error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = 1, 60000, -1, -1
	resp, err := c.Do(req)
	if err != nil {
		return 0, 0, fmt.Errorf("producer id: %w", err)
	}
	r := resp.(*kmsg.InitProducerIDResponse)
	return r.ProducerID, r.ProducerEpoch, kerr.ErrorForCode(r.ErrorCode)
}
