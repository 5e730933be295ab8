package broker_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ranges are the versions that a broker advertises, by key.
func ranges(c *conn) map[int16][2]int16 {
	c.t.Helper()
	out := map[int16][2]int16{}
	for _, k := range ask[*kmsg.ApiVersionsResponse](c, 0, kmsg.NewPtrApiVersionsRequest()).ApiKeys {
		out[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
	}
	return out
}

// served are the versions of one key.
func served(c *conn, key int16) (lowest, highest int16) {
	c.t.Helper()
	r := ranges(c)[key]
	return r[0], r[1]
}

// C-35: a version from the future is answered in the layout of version 0, and the connection lives on.
func TestApiVersionsFromTheFuture(t *testing.T) {
	n := shared(t)
	for _, version := range []int16{5, 99} {
		c := n.dial(t)
		req := kmsg.NewPtrApiVersionsRequest()
		req.ClientSoftwareName, req.ClientSoftwareVersion = "case", "1"
		b := c.encode(4, req)
		b[6], b[7] = byte(version>>8), byte(version)
		c.write(b)
		_, body := c.frame()
		resp := kmsg.NewPtrApiVersionsResponse()
		if err := resp.ReadFrom(body); err != nil {
			t.Fatalf("v%d: not a version 0 answer: %v", version, err)
		}
		want(t, "error", resp.ErrorCode, 35)
		var found bool
		for _, k := range resp.ApiKeys {
			found = found || k.ApiKey == 18 && k.MinVersion == 0 && k.MaxVersion >= 3
		}
		if !found {
			t.Errorf("v%d: the range of ApiVersions is not told: %v", version, resp.ApiKeys)
		}
		c.works()
	}
}

// C-35: names of client software are checked from version 3 on.
func TestApiVersionsSoftwareName(t *testing.T) {
	c := shared(t).dial(t)
	for _, name := range []struct {
		name, version string
		code          int16
	}{{"case", "1.0", 0}, {"a-b.c", "v1", 0}, {"two words", "1", 42}, {"case", "", 42}, {"-case", "1", 42}, {"case", "1_0", 42}} {
		req := kmsg.NewPtrApiVersionsRequest()
		req.ClientSoftwareName, req.ClientSoftwareVersion = name.name, name.version
		want(t, name.name+" "+name.version, ask[*kmsg.ApiVersionsResponse](c, 3, req).ErrorCode, name.code)
	}
}

// Unknown keys and versions that nobody advertises close their connection and no other.
func TestUnknownVersionsClose(t *testing.T) {
	n := shared(t)
	bystander := n.dial(t)
	known := ranges(bystander)
	for key := int16(0); key < 130; key++ {
		r, ok := known[key]
		version := r[1] + 1
		if !ok {
			version = 0
		}
		if key == 18 || key == 7 { // answered; a header of its own
			continue
		}
		c := n.dial(t)
		c.write([]byte{0, 0, 0, 14, byte(key >> 8), byte(key), byte(version >> 8), byte(version), 0, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		c.closed()
	}
	for _, key := range []int16{-1, 4000, 32767} {
		c := n.dial(t)
		c.write([]byte{0, 0, 0, 10, byte(key >> 8), byte(key), 0, 0, 0, 0, 0, 1, 0, 0})
		c.closed()
	}
	bystander.works()
}

// C-14: every advertised version of every advertised key is answered, and decodes.
func TestEveryVersionAnswers(t *testing.T) {
	n := shared(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	id := topicID(c, name)
	mustProduce(c, name, values("one", "two"))
	for key, r := range ranges(c) {
		if betweenBrokers[key] {
			continue
		}
		for version := r[0]; version <= r[1]; version++ {
			for i, req := range wellFormed(key, version, name, id) {
				c := n.dial(t)
				resp, err := tryAsk[kmsg.Response](c, version, req)
				if err != nil {
					t.Errorf("%s v%d, request %d: %v", kmsg.NameForKey(key), version, i, err)
					continue
				}
				if f, ok := resp.(*kmsg.FetchResponse); ok {
					p := f.Topics[0].Partitions[0]
					if got := unpack(t, p.RecordBatches, 0); p.ErrorCode != 0 || len(got) != 2 {
						t.Errorf("Fetch v%d, request %d: error %d, %v", version, i, p.ErrorCode, got)
					}
				}
				c.close()
			}
		}
	}
}

// betweenBrokers are the keys that brokers and controllers use among themselves.
var betweenBrokers = map[int16]bool{4: true, 5: true, 6: true, 7: true, 56: true, 58: true, 67: true}

// wellFormed makes requests of a key that a broker can answer with or without an error.
func wellFormed(key, version int16, name string, id [16]byte) []kmsg.Request {
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	switch q := req.(type) {
	case *kmsg.ProduceRequest:
		p := produceRequest(name+"-none", 0, 1, values("v"))
		p.Topics[0].TopicID = [16]byte{1, 2, 3}
		return []kmsg.Request{p}
	case *kmsg.FetchRequest:
		var out []kmsg.Request
		for _, epoch := range []int32{-1, 0} {
			f := fetchRequest(name, 0, 0)
			f.SessionEpoch, f.Topics[0].TopicID = epoch, id
			out = append(out, f)
		}
		return out
	case *kmsg.ListOffsetsRequest:
		q.ReplicaID = -1
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp = -1
		q.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: name, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	case *kmsg.MetadataRequest:
		q.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	case *kmsg.ApiVersionsRequest:
		q.ClientSoftwareName, q.ClientSoftwareVersion = "case", "1"
	case *kmsg.JoinGroupRequest:
		q.Group, q.ProtocolType = fmt.Sprintf("%s-%d", name, version), "consumer"
		q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = 10_000, 10_000
		q.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription(name)}}
	case *kmsg.OffsetForLeaderEpochRequest:
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		q.ReplicaID = -1
		q.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: name, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
	case *kmsg.DescribeTopicPartitionsRequest:
		q.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: name}}
		q.ResponsePartitionLimit = 100
	case *kmsg.FindCoordinatorRequest:
		q.CoordinatorKey, q.CoordinatorKeys = name, []string{name}
	case *kmsg.OffsetFetchRequest:
		q.Group = name
		q.Groups = []kmsg.OffsetFetchRequestGroup{{Group: name, MemberEpoch: -1}}
		q.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: name, Partitions: []int32{0}}}
	case *kmsg.DescribeACLsRequest:
		q.ResourceType, q.ResourcePatternType, q.Operation, q.PermissionType = 1, 1, 1, 1
	case *kmsg.AddPartitionsToTxnRequest:
		q.TransactionalID = name
		q.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{TransactionalID: name}}
	case *kmsg.HeartbeatRequest:
		q.Group, q.MemberID = name, "m"
	}
	return []kmsg.Request{req}
}
