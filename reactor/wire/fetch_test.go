package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// framed is what a broker sends for a response: size, correlation id, tags, body.
func framed(corr int32, flexible bool, resp kmsg.Response) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(corr))
	if flexible {
		b = append(b, 0)
	}
	b = resp.AppendTo(b)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// fetchCase is an answer in both forms.
type fetchCase struct {
	name    string
	code    int16
	session int32
	topics  []fetchCaseTopic
}

type fetchCaseTopic struct {
	name  string
	id    [16]byte
	parts []FetchResult
	data  [][]byte
}

func fetchCases() []fetchCase {
	ok := FetchResult{Index: 3, HighWatermark: 77, LastStable: 70, LogStart: 5, DivergingEpoch: -1, DivergingEnd: -1, LeaderID: -1, LeaderEpoch: -1}
	aborted := ok
	aborted.HasAborted, aborted.Aborted = true, []Aborted{{ProducerID: 9, FirstOffset: 11}, {ProducerID: 10, FirstOffset: 1 << 40}}
	none := ok
	none.HasAborted = true
	moved := ok
	moved.Err, moved.LeaderID, moved.LeaderEpoch = int16(NotLeaderOrFollower), 4, 19
	diverged := ok
	diverged.DivergingEpoch, diverged.DivergingEnd = 2, 20
	large := bytes.Repeat([]byte{0xAB}, 70_000)
	return []fetchCase{
		{name: "nothing", session: 12},
		{name: "request-error", code: int16(FetchSessionIDNotFound)},
		{name: "one-partition", session: 1, topics: []fetchCaseTopic{{"orders", [16]byte{1, 2}, []FetchResult{ok}, [][]byte{[]byte("records")}}}},
		{name: "all-kinds", topics: []fetchCaseTopic{
			{"a", [16]byte{7}, []FetchResult{aborted, moved}, [][]byte{large, {}}},
			{"b.b", [16]byte{8}, []FetchResult{none, diverged, ok}, [][]byte{{1}, {}, large[:200]}},
		}},
	}
}

func (c fetchCase) kmsg(version int16) *kmsg.FetchResponse {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version, resp.ErrorCode, resp.SessionID, resp.ThrottleMillis = version, c.code, c.session, 9
	for _, t := range c.topics {
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = t.name, t.id
		for i, p := range t.parts {
			rp := kmsg.NewFetchResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset = p.Index, p.Err, p.HighWatermark, p.LastStable, p.LogStart
			if p.HasAborted {
				rp.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
			}
			for _, a := range p.Aborted {
				ra := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
				ra.ProducerID, ra.FirstOffset = a.ProducerID, a.FirstOffset
				rp.AbortedTransactions = append(rp.AbortedTransactions, ra)
			}
			rp.DivergingEpoch.Epoch, rp.DivergingEpoch.EndOffset = p.DivergingEpoch, p.DivergingEnd
			rp.CurrentLeader.LeaderID, rp.CurrentLeader.LeaderEpoch = p.LeaderID, p.LeaderEpoch
			rp.PreferredReadReplica = -1
			rp.RecordBatches = t.data[i]
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// encode builds the answer as the broker does, the records spliced in where their span goes.
func (c fetchCase) encode(version int16, corr int32) []byte {
	var w Writer
	FetchHead(&w, version, corr, 9, c.code, c.session, len(c.topics))
	for _, t := range c.topics {
		FetchTopicHead(&w, version, t.name, t.id, len(t.parts))
		for i := range t.parts {
			p := t.parts[i]
			p.Records = int64(len(t.data[i]))
			FetchPartitionHead(&w, version, &p)
			w.B = append(w.B, t.data[i]...)
			FetchPartitionTail(&w, version, &p)
		}
		FetchTopicTail(&w, version)
	}
	FetchTail(&w, version)
	PatchSize(w.B, len(w.B)-4)
	return w.B
}

func TestFetchEncodesWhatKmsgDoes(t *testing.T) {
	for version := int16(0); version <= 18; version++ {
		for _, c := range fetchCases() {
			t.Run(fmt.Sprintf("v%d/%s", version, c.name), func(t *testing.T) {
				resp := c.kmsg(version)
				want := framed(42, resp.IsFlexible(), resp)
				if got := c.encode(version, 42); !bytes.Equal(got, want) {
					t.Fatalf("%d bytes differ from kmsg's %d\n got %.200x\nwant %.200x", len(got), len(want), got, want)
				}
			})
		}
	}
}

func TestFetchRequestParsesWhatKmsgWrites(t *testing.T) {
	for version := int16(0); version <= 18; version++ {
		t.Run(fmt.Sprintf("v%d", version), func(t *testing.T) { checkFetchRequest(t, version) })
	}
}

func checkFetchRequest(t *testing.T, version int16) {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.IsolationLevel = version, 500, 1, 1<<20, 1
	req.SessionID, req.SessionEpoch, req.Rack, req.ReplicaID = 7, 3, "r1", 5
	req.ReplicaState.ID, req.ReplicaState.Epoch = 5, 88
	if version < 15 {
		req.ReplicaState.ID, req.ReplicaState.Epoch = -1, -1
	}
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = "orders", [16]byte{3, 1}
	for i := range int32(2) {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch, p.LogStartOffset, p.PartitionMaxBytes = i, 4+i, 100+int64(i), 3, 2, 1000+i
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	gone := kmsg.NewFetchRequestForgottenTopic()
	gone.Topic, gone.TopicID, gone.Partitions = "old", [16]byte{9}, []int32{4, 5}
	req.ForgottenTopics = append(req.ForgottenTopics, gone)

	r := NewReader(req.AppendTo(nil))
	var f FetchRequest
	if err := f.Parse(&r, version); err != nil || r.Left() != 0 {
		t.Fatalf("err %v, %d bytes left", err, r.Left())
	}
	if f.MaxWaitMs != 500 || f.MinBytes != 1 || f.ReplicaID != 5 || len(f.Topics) != 1 || len(f.Parts) != 2 {
		t.Fatalf("head read wrongly: %+v", f)
	}
	if version >= 13 && f.Topics[0].ID != topic.TopicID || version < 13 && string(f.Topics[0].Name) != "orders" {
		t.Fatalf("topic %q %x", f.Topics[0].Name, f.Topics[0].ID)
	}
	p := f.Parts[1]
	want := FetchPart{Index: 1, LeaderEpoch: -1, Offset: 101, LastFetchedEpoch: -1, LogStart: -1, MaxBytes: 1001}
	if version >= 5 {
		want.LogStart = 2
	}
	if version >= 9 {
		want.LeaderEpoch = 5
	}
	if version >= 12 {
		want.LastFetchedEpoch = 3
	}
	if p != want {
		t.Fatalf("partition %+v, want %+v", p, want)
	}
	if version >= 7 && (f.SessionID != 7 || f.SessionEpoch != 3 || len(f.Forgotten) != 2 || f.Forgotten[1].Index != 5) {
		t.Fatalf("session %d/%d, forgotten %+v", f.SessionID, f.SessionEpoch, f.Forgotten)
	}
	if version >= 15 && f.ReplicaEpoch != 88 {
		t.Fatalf("replica epoch %d", f.ReplicaEpoch)
	}
}
