package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestMetadataAsksForEachTopicOnce(t *testing.T) {
	a, b := "a", "b"
	id := [16]byte{1}
	asked := []kmsg.MetadataRequestTopic{{Topic: &a}, {Topic: &b}, {Topic: &a}, {TopicID: id}, {TopicID: id}, {Topic: &a, TopicID: id}, {}, {}}
	got := distinctTopics(asked)
	if len(got) != 4 || *got[0].Topic != a || *got[1].Topic != b || got[2].TopicID != id || got[3].Topic != nil {
		t.Fatalf("%d topics: %+v", len(got), got)
	}
}
