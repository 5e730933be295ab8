package interop

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// OldConsole is the pair of console clients of one release of Kafka.
type OldConsole struct {
	Version string
	// Codecs that its producer writes and its consumer reads.
	Codecs []string
	// Magic is the newest record format that it knows.
	Magic int

	producer, consumer string
	producerFlag       string // names the broker to the producer
	consumerArgs       []string
}

// OldConsoles are the releases from 0.8.2 on that tests drive, oldest first.
func OldConsoles() []OldConsole {
	const (
		scalaProducer = "kafka.tools.ConsoleProducer"
		scalaConsumer = "kafka.tools.ConsoleConsumer"
		javaProducer  = "org.apache.kafka.tools.ConsoleProducer"
		javaConsumer  = "org.apache.kafka.tools.consumer.ConsoleConsumer"
	)
	four := []string{"none", "gzip", "snappy", "lz4"}
	all := append(slices.Clone(four), "zstd")
	byBroker := []string{"--bootstrap-server", "$BROKER"}
	return []OldConsole{
		{"0.8.2.2", four, 0, scalaProducer, scalaConsumer, "--broker-list", []string{"--zookeeper", "$ZOOKEEPER"}},
		{"0.9.0.1", four, 0, scalaProducer, scalaConsumer, "--broker-list", append([]string{"--new-consumer"}, byBroker...)},
		{"0.10.2.2", four, 1, scalaProducer, scalaConsumer, "--broker-list", byBroker},
		{"0.11.0.3", four, 2, scalaProducer, scalaConsumer, "--broker-list", byBroker},
		{"1.1.1", four, 2, scalaProducer, scalaConsumer, "--broker-list", byBroker},
		{"2.2.2", all, 2, scalaProducer, scalaConsumer, "--broker-list", byBroker},
		{"3.9.1", all, 2, scalaProducer, javaConsumer, "--bootstrap-server", byBroker},
		{"4.2.0", all, 2, javaProducer, javaConsumer, "--bootstrap-server", byBroker},
	}
}

// Bench is where console clients run: the script that starts them, and the broker they talk to.
type Bench struct{ Apache, Broker, ZooKeeper string }

// Run starts a class of a release and returns its standard output.
func (b Bench) Run(ctx context.Context, version, class string, in []byte, args ...string) (string, error) {
	fill := strings.NewReplacer("$BROKER", b.Broker, "$ZOOKEEPER", b.ZooKeeper)
	line := []string{"tool", "kafka", version, class}
	for _, a := range args {
		line = append(line, fill.Replace(a))
	}
	cmd := exec.CommandContext(ctx, b.Apache, line...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %.2000s\n%.2000s", version, class, err, errs.String(), out.String())
	}
	return out.String(), nil
}

// Produce writes lines to a topic.
func (c OldConsole) Produce(ctx context.Context, b Bench, topic, codec string, lines []string) error {
	args := []string{c.producerFlag, "$BROKER", "--topic", topic, "--compression-codec", codec, "--request-required-acks", "1"}
	_, err := b.Run(ctx, c.Version, c.producer, []byte(strings.Join(lines, "\n")+"\n"), args...)
	return err
}

// Consume reads count lines of a topic from its beginning; more are flags of the consumer.
func (c OldConsole) Consume(ctx context.Context, b Bench, topic string, count int, more ...string) ([]string, error) {
	args := append(slices.Clone(c.consumerArgs), "--topic", topic, "--from-beginning", "--max-messages", fmt.Sprint(count), "--timeout-ms", "60000")
	if c.Magic == 0 && c.Version < "0.9" { // this flag was the consumer's socket then
		args = args[:len(args)-2]
	}
	out, err := b.Run(ctx, c.Version, c.consumer, nil, append(args, more...)...)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, line := range strings.Split(out, "\n") {
		if strings.HasPrefix(line, linePrefix) { // old releases log to standard output, too
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// linePrefix begins every line that the tests write.
const linePrefix = "record "

// Lines are n lines that tell their producer and codec.
func (c OldConsole) Lines(codec string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%s %s %04d %s", linePrefix, c.Version, codec, i, strings.Repeat(string(rune('a'+i%26)), 10+i*7%200))
	}
	return out
}
