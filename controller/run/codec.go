package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/controller/meta"
)

// The JSON of the znodes. Readers take every version that Kafka ever wrote and ignore what they do not know; writers
// write what Kafka 3.9.1 writes. Order of keys carries no meaning.

var errBadNode = errors.New("run: a znode holds something that is not its JSON")

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil // only unsupported types fail, and there are none
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func decode(path string, data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %s: %w", errBadNode, path, err)
	}
	return nil
}

type brokerNode struct {
	Features  *map[string]json.RawMessage `json:"features,omitempty"`
	Protocols map[string]string           `json:"listener_security_protocol_map"`
	Endpoints []string                    `json:"endpoints"`
	Rack      *string                     `json:"rack,omitempty"`
	JMXPort   int32                       `json:"jmx_port"`
	Port      int32                       `json:"port"`
	Host      *string                     `json:"host"`
	Version   int                         `json:"version"`
	Timestamp json.RawMessage             `json:"timestamp"`
}

func encodeBroker(o *Options, v ibp, nowMs int64) []byte {
	n := brokerNode{Protocols: map[string]string{}, Endpoints: []string{}, Rack: o.Rack, JMXPort: o.JMXPort, Port: -1, Version: 4}
	if n.JMXPort == 0 {
		n.JMXPort = -1
	}
	if v.features() {
		n.Features, n.Version = &map[string]json.RawMessage{}, 5
	}
	for _, e := range o.Endpoints {
		n.Protocols[e.Listener] = e.Protocol
		n.Endpoints = append(n.Endpoints, e.Listener+"://"+net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
		if e.Protocol == "PLAINTEXT" && n.Host == nil { // the pair that readers before 0.9 look at
			host := e.Host
			n.Host, n.Port = &host, e.Port
		}
	}
	n.Timestamp = encode(strconv.FormatInt(nowMs, 10))
	return encode(n)
}

func decodeBroker(path string, id int32, data []byte, epoch int64) (*meta.Broker, error) {
	var n brokerNode
	if err := decode(path, data, &n); err != nil {
		return nil, err
	}
	b := &meta.Broker{ID: id, Epoch: epoch, Rack: n.Rack}
	for _, s := range n.Endpoints {
		e, err := parseEndpoint(s, n.Protocols)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", errBadNode, path, err)
		}
		b.Endpoints = append(b.Endpoints, e)
	}
	if len(b.Endpoints) == 0 && n.Host != nil {
		b.Endpoints = []meta.Endpoint{{Listener: "PLAINTEXT", Host: *n.Host, Port: n.Port, Protocol: "PLAINTEXT"}}
	}
	if n.Features != nil {
		b.Features = map[string]meta.FeatureRange{}
		for name, raw := range *n.Features {
			var r struct {
				Min int16 `json:"min_version"`
				Max int16 `json:"max_version"`
			}
			if json.Unmarshal(raw, &r) == nil {
				b.Features[name] = meta.FeatureRange{Min: r.Min, Max: r.Max}
			}
		}
	}
	return b, nil
}

func parseEndpoint(s string, protocols map[string]string) (meta.Endpoint, error) {
	listener, rest, ok := strings.Cut(s, "://")
	host, port, err := net.SplitHostPort(rest)
	n, perr := strconv.ParseInt(port, 10, 32)
	if !ok || err != nil || perr != nil {
		return meta.Endpoint{}, fmt.Errorf("the endpoint %q is not LISTENER://host:port", s)
	}
	protocol := protocols[listener]
	if protocol == "" {
		protocol = listener
	}
	return meta.Endpoint{Listener: listener, Host: host, Port: int32(n), Protocol: protocol}, nil
}

type topicNode struct {
	Partitions map[string][]int32 `json:"partitions"`
	TopicID    string             `json:"topic_id"`
	Adding     map[string][]int32 `json:"adding_replicas"`
	Removing   map[string][]int32 `json:"removing_replicas"`
}

// assignment is what a topic's znode says.
type assignment struct {
	id         meta.ID
	partitions []replicaSet
	version    int32 // of the znode
}

type replicaSet struct{ replicas, adding, removing []int32 }

func encodeTopic(a assignment) []byte {
	var b bytes.Buffer
	lists := func(key string, pick func(replicaSet) []int32, all bool) {
		fmt.Fprintf(&b, "%q:{", key)
		comma := ""
		for i, p := range a.partitions {
			if ids := pick(p); all || len(ids) > 0 {
				fmt.Fprintf(&b, "%s\"%d\":%s", comma, i, encode(append([]int32{}, ids...)))
				comma = ","
			}
		}
		b.WriteString("},")
	}
	b.WriteByte('{')
	lists("partitions", func(r replicaSet) []int32 { return r.replicas }, true)
	if !a.id.IsZero() {
		fmt.Fprintf(&b, "\"topic_id\":%q,", a.id.String())
	}
	lists("adding_replicas", func(r replicaSet) []int32 { return r.adding }, false)
	lists("removing_replicas", func(r replicaSet) []int32 { return r.removing }, false)
	b.WriteString("\"version\":3}")
	return b.Bytes()
}

func decodeTopic(path string, data []byte) (assignment, error) {
	var n topicNode
	if err := decode(path, data, &n); err != nil {
		return assignment{}, err
	}
	a := assignment{partitions: make([]replicaSet, len(n.Partitions))}
	if n.TopicID != "" {
		var err error
		if a.id, err = meta.ParseID(n.TopicID); err != nil {
			return assignment{}, fmt.Errorf("%w: %s: %w", errBadNode, path, err)
		}
	}
	for key, replicas := range n.Partitions {
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(a.partitions) {
			return assignment{}, fmt.Errorf("%w: %s: partition %q of %d", errBadNode, path, key, len(a.partitions))
		}
		a.partitions[i] = replicaSet{replicas, n.Adding[key], n.Removing[key]}
	}
	return a, nil
}

type stateNode struct {
	ControllerEpoch int32   `json:"controller_epoch"`
	Leader          int32   `json:"leader"`
	Version         int     `json:"version"`
	Recovery        int8    `json:"leader_recovery_state,omitempty"`
	LeaderEpoch     int32   `json:"leader_epoch"`
	ISR             []int32 `json:"isr"`
}

func encodeState(p *meta.Partition) []byte {
	n := stateNode{ControllerEpoch: p.ControllerEpoch, Leader: p.Leader, Version: 1, LeaderEpoch: p.LeaderEpoch, ISR: p.ISR}
	if p.Recovering {
		n.Recovery = 1
	}
	return encode(n)
}

func decodeState(path string, data []byte, p *meta.Partition) error {
	var n stateNode
	if err := decode(path, data, &n); err != nil {
		return err
	}
	p.ControllerEpoch, p.Leader, p.LeaderEpoch, p.ISR = n.ControllerEpoch, n.Leader, n.LeaderEpoch, n.ISR
	p.Recovering = n.Recovery == 1
	return nil
}

type configNode struct {
	Version int               `json:"version"`
	Config  map[string]string `json:"config"`
}

func encodeConfig(set map[string]string) []byte {
	if set == nil {
		set = map[string]string{}
	}
	return encode(configNode{1, set})
}

func decodeConfig(path string, data []byte) (map[string]string, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var n struct {
		Config map[string]json.RawMessage `json:"config"`
	}
	if err := decode(path, data, &n); err != nil {
		return nil, err
	}
	set := make(map[string]string, len(n.Config))
	for key, raw := range n.Config {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw) // a hand-written number or truth value
		}
		set[key] = s
	}
	return set, nil
}

// decodeChange reads a change notification: version 2 names a path, version 1 a kind and a name.
func decodeChange(path string, data []byte) (kind, name string, err error) {
	var n struct {
		Path string `json:"entity_path"`
		Kind string `json:"entity_type"`
		Name string `json:"entity_name"`
	}
	if err := decode(path, data, &n); err != nil {
		return "", "", err
	}
	if n.Path != "" {
		kind, name, _ = strings.Cut(n.Path, "/")
		return kind, name, nil
	}
	return n.Kind, n.Name, nil
}

type controllerNode struct {
	Version    int    `json:"version"`
	BrokerID   int32  `json:"brokerid"`
	Timestamp  string `json:"timestamp"`
	KraftEpoch int32  `json:"kraftControllerEpoch"`
}

type producerNode struct {
	Version int    `json:"version"`
	Broker  int32  `json:"broker"`
	Start   string `json:"block_start"`
	End     string `json:"block_end"`
}

func sameEndpoints(a, b []meta.Endpoint) bool {
	key := func(e meta.Endpoint) string {
		return e.Listener + "|" + net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
	}
	ka, kb := make([]string, 0, len(a)), make([]string, 0, len(b))
	for _, e := range a {
		ka = append(ka, key(e))
	}
	for _, e := range b {
		kb = append(kb, key(e))
	}
	slices.Sort(ka)
	slices.Sort(kb)
	return slices.Equal(ka, kb)
}
