package api

import (
	"reflect"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestAnswerCodesFindsCodesAtEveryDepth(t *testing.T) {
	resp := &kmsg.MetadataResponse{Topics: []kmsg.MetadataResponseTopic{
		{ErrorCode: 3}, {Partitions: []kmsg.MetadataResponseTopicPartition{{ErrorCode: 5}, {}, {ErrorCode: 9}}}}}
	codes := codesIn(reflect.TypeOf(resp).Elem())
	if got := codes.failures(reflect.ValueOf(resp).Elem(), nil); !slices.Equal(got, []int16{3, 5, 9}) {
		t.Errorf("codes %v", got)
	}
	top := &kmsg.OffsetFetchResponse{ErrorCode: 14}
	if got := newLookup(Rows()).codes[top.Key()].failures(reflect.ValueOf(top).Elem(), nil); !slices.Equal(got, []int16{14}) {
		t.Errorf("codes %v", got)
	}
}

// Every answer can tell of an error, so every row has a place to look for one.
func TestAnswerCodesKnowEveryRow(t *testing.T) {
	table := newLookup(Rows())
	for i := range table.rows {
		if row := &table.rows[i]; table.codes[row.Key] == nil {
			t.Errorf("%s has no error code", row.Name())
		}
	}
}
