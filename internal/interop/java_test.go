package interop

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// java runs one of Kafka's own tools and returns what it printed.
func java(t *testing.T, ctx context.Context, version, class string, args ...string) string {
	t.Helper()
	apache := needed(t, "PELTON_APACHE", "the script that drives real Kafka")
	out, err := exec.CommandContext(ctx, apache, append([]string{"tool", "kafka", version, class, "--bootstrap-server", seed(t)}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s %v: %v\n%s", version, class, args, err, out)
	}
	return string(out)
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Fatalf("no %q in\n%s", p, text)
		}
	}
}

// Kafka's own administration tools, of the last release with ZooKeeper and of the newest, find what they expect.
func TestJavaAdministrationTools(t *testing.T) {
	for _, v := range []struct{ version, topics, configs, groups string }{
		{"3.9.1", "org.apache.kafka.tools.TopicCommand", "kafka.admin.ConfigCommand", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"},
		{"4.2.0", "org.apache.kafka.tools.TopicCommand", "kafka.admin.ConfigCommand", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"},
	} {
		t.Run(v.version, func(t *testing.T) {
			ctx := within(t)
			name := "tools-" + strings.ReplaceAll(v.version, ".", "-")
			contains(t, java(t, ctx, v.version, v.topics, "--create", "--topic", name, "--partitions", "3", "--config", "retention.ms=99999"), "Created topic "+name)
			contains(t, java(t, ctx, v.version, v.topics, "--list"), name)
			contains(t, java(t, ctx, v.version, v.topics, "--describe", "--topic", name), "PartitionCount: 3", "ReplicationFactor: 1", "retention.ms=99999", "Leader: 0")
			java(t, ctx, v.version, v.topics, "--alter", "--topic", name, "--partitions", "5")
			contains(t, java(t, ctx, v.version, v.topics, "--describe", "--topic", name), "PartitionCount: 5")

			java(t, ctx, v.version, v.configs, "--alter", "--entity-type", "topics", "--entity-name", name, "--add-config", "cleanup.policy=compact", "--delete-config", "retention.ms")
			text := java(t, ctx, v.version, v.configs, "--describe", "--entity-type", "topics", "--entity-name", name)
			contains(t, text, "cleanup.policy=compact", "DYNAMIC_TOPIC_CONFIG")
			if strings.Contains(text, "retention.ms=99999") {
				t.Fatalf("the deleted setting is still there:\n%s", text)
			}
			contains(t, java(t, ctx, v.version, v.configs, "--describe", "--all", "--entity-type", "brokers", "--entity-name", "0"), "num.partitions=1")

			records := Sample(30, 3)
			for i := range records {
				records[i].Offset = int64(i / 3)
				records[i].Key = []byte("k") // the topic is compacted by now
			}
			if _, err := (Franz{seed(t)}).Produce(ctx, name, records, ProduceOptions{Codec: "none"}); err != nil {
				t.Fatal(err)
			}
			if _, err := (Franz{seed(t)}).Group(ctx, name+"-group", name, len(records)); err != nil {
				t.Fatal(err)
			}
			contains(t, java(t, ctx, v.version, v.groups, "--list"), name+"-group")
			contains(t, java(t, ctx, v.version, v.groups, "--describe", "--group", name+"-group"), "CURRENT-OFFSET", name)
			java(t, ctx, v.version, v.groups, "--group", name+"-group", "--topic", name, "--reset-offsets", "--to-earliest", "--execute")
			contains(t, java(t, ctx, v.version, v.groups, "--describe", "--group", name+"-group", "--offsets"), " 10 ")
			contains(t, java(t, ctx, v.version, v.groups, "--delete", "--group", name+"-group"), "successful")
			java(t, ctx, v.version, v.topics, "--delete", "--topic", name)
			if strings.Contains(java(t, ctx, v.version, v.topics, "--list"), name) {
				t.Fatal("the deleted topic is listed")
			}
		})
	}
}
