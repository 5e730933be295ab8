package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pelton-broker/pelton/internal/config"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// connection is what every client verb needs to reach a broker.
type connection struct {
	std       streams
	bootstrap string
	props     []string
	propsFile string
	timeout   time.Duration
	json      bool
}

// flags puts the connection's flags on a verb.
func (c *connection) flags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVarP(&c.bootstrap, "bootstrap-server", "b", "127.0.0.1:9092", "brokers to ask first, as host:port,...")
	f.StringArrayVarP(&c.props, "property", "X", nil, "client property key=value, may be repeated")
	f.StringVar(&c.propsFile, "command-config", "", "properties file with client settings")
	f.DurationVar(&c.timeout, "timeout", 30*time.Second, "longest wait for one answer")
	f.BoolVar(&c.json, "json", false, "print JSON")
}

// properties are those of the file with those of -X over them.
func (c *connection) properties() (map[string]string, error) {
	out := map[string]string{}
	if c.propsFile != "" {
		text, err := os.ReadFile(c.propsFile)
		if err != nil {
			return nil, err
		}
		if out, err = config.ParseProperties(text); err != nil {
			return nil, fmt.Errorf("%s: %w", c.propsFile, err)
		}
	}
	for _, p := range c.props {
		k, v, err := config.ParseOverride(p)
		if err != nil {
			return nil, usageError("-X %v", err)
		}
		out[k] = v
	}
	return out, nil
}

// dial makes a client and makes sure that a broker answers, so that a wrong address is told at once.
func (c *connection) dial(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	props, err := c.properties()
	if err != nil {
		return nil, err
	}
	base := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(c.bootstrap, ",")...),
		kgo.ClientID("pelton-cli"),
		kgo.DialTimeout(5 * time.Second),
		kgo.RequestTimeoutOverhead(c.timeout),
	}
	own, err := propertyOptions(props)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(append(base, opts...), own...)...)
	if err != nil {
		return nil, err
	}
	pingContext, cancel := context.WithTimeout(ctx, min(c.timeout, 6*time.Second))
	defer cancel()
	if err := client.Ping(pingContext); err != nil {
		client.Close()
		return nil, &unreachableError{bootstrap: c.bootstrap, err: err}
	}
	return client, nil
}

// with runs fn with a client and a deadline.
func (c *connection) with(ctx context.Context, fn func(ctx context.Context, client *kgo.Client) error) error {
	client, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return fn(ctx, client)
}

// admin runs fn with an admin client and a deadline.
func (c *connection) admin(ctx context.Context, fn func(ctx context.Context, a *kadm.Client) error) error {
	return c.with(ctx, func(ctx context.Context, client *kgo.Client) error {
		a := kadm.NewClient(client)
		a.SetTimeoutMillis(int32(c.timeout.Milliseconds()))
		return fn(ctx, a)
	})
}

// relaxCollector lets garbage grow to four times what lives, until the function that it returns is called: the console
// clients make a lot of it in a bounded amount, and collecting takes a fifth of their time otherwise.
func relaxCollector() func() {
	before := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(before) }
}

// unreachableError is returned when no bootstrap address answers.
type unreachableError struct {
	bootstrap string
	err       error
}

// Error implements error.
func (e *unreachableError) Error() string {
	why := e.err.Error()
	switch {
	case errors.Is(e.err, syscall.ECONNREFUSED):
		why = "connection refused"
	case errors.Is(e.err, context.DeadlineExceeded):
		why = "no answer in time"
	}
	var dns *net.DNSError
	if errors.As(e.err, &dns) {
		why = "no such host: " + dns.Name
	}
	if errors.Is(e.err, io.EOF) || strings.Contains(why, "closed the connection immediately") {
		why = "what listens there closes the connection: it speaks TLS, or is no Kafka broker"
	}
	return fmt.Sprintf("no broker answers at %s (%s). Start one with 'pelton server', or name another with --bootstrap-server HOST:PORT", e.bootstrap, why)
}

// Unwrap gives the cause.
func (e *unreachableError) Unwrap() error { return e.err }

// explain adds to an error what the user can do about it.
func explain(err error) string {
	var parts *kadm.ShardErrors
	if errors.As(err, &parts) && len(parts.Errs) > 0 {
		err = fmt.Errorf("%s: %w", parts.Name, parts.Errs[0].Err) // one broker's answer says it, without the library's words
	}
	text := err.Error()
	advice := map[*kerr.Error]string{
		kerr.UnknownTopicOrPartition:    "List topics with 'pelton topics list', make one with 'pelton topics create NAME'.",
		kerr.TopicAlreadyExists:         "Add partitions with 'pelton topics alter NAME --partitions N', or choose another name.",
		kerr.InvalidReplicationFactor:   "The replication factor cannot exceed the number of brokers; give a smaller --replication-factor.",
		kerr.InvalidPartitions:          "A topic has one partition at least, and can only grow.",
		kerr.InvalidTopicException:      "Names have 1 to 249 of the letters a-z A-Z 0-9 . _ - and are not . or ..",
		kerr.InvalidConfig:              "See the keys with 'pelton configs describe --topic NAME --all', or --broker N --all.",
		kerr.InvalidRecord:              "A topic with cleanup.policy=compact takes only records with a key (produce -k SEP); see 'pelton configs describe --topic NAME'.",
		kerr.NonEmptyGroup:              "Stop the group's members first; 'pelton groups describe GROUP' lists them.",
		kerr.GroupIDNotFound:            "List groups with 'pelton groups list'.",
		kerr.CoordinatorNotAvailable:    "No group has been used on this broker yet, or its topic __consumer_offsets has no leader; see 'pelton groups list'.",
		kerr.TopicDeletionDisabled:      "The broker runs with delete.topic.enable=false.",
		kerr.MessageTooLarge:            "Raise max.message.bytes of the topic ('pelton configs alter --topic NAME --add max.message.bytes=N') or send smaller records.",
		kerr.NotEnoughReplicas:          "Fewer replicas are in sync than min.insync.replicas; see 'pelton topics describe NAME'.",
		kerr.TopicAuthorizationFailed:   "The broker's access rules do not allow it for this user.",
		kerr.GroupAuthorizationFailed:   "The broker's access rules do not allow it for this user.",
		kerr.ClusterAuthorizationFailed: "The broker's access rules do not allow it for this user.",
		kerr.UnsupportedVersion:         "The broker is too old for this request.",
		kerr.KafkaStorageError:          "A log directory of the broker is offline; see its log and 'pelton log-dirs'.",
	}
	for code, what := range advice {
		if errors.Is(err, code) {
			return strings.TrimSuffix(text, ".") + ". " + what
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return text + ". The broker did not answer in time; a longer wait is --timeout."
	}
	return text
}

// refusedError is a broker's refusal, in its own words when it sent some.
type refusedError struct {
	what, message string
	code          error
}

// Error implements error.
func (e *refusedError) Error() string {
	var code *kerr.Error
	if e.message == "" || !errors.As(e.code, &code) {
		return e.what + ": " + e.code.Error()
	}
	return e.what + ": " + strings.TrimSuffix(e.message, ".") + " (" + code.Message + ")"
}

// Unwrap gives the code.
func (e *refusedError) Unwrap() error { return e.code }

// brokerError is nil without a code.
func brokerError(what string, code error, message string) error {
	if code == nil {
		return nil
	}
	return &refusedError{what, message, code}
}

// family makes a verb that only has verbs below it: alone it prints its help, and a verb it does not know is an error.
func family(c *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	c.AddCommand(verbs...)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		names := make([]string, len(verbs))
		for i, v := range verbs {
			names[i] = v.Name()
		}
		return usageError("%s %s: no such verb; there are %s", cmd.CommandPath(), args[0], strings.Join(names, ", "))
	}
	return c
}

// intProperty reads a whole number of a property.
func intProperty(key, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0, usageError("-X %s=%s: not a whole number", key, value)
	}
	return n, nil
}
