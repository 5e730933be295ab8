package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDescribeTopicPartitionsCursorIsLost(t *testing.T) {
	ask := func(cursor string, partition int32, topics ...string) *kmsg.DescribeTopicPartitionsRequest {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		for _, n := range topics {
			req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: n})
		}
		if cursor != "" {
			req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: cursor, Partition: partition}
		}
		return req
	}
	cases := []struct {
		name string
		req  *kmsg.DescribeTopicPartitionsRequest
		lost bool
	}{
		{"none", ask("", 0, "a"), false},
		{"of-the-list", ask("a", 0, "a", "b"), false},
		{"of-all-topics", ask("a", 3), false},
		{"not-of-the-list", ask("c", 0, "a", "b"), true},
		{"negative", ask("a", -1, "a"), true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := lostCursor(c.req); got != c.lost {
				t.Fatalf("lost: %v", got)
			}
		})
	}
}
