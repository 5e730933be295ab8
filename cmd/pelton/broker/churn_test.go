package broker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topics come and go under producers and consumers that use them: errors that clients understand, and no connection is lost.
func TestTopicsComeAndGo(t *testing.T) {
	n := own(t, "auto.create.topics.enable=false")
	c := n.dial(t)
	const rounds, partitions = 25, 4
	stop := make(chan struct{})
	var wait sync.WaitGroup
	for i := range int32(partitions) {
		wait.Add(2)
		go func() {
			defer wait.Done()
			if err := churn(t, n, stop, func(c *conn) (int16, error) {
				resp, err := tryAsk[*kmsg.ProduceResponse](c, produceVersion, produceRequest("churn", i, -1, values("v")))
				if err != nil {
					return 0, err
				}
				return resp.Topics[0].Partitions[0].ErrorCode, nil
			}); err != nil {
				t.Error("producer:", err)
			}
		}()
		go func() {
			defer wait.Done()
			if err := churn(t, n, stop, func(c *conn) (int16, error) {
				resp, err := tryAsk[*kmsg.FetchResponse](c, fetchVersion, waiting(fetchRequest("churn", i, 0), 20, 1_000_000))
				if err != nil {
					return 0, err
				}
				return resp.Topics[0].Partitions[0].ErrorCode, nil
			}); err != nil {
				t.Error("consumer:", err)
			}
		}()
	}
	for range rounds {
		makeTopic(t, c, "churn", partitions)
		eventually(t, "something is written", func() bool { return listOffset(c, listVersion, "churn", 0, -1).Offset > 0 })
		deleteTopic(t, c, "churn")
	}
	close(stop)
	wait.Wait()
	makeTopic(t, c, "churn", partitions)
	want(t, "the last one is empty", len(readAll(c, "churn", 0, 0)), 0)
}

// churn repeats a request until stop; codes that tell a client to look again are what may come.
func churn(t *testing.T, n *node, stop <-chan struct{}, request func(*conn) (int16, error)) error {
	c, err := n.connect(t)
	if err != nil {
		return err
	}
	defer c.close()
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		code, err := request(c)
		if err != nil {
			return err
		}
		switch code {
		case 0, 3, 5, 6:
		default:
			return fmt.Errorf("error %d", code)
		}
	}
}

// C-37: a group that subscribes to a missing topic too reads the others.
func TestGroupReadsBesideAMissingTopic(t *testing.T) {
	n := own(t, "auto.create.topics.enable=false")
	c := n.dial(t)
	for _, name := range []string{"there-a", "there-b"} {
		makeTopic(t, c, name, 2)
		mustProduce(c, name, values(name))
	}
	for _, v := range []int16{0, 1, 3, 6} { // below 4 there is no flag that forbids making topics
		req := kmsg.NewPtrMetadataRequest()
		codes := map[string]int16{}
		for _, name := range []string{"there-a", "missing", "there-b"} {
			req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: kmsg.StringPtr(name)})
		}
		for _, m := range ask[*kmsg.MetadataResponse](c, v, req).Topics {
			codes[*m.Topic] = m.ErrorCode
		}
		if len(codes) != 3 || codes["there-a"] != 0 || codes["missing"] != 3 || codes["there-b"] != 0 {
			t.Errorf("v%d: %v", v, codes)
		}
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(n.addr), kgo.ConsumerGroup("beside"), kgo.ConsumeTopics("there-a", "missing", "there-b"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	got := map[string]bool{}
	for len(got) < 2 {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) { got[string(r.Value)] = true })
		if ctx.Err() != nil {
			t.Fatalf("read %v", got)
		}
	}
}
