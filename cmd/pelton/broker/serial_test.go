package broker_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kafka takes a connection's next request when the last is answered. A client that sends several at once sees the same here: a topic exists for
// what comes behind its creation, and takes everything that came before its deletion.
func TestRequestsOfAConnectionTakeEffectInOrder(t *testing.T) {
	n := shared(t)
	for i := range 20 {
		c := n.dial(t)
		name := fmt.Sprintf("%s-%d", unique(t), i)
		create, remove := creation(name, 4), kmsg.NewPtrDeleteTopicsRequest()
		remove.TimeoutMillis, remove.TopicNames = 20_000, []string{name}
		bytes := c.encode(5, create)
		var produced []*kmsg.ProduceRequest
		for p := range int32(4) {
			req := produceRequest(name, p, 1, values("kept"))
			produced = append(produced, req)
			bytes = append(bytes, c.encode(produceVersion, req)...)
		}
		bytes = append(bytes, c.encode(4, remove)...)
		c.write(bytes)

		first := c.corr - 5
		want(t, "creating", c.receive(first, create).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode, 0)
		for j, req := range produced {
			got := c.receive(first+1+int32(j), req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
			want(t, "error of a record between", got.ErrorCode, 0)
		}
		want(t, "deleting", c.receive(c.corr, remove).(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode, 0)
	}
}
