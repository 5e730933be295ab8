package main

import (
	"os"
	"strings"
	"time"
)

func kafkaTopics(args []string) ([]string, error) {
	f, err := parseTool("kafka-topics", args, connectFlags(map[string]bool{
		"create": false, "list": false, "describe": false, "alter": false, "delete": false, "topic": true, "partitions": true,
		"replication-factor": true, "config": true, "replica-assignment": true, "if-not-exists": false, "if-exists": false,
		"exclude-internal": false, "under-replicated-partitions": false, "unavailable-partitions": false, "force": false, "disable-rack-aware": false,
	}))
	if err != nil {
		return nil, err
	}
	verb, err := f.verb("create", "list", "describe", "alter", "delete")
	if err != nil {
		return nil, err
	}
	out, err := f.connect([]string{"topics", verb})
	if err != nil {
		return nil, err
	}
	if !f.has("topic") && verb != "list" && verb != "describe" {
		return nil, usageError("kafka-topics: --%s needs --topic NAME", verb)
	}
	if verb == "describe" {
		out = append(out, "--kafka-layout")
	}
	out = f.pass(out, "partitions", "--partitions=", "replication-factor", "--replication-factor=", "config", "--config=",
		"replica-assignment", "--replica-assignment=", "if-not-exists", "--if-not-exists", "if-exists", "--if-exists",
		"exclude-internal", "--exclude-internal", "under-replicated-partitions", "--under-replicated", "unavailable-partitions", "--unavailable")
	if verb == "list" {
		return out, nil
	}
	return append(append(out, "--"), f.values["topic"]...), nil
}

func kafkaConsoleProducer(args []string) ([]string, error) {
	f, err := parseTool("kafka-console-producer", args, map[string]bool{
		"bootstrap-server": true, "broker-list": true, "topic": true, "property": true, "reader-property": true, "producer-property": true,
		"producer.config": true, "compression-codec": true, "request-required-acks": true, "sync": false, "batch-size": true, "timeout": true,
	})
	if err != nil {
		return nil, err
	}
	out, err := f.connect([]string{"produce"})
	if err != nil {
		return nil, err
	}
	if !f.has("topic") {
		return nil, usageError("kafka-console-producer: say where to: --topic NAME")
	}
	separator, keys := `\t`, false
	for _, p := range append(f.values["property"], f.values["reader-property"]...) {
		switch name, value, _ := strings.Cut(p, "="); name {
		case "parse.key":
			keys = value == "true"
		case "key.separator":
			separator = value
		}
	}
	if keys {
		out = append(out, "--key-separator="+separator)
	}
	out = f.pass(out, "producer-property", "--property=", "producer.config", "--command-config=", "compression-codec", "--compression=", "request-required-acks", "--acks=")
	return append(out, "--", f.one("topic")), nil
}

func kafkaConsoleConsumer(args []string) ([]string, error) {
	f, err := parseTool("kafka-console-consumer", args, map[string]bool{
		"bootstrap-server": true, "zookeeper": true, "topic": true, "group": true, "from-beginning": false, "partition": true, "offset": true,
		"max-messages": true, "timeout-ms": true, "property": true, "formatter-property": true, "consumer-property": true,
		"consumer.config": true, "isolation-level": true, "skip-message-on-error": false, "new-consumer": false,
	})
	if err != nil {
		return nil, err
	}
	out, err := f.connect([]string{"consume"})
	if err != nil {
		return nil, err
	}
	if !f.has("topic") {
		return nil, usageError("kafka-console-consumer: say what to read: --topic NAME")
	}
	if f.has("offset") && !f.has("partition") {
		return nil, usageError("kafka-console-consumer: --offset needs --partition")
	}
	if f.has("from-beginning") {
		out = append(out, "--offset=beginning")
	}
	if ms := f.one("timeout-ms"); ms != "" {
		out = append(out, "--idle-timeout="+ms+"ms")
	}
	if text := consumerFormat(append(f.values["property"], f.values["formatter-property"]...)); text != "" {
		out = append(out, "--format="+text)
	}
	if level := f.one("isolation-level"); level != "" {
		out = append(out, "--property=isolation.level="+level)
	}
	out = f.pass(out, "group", "--group=", "partition", "--partition=", "offset", "--offset=", "max-messages", "--count=",
		"consumer-property", "--property=", "consumer.config", "--command-config=")
	return append(out, "--", f.one("topic")), nil
}

// consumerFormat is our format for the properties of Kafka's default formatter; empty when only the value is printed.
func consumerFormat(props []string) string {
	on := map[string]string{"print.value": "true", "key.separator": `\t`, "line.separator": `\n`}
	for _, p := range props {
		name, value, _ := strings.Cut(p, "=")
		on[name] = value
	}
	var parts []string
	for _, part := range [...]struct{ name, text string }{
		{"print.timestamp", "CreateTime:%T"}, {"print.partition", "Partition:%p"}, {"print.offset", "Offset:%o"},
		{"print.headers", "%h"}, {"print.key", "%k"}, {"print.value", "%s"},
	} {
		if on[part.name] == "true" {
			parts = append(parts, part.text)
		}
	}
	if len(parts) == 1 && parts[0] == "%s" && on["line.separator"] == `\n` {
		return ""
	}
	return strings.Join(parts, strings.ReplaceAll(on["key.separator"], "%", "%%")) + strings.ReplaceAll(on["line.separator"], "%", "%%")
}

func kafkaConsumerGroups(args []string) ([]string, error) {
	f, err := parseTool("kafka-consumer-groups", args, connectFlags(map[string]bool{
		"list": false, "describe": false, "delete": false, "reset-offsets": false, "group": true, "all-groups": false, "members": false,
		"state": false, "offsets": false, "verbose": false, "timeout": true, "topic": true, "all-topics": false, "to-earliest": false,
		"to-latest": false, "to-current": false, "to-offset": true, "shift-by": true, "to-datetime": true, "by-duration": true,
		"execute": false, "dry-run": false, "new-consumer": false,
	}))
	if err != nil {
		return nil, err
	}
	verb, err := f.verb("list", "describe", "delete", "reset-offsets")
	if err != nil {
		return nil, err
	}
	if verb != "list" && !f.has("group") {
		return nil, usageError("kafka-consumer-groups: --%s needs --group NAME", verb)
	}
	ours := verb
	if verb == "describe" && !f.has("members") && !f.has("state") {
		ours = "lag"
	}
	out, err := f.connect([]string{"groups", ours})
	if err != nil {
		return nil, err
	}
	if verb == "list" {
		return out, nil
	}
	if verb == "reset-offsets" {
		out = f.pass(out, "topic", "--topic=", "all-topics", "--all-topics", "to-earliest", "--to-earliest", "to-latest", "--to-latest",
			"to-current", "--to-current", "to-offset", "--to-offset=", "shift-by", "--shift-by=", "to-datetime", "--to-datetime=", "execute", "--execute")
		if text := f.one("by-duration"); text != "" {
			d, err := time.ParseDuration(strings.ToLower(strings.TrimPrefix(text, "PT")))
			if err != nil {
				return nil, usageError("kafka-consumer-groups: --by-duration %s: must be like PT1H30M", text)
			}
			out = append(out, "--by-duration="+d.String())
		}
	}
	return append(append(out, "--"), f.values["group"]...), nil
}

func kafkaConfigs(args []string) ([]string, error) {
	f, err := parseTool("kafka-configs", args, connectFlags(map[string]bool{
		"describe": false, "alter": false, "entity-type": true, "entity-name": true, "entity-default": false, "topic": true, "broker": true,
		"broker-defaults": false, "add-config": true, "delete-config": true, "all": false, "force": false,
	}))
	if err != nil {
		return nil, err
	}
	verb, err := f.verb("describe", "alter")
	if err != nil {
		return nil, err
	}
	out, err := f.connect([]string{"configs", verb})
	if err != nil {
		return nil, err
	}
	switch kind := f.one("entity-type"); {
	case f.has("topic"):
		out = append(out, "--topic="+f.one("topic"))
	case f.has("broker"):
		out = append(out, "--broker="+f.one("broker"))
	case f.has("broker-defaults") || kind == "brokers" && f.has("entity-default"):
		out = append(out, "--all-brokers")
	case kind == "topics" && f.has("entity-name"):
		out = append(out, "--topic="+f.one("entity-name"))
	case kind == "brokers" && f.has("entity-name"):
		out = append(out, "--broker="+f.one("entity-name"))
	default:
		return nil, usageError("kafka-configs: say whose configs: --entity-type topics|brokers with --entity-name NAME, or --entity-default")
	}
	if f.has("all") {
		out = append(out, "--all")
	}
	for _, list := range f.values["add-config"] {
		for _, entry := range splitConfigs(list) {
			out = append(out, "--add="+entry)
		}
	}
	for _, list := range f.values["delete-config"] {
		for _, key := range strings.Split(list, ",") {
			out = append(out, "--delete="+strings.TrimSpace(key))
		}
	}
	return out, nil
}

// splitConfigs cuts k=v,k2=[a,b] at the commas outside brackets and takes the brackets off.
func splitConfigs(text string) (out []string) {
	depth, start := 0, 0
	cut := func(end int) {
		if entry := strings.TrimSpace(text[start:end]); entry != "" {
			key, value, _ := strings.Cut(entry, "=")
			out = append(out, key+"="+strings.TrimSuffix(strings.TrimPrefix(value, "["), "]"))
		}
		start = end + 1
	}
	for i, c := range text {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				cut(i)
			}
		}
	}
	cut(len(text))
	return out
}

func kafkaLogDirs(args []string) ([]string, error) {
	f, err := parseTool("kafka-log-dirs", args, connectFlags(map[string]bool{"describe": false, "topic-list": true, "broker-list": true}))
	if err != nil {
		return nil, err
	}
	delete(f.values, "broker-list") // numbers here, not addresses; all brokers are shown
	out, err := f.connect([]string{"log-dirs", "--json"})
	return f.pass(out, "topic-list", "--topic="), err
}

func kafkaServerStart(args []string) ([]string, error) {
	f, err := parseTool("kafka-server-start", args, map[string]bool{"override": true, "daemon": false})
	if err != nil {
		return nil, err
	}
	if f.has("daemon") {
		return nil, usageError("kafka-server-start: -daemon is not done yet; use a service manager, or nohup kafka-server-start %s &", strings.Join(f.rest, " "))
	}
	if len(f.rest) != 1 {
		return nil, usageError("kafka-server-start: needs one file: kafka-server-start server.properties [--override key=value]")
	}
	return f.pass([]string{"server", "--config=" + f.rest[0]}, "override", "--override="), nil
}

func zookeeperServerStart(args []string) ([]string, error) {
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		return nil, usageError("zookeeper-server-start: needs one file: zookeeper-server-start zoo.cfg")
	}
	return []string{"zk", "server", "--config=" + args[0]}, nil
}

func zookeeperShell(args []string) ([]string, error) {
	if len(args) > 0 && args[0] == "-server" {
		args = args[1:]
	}
	if len(args) == 0 {
		return nil, usageError("zookeeper-shell: needs an address: %s HOST:PORT[/chroot] [command ...]", os.Args[0])
	}
	return append([]string{"zk", "shell"}, args...), nil
}
