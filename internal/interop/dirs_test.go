package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Kafka's own kafka-reassign-partitions takes a partition to another log directory, throttled and verified, and kafka-log-dirs shows the way.
func TestJavaMovesReplicasBetweenDirectories(t *testing.T) {
	apache := needed(t, "PELTON_APACHE", "the script that drives real Kafka")
	bin := needed(t, "PELTON_BIN", "the broker's binary")
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	root := t.TempDir()
	dirs := []string{filepath.Join(root, "one"), filepath.Join(root, "two")}
	s, err := StartServer(bin, filepath.Join(root, "data"), "log.dirs="+strings.Join(dirs, ","), "broker.id=0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	tool := func(class string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(ctx, apache, append([]string{"tool", "kafka", "3.9.1", class, "--bootstrap-server", s.Addr()}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", class, args, err, out)
		}
		return string(out)
	}
	tool("org.apache.kafka.tools.TopicCommand", "--create", "--topic", "goes", "--partitions", "1")
	records := Sample(3000, 7)
	for i := range records {
		records[i].Partition, records[i].Offset, records[i].Value = 0, int64(i), []byte(strings.Repeat(fmt.Sprint(i, " "), 200))
	}
	if _, err := (Franz{s.Addr()}).Produce(ctx, "goes", records, ProduceOptions{Codec: "none"}); err != nil {
		t.Fatal(err)
	}
	// where lists "directory future" of the topic's partition as kafka-log-dirs tells.
	where := func() (out []string) {
		t.Helper()
		text := tool("org.apache.kafka.tools.LogDirsCommand", "--describe", "--topic-list", "goes")
		var told struct {
			Brokers []struct {
				LogDirs []struct {
					LogDir     string
					Partitions []struct {
						Partition string
						IsFuture  bool
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(text[strings.Index(text, "{"):]), &told); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, d := range told.Brokers[0].LogDirs {
			for _, p := range d.Partitions {
				if p.Partition == "goes-0" {
					out = append(out, fmt.Sprint(filepath.Base(d.LogDir), " ", p.IsFuture))
				}
			}
		}
		return out
	}
	at := strings.Fields(where()[0])[0]
	to := map[string]string{"one": "two", "two": "one"}[at]
	plan := filepath.Join(root, "plan.json")
	text := fmt.Sprintf(`{"version":1,"partitions":[{"topic":"goes","partition":0,"replicas":[0],"log_dirs":[%q]}]}`, filepath.Join(root, to))
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const reassign = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
	contains(t, tool(reassign, "--reassignment-json-file", plan, "--execute", "--replica-alter-log-dirs-throttle", "1000"), "Successfully started moving log directory")
	if now := strings.Join(where(), ", "); !strings.Contains(now, at+" false") || !strings.Contains(now, to+" true") {
		t.Fatalf("the throttled move should be under way: %s", now)
	}
	contains(t, tool(reassign, "--reassignment-json-file", plan, "--verify", "--preserve-throttles"), "is still in progress")
	contains(t, tool(reassign, "--reassignment-json-file", plan, "--execute", "--additional", "--replica-alter-log-dirs-throttle", "100000000"), "Successfully started moving log directory")
	for strings.Join(where(), ", ") != to+" false" {
		if ctx.Err() != nil {
			t.Fatal("the move does not end: ", where())
		}
	}
	contains(t, tool(reassign, "--reassignment-json-file", plan, "--verify"), "completed successfully", "Clearing broker-level throttles")
	if text := tool("kafka.admin.ConfigCommand", "--describe", "--entity-type", "brokers", "--entity-name", "0"); strings.Contains(text, "replica.alter.log.dirs") {
		t.Fatalf("the throttle is still set:\n%s", text)
	}
	got, err := (Franz{s.Addr()}).Consume(ctx, "goes", 1, len(records))
	if err != nil || len(got) != len(records) {
		t.Fatalf("%d records, want %d: %v", len(got), len(records), err)
	}
}
