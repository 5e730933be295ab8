package broker_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a connection is owed when it is closed in the middle is taken back once: the answer behind the request that closes it has several
// spans of another shard.
func TestCloseBetweenAnswers(t *testing.T) {
	n := shared(t)
	c := n.dial(t)
	const partitions = 8
	name := topic(t, c, partitions)
	for i := range int32(partitions) {
		want(t, "produce", produceTo(c, name, i, values("v")).ErrorCode, 0)
	}
	all := fetchRequest(name, 0, 0)
	for i := range int32(partitions - 1) {
		all.Topics[0].Partitions = append(all.Topics[0].Partitions, fetchPartition(i+1, 0))
	}
	for i := range 50 {
		x, err := n.connect(t)
		if err != nil {
			t.Fatal(err)
		}
		// Partition i%2 decides which shard refuses; the long poll in front holds both answers until the refusal is known.
		poll := waiting(fetchRequest(name, int32(i%partitions), 1), 20, 1)
		b := x.encode(fetchVersion, poll)
		b = append(b, x.encode(produceVersion, produceRequest(name, partitions+1, 0, values("refused")))...)
		b = append(b, x.encode(fetchVersion, all)...)
		x.write(b)
		x.closed()
		x.close()
	}
	want(t, "records", len(readAll(c, name, 3, 0)), 1)
}

// A partition that a pipelined request makes a fetch session forget stays forgotten, although the request before it is answered later.
func TestFetchSessionForgetsBehindALongPoll(t *testing.T) {
	n := shared(t)
	reader, writer := n.dial(t), n.dial(t)
	name := topic(t, writer, 2)
	id := sessionOf(reader, name, 0, 1).SessionID
	poll, forget := waiting(next(id, 1), forLong, 1), next(id, 2)
	forget.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: name, Partitions: []int32{1}}}
	polled, forgot := reader.send(fetchVersion, poll), reader.send(fetchVersion, forget)
	want(t, "produce", produceTo(writer, name, 1, values("v")).ErrorCode, 0)
	if got := reader.receive(polled, poll).(*kmsg.FetchResponse); len(got.Topics) != 1 {
		t.Fatalf("the long poll was answered with %d topics", len(got.Topics))
	}
	reader.receive(forgot, forget)
	for epoch := int32(3); epoch < 6; epoch++ {
		got := ask[*kmsg.FetchResponse](reader, fetchVersion, next(id, epoch))
		want(t, "error", got.ErrorCode, 0)
		want(t, fmt.Sprint("topics told at epoch ", epoch), len(got.Topics), 0)
	}
}

// Requests that are done and wait for their turn to be answered do not keep what was written, and those that are not done keep no more than
// the memory for requests.
func TestAnswersHeldBehindALongPollKeepNoRecords(t *testing.T) {
	n := own(t, "pelton.request.memory.bytes=8388608", "socket.request.max.bytes=1000000")
	c, other := n.dial(t), n.dial(t)
	name := topic(t, other, 2)
	const requests, size = 200, 500_000
	frame := frameOf(0, produceVersion, produceRequest(name, 1, 1, values(strings.Repeat("x", size))))
	poll := waiting(fetchRequest(name, 0, 0), forLong, 1)
	corr := c.send(fetchVersion, poll)
	before := resident(t)
	for i := range uint32(requests) {
		binary.BigEndian.PutUint32(frame[8:], uint32(corr)+1+i)
		c.write(frame)
	}
	eventually(t, "all are written", func() bool { return listOffset(other, listVersion, name, 1, -1).Offset == requests })
	if grown := resident(t) - before; grown > requests*size/2 {
		t.Errorf("%d MB more while answers wait", grown>>20)
	}
	mustProduce(other, name, values("v"))
	c.receive(corr, poll)
	for i := range int32(requests) {
		got, _ := c.frame()
		want(t, "answer", got, corr+1+i)
	}
}

// A stop in the middle of a request that visits many partitions one by one ends.
func TestStopDuringALongRequest(t *testing.T) {
	n := own(t)
	c := n.dial(t)
	name := topic(t, c, 2)
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	q := kmsg.NewOffsetForLeaderEpochRequestTopic()
	q.Topic = name
	for i := range int32(100_000) {
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch = i%2, -1
		q.Partitions = append(q.Partitions, p)
	}
	req.Topics = append(req.Topics, q)
	c.send(3, req)
	n.dial(t).works()
	if err := n.end(); err != nil {
		t.Error("stopping:", err)
	}
}
