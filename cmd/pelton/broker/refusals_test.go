package broker_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A session is over names or over ids for its whole life (KIP-516); a request of the other kind changes nothing of it.
func TestFetchSessionKeepsToNamesOrIDs(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 2)
	id := topicID(c, name)
	for _, made := range []int16{12, 13} {
		open := fetchRequest(name, 0, 0)
		open.SessionEpoch, open.Topics[0].TopicID = 0, id
		session := ask[*kmsg.FetchResponse](c, made, open).SessionID
		used := 25 - made
		more := fetchRequest(name, 1, 0)
		more.SessionID, more.SessionEpoch, more.Topics[0].TopicID = session, 1, id
		for _, req := range []*kmsg.FetchRequest{next(session, 1), more} {
			resp := ask[*kmsg.FetchResponse](c, used, req)
			if resp.ErrorCode != 106 || resp.SessionID != 0 || len(resp.Topics) != 0 {
				t.Errorf("made by %d, used by %d: error %d session %d", made, used, resp.ErrorCode, resp.SessionID)
			}
		}
		want(t, "another epoch", ask[*kmsg.FetchResponse](c, used, next(session, 2)).ErrorCode, 71)
		resp := ask[*kmsg.FetchResponse](c, made, next(session, 1))
		if resp.ErrorCode != 0 || resp.SessionID != session {
			t.Errorf("the session afterwards: error %d", resp.ErrorCode)
		}
	}
}

// An isolation level that nobody knows: UNKNOWN_SERVER_ERROR, at the places where Kafka 3.9 has it.
func TestUnknownIsolationLevel(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	mustProduce(c, name, values("a"))
	for _, level := range []int8{2, -1} {
		for version, due := range map[int16]struct {
			head  int16
			parts int
		}{4: {0, 1}, 7: {-1, 1}, 12: {-1, 1}, 13: {-1, 0}} {
			req := fetchRequest(name, 0, 0)
			req.IsolationLevel, req.Topics[0].TopicID = level, topicID(c, name)
			resp := ask[*kmsg.FetchResponse](c, version, req)
			if resp.ErrorCode != due.head || resp.SessionID != 0 || len(resp.Topics) != due.parts {
				t.Errorf("level %d version %d: error %d, %d topics", level, version, resp.ErrorCode, len(resp.Topics))
			}
			for _, rt := range resp.Topics {
				if p := rt.Partitions[0]; p.ErrorCode != -1 || p.HighWatermark != -1 || len(p.RecordBatches) != 0 {
					t.Errorf("level %d version %d: %+v", level, version, p)
				}
			}
		}
		list := kmsg.NewPtrListOffsetsRequest()
		list.ReplicaID, list.IsolationLevel = -1, level
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp = -1
		list.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: name, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
		got := ask[*kmsg.ListOffsetsResponse](c, 7, list).Topics[0].Partitions[0]
		if got.ErrorCode != -1 || got.Offset != -1 || got.Timestamp != -1 {
			t.Errorf("ListOffsets: %+v", got)
		}
	}
	// A session: none is opened, one that is open moves on.
	open := fetchRequest(name, 0, 0)
	open.SessionEpoch, open.IsolationLevel = 0, 9
	want(t, "session of a refused request", ask[*kmsg.FetchResponse](c, 12, open).SessionID, 0)
	session := sessionOf(c, name, 0).SessionID
	bad := next(session, 1)
	bad.IsolationLevel = 9
	resp := ask[*kmsg.FetchResponse](c, fetchVersion, bad)
	if resp.ErrorCode != -1 || resp.SessionID != session {
		t.Errorf("in a session: error %d session %d", resp.ErrorCode, resp.SessionID)
	}
	want(t, "the epoch behind it", ask[*kmsg.FetchResponse](c, fetchVersion, next(session, 2)).ErrorCode, 0)
}

// A wait for records that is longer than connections.max.idle.ms: Kafka 3.9 closes the connection, and so does this broker; a shorter one
// is answered.
func TestIdleConnectionCloses(t *testing.T) {
	n := own(t, "connections.max.idle.ms=1500")
	c, waiter := n.dial(t), n.dial(t)
	name := topic(t, c, 1)
	short := waiting(fetchRequest(name, 0, 0), 300, 1)
	want(t, "a short wait", ask[*kmsg.FetchResponse](waiter, fetchVersion, short).Topics[0].Partitions[0].ErrorCode, 0)
	waiter.write(waiter.encode(fetchVersion, waiting(fetchRequest(name, 0, 0), forLong, 1)))
	if _, _, err := waiter.tryFrame(); err == nil {
		t.Error("a wait without an end was answered")
	}
	waiter.closed()
}
