package broker_test

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Kafka 0.8 deletes every segment of a topic whose retention.ms is -1: what goes back to it must name an age that nothing reaches.
func TestAdoptedTopicsSurviveTheWayBack(t *testing.T) {
	for version, due := range map[string]string{"0.8.2.2": "9223372036854775807", "0.9.0.1": "9223372036854775807", "0.10.2.2": "-1"} {
		t.Run(version, func(t *testing.T) {
			g := openGolden(t, version, "clean")
			ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
			defer cancel()
			configs, err := kadm.NewClient(g.client(t)).DescribeTopicConfigs(ctx, "plain-none")
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, c := range configs[0].Configs {
				if c.Key == "retention.ms" {
					got = *c.Value
				}
			}
			if got != due {
				t.Errorf("retention.ms is %q, want %q", got, due)
			}
		})
	}
}
