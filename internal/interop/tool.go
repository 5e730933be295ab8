package interop

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Tool is a client that is a program of its own. It writes lines from a file to partition 0 and reads them back in order.
type Tool struct {
	Name string
	// Large: it takes a corpus of 1 GB; the others get 20 MB.
	Large bool
	// Codecs that it is asked to write with.
	Codecs []string
	// Produce and Consume are command lines; $BROKER $TOPIC $COUNT $CODEC are filled in.
	Produce, Consume []string
	// Dir is where the program runs, for those that look for libraries there.
	Dir string
}

// Tools lists the programs that a directory prepared by Prepare can run. apache is the script that drives real Kafka.
func Tools(prepared, apache string) []Tool {
	python := filepath.Join(prepared, "venv", "bin", "python")
	java := func(version, class string, args ...string) []string {
		return append([]string{apache, "tool", "kafka", version, class, "--bootstrap-server", "$BROKER", "--topic", "$TOPIC"}, args...)
	}
	tools := []Tool{
		{Name: "kcat", Large: true, Codecs: []string{"none", "gzip", "snappy", "lz4", "zstd"},
			Produce: []string{"kcat", "-P", "-E", "-b", "$BROKER", "-t", "$TOPIC", "-p", "0", "-z", "$CODEC", "-X", "enable.idempotence=true",
				"-X", "queue.buffering.max.kbytes=65536", "-X", "message.timeout.ms=120000", "-X", "reconnect.backoff.max.ms=500"},
			Consume: []string{"kcat", "-C", "-E", "-b", "$BROKER", "-t", "$TOPIC", "-p", "0", "-o", "beginning", "-c", "$COUNT", "-q", "-X",
				"reconnect.backoff.max.ms=500"}},
		{Name: "kafkajs", Codecs: []string{"none", "gzip"}, Dir: prepared,
			Produce: []string{"node", "kafkajs.mjs", "produce", "$BROKER", "$TOPIC", "$COUNT", "$CODEC"},
			Consume: []string{"node", "kafkajs.mjs", "consume", "$BROKER", "$TOPIC", "$COUNT", "$CODEC"}},
		{Name: "kafka-python", Codecs: []string{"none", "gzip"}, Dir: prepared,
			Produce: []string{python, "kafka_python.py", "produce", "$BROKER", "$TOPIC", "$COUNT", "$CODEC"},
			Consume: []string{python, "kafka_python.py", "consume", "$BROKER", "$TOPIC", "$COUNT", "$CODEC"}},
	}
	for _, v := range []string{"3.9.1", "4.2.0"} {
		producer, consumer := "kafka.tools.ConsoleProducer", "kafka.tools.ConsoleConsumer"
		if v != "3.9.1" {
			producer, consumer = "org.apache.kafka.tools.ConsoleProducer", "org.apache.kafka.tools.consumer.ConsoleConsumer"
		} else {
			consumer = "org.apache.kafka.tools.consumer.ConsoleConsumer"
		}
		tools = append(tools, Tool{Name: "java-" + v, Large: v == "3.9.1", Codecs: []string{"none", "gzip", "snappy", "lz4", "zstd"},
			Produce: java(v, producer, "--producer-property", "enable.idempotence=true", "--producer-property", "delivery.timeout.ms=120000",
				"--batch-size", "65536", "--max-memory-bytes", "67108864", "--compression-codec", "$CODEC"),
			Consume: java(v, consumer, "--from-beginning", "--max-messages", "$COUNT", "--timeout-ms", "60000")})
	}
	return tools
}

// Run starts one side of the tool with standard input and output.
func (t Tool) Run(ctx context.Context, args []string, broker, topic string, count int, codec string, in io.Reader, out io.Writer) error {
	fill := map[string]string{"$BROKER": broker, "$TOPIC": topic, "$COUNT": fmt.Sprint(count), "$CODEC": codec}
	line := make([]string, len(args))
	for i, a := range args {
		if v, ok := fill[a]; ok {
			a = v
		}
		line[i] = a
	}
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = in, out, &errs, t.Dir
	cmd.Env = append(os.Environ(), "HEAP=512m")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %.2000s", t.Name, err, errs.String())
	}
	return nil
}
