package config

import (
	"errors"
	"strings"
	"testing"
)

func load(t *testing.T, file map[string]string) (*Broker, []Warning) {
	t.Helper()
	b, warnings, err := Load(file, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b, warnings
}

func TestLoadPrecedence(t *testing.T) {
	b, _, err := Load(
		map[string]string{"num.partitions": "1", "default.replication.factor": "1", "log.segment.bytes": "1000"},
		map[string]string{"num.partitions": "3"},
		map[string]string{"num.partitions": "2", "default.replication.factor": "2"})
	if err != nil {
		t.Fatal(err)
	}
	if got := [...]int{b.Int("num.partitions"), b.Int("default.replication.factor"), b.Int("log.segment.bytes")}; got != [...]int{3, 2, 1000} {
		t.Fatalf("override, flag, file gave %v, want [3 2 1000]", got)
	}
}

func TestLoadRefusesOnOneLineWithKeyValueAndBounds(t *testing.T) {
	cases := map[string]struct {
		file map[string]string
		want []string
	}{
		"bounds":            {map[string]string{"log.segment.bytes": "5"}, []string{"log.segment.bytes", "5", "at least 14"}},
		"two-wrong":         {map[string]string{"log.segment.bytes": "5", "num.partitions": "x"}, []string{"log.segment.bytes", "num.partitions", "x", "INT"}},
		"words":             {map[string]string{"pelton.poller": "kqueue"}, []string{"pelton.poller", "kqueue", "gnet, epoll"}},
		"kraft":             {map[string]string{"process.roles": "broker"}, []string{"process.roles", "broker"}},
		"authorizer":        {map[string]string{"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}, []string{"authorizer.class.name", "AclAuthorizer", "refuses"}},
		"tls-listener":      {map[string]string{"listeners": "SSL://:9093"}, []string{"listeners", "SSL://:9093", "PLAINTEXT"}},
		"same-port":         {map[string]string{"listeners": "PLAINTEXT://:9092,B://:9092", "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,B:PLAINTEXT"}, []string{"different port"}},
		"same-name":         {map[string]string{"listeners": "PLAINTEXT://:9092,PLAINTEXT://:9093"}, []string{"different name"}},
		"no-port":           {map[string]string{"listeners": "PLAINTEXT://localhost"}, []string{"listeners", ":port"}},
		"unmapped":          {map[string]string{"listeners": "INSIDE://:9092"}, []string{"INSIDE", "listener.security.protocol.map"}},
		"advertised-any":    {map[string]string{"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, []string{"advertised.listeners", "meta-address"}},
		"advertised-other":  {map[string]string{"advertised.listeners": "SSL://h:9092"}, []string{"SSL", "not in listeners"}},
		"id-reserved":       {map[string]string{"broker.id": "1001"}, []string{"broker.id", "1001", "reserved.broker.max.id (1000)"}},
		"id-differs":        {map[string]string{"broker.id": "1", "node.id": "2"}, []string{"node.id", "broker.id"}},
		"retention-zero":    {map[string]string{"log.retention.minutes": "0"}, []string{"log.retention.minutes", "-1"}},
		"flapping":          {map[string]string{"replica.lag.time.max.ms": "400"}, []string{"replica.fetch.wait.max.ms", "500"}},
		"request-vs-memory": {map[string]string{"pelton.request.memory.bytes": "1048576"}, []string{"socket.request.max.bytes", "pelton.request.memory.bytes"}},
		"no-dirs":           {map[string]string{"log.dirs": " "}, []string{"log.dirs"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := Load(c.file, nil, nil)
			if err == nil {
				t.Fatal("loaded")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not name %q", err, w)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q has more than one line", err)
			}
		})
	}
}

func TestErrorsNeverShowSecrets(t *testing.T) {
	_, err := (Row{Name: "ssl.key.password", Kind: Password, Valid: oneOf("x")}).Parse("hunter2")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("error %v", err)
	}
}

func TestUnknownKeyNamesTheNearest(t *testing.T) {
	_, warnings := load(t, map[string]string{"log.retention.mss": "5", "advertised.listners": "x", "com.example.own": "1"})
	texts := map[string]string{}
	for _, w := range warnings {
		texts[w.Key] = w.Text
	}
	if !strings.Contains(texts["log.retention.mss"], "log.retention.ms?") || !strings.Contains(texts["advertised.listners"], "advertised.listeners?") {
		t.Errorf("warnings %v", texts)
	}
	if got := texts["com.example.own"]; got != "unknown key" {
		t.Errorf("a name that is near to nothing: %q", got)
	}
}

func TestOldKeysMeanWhatTheyMeant(t *testing.T) {
	b, warnings := load(t, map[string]string{
		"host.name": "inside", "port": "9999", "advertised.host.name": "outside", "advertised.port": "1234",
		"log.segment.ms": "60000", "replica.lag.max.messages": "4000", "num.network.threads": "3",
	})
	if l := b.Listeners(); len(l) != 1 || l[0].String() != "PLAINTEXT://inside:9999" {
		t.Errorf("listeners %v", l)
	}
	if l := b.Advertised(); len(l) != 1 || l[0].String() != "PLAINTEXT://outside:1234" {
		t.Errorf("advertised %v", l)
	}
	if b.RollMs() != 60000 {
		t.Errorf("log.segment.ms gives a roll of %d ms", b.RollMs())
	}
	told := map[string]bool{}
	for _, w := range warnings {
		told[w.Key] = true
	}
	for _, key := range []string{"host.name", "advertised.host.name", "log.segment.ms", "replica.lag.max.messages", "num.network.threads"} {
		if !told[key] {
			t.Errorf("no warning for %s", key)
		}
	}
}

func TestNewerListenersWinOverPort(t *testing.T) {
	b, _ := load(t, map[string]string{"port": "1", "listeners": "PLAINTEXT://127.0.0.1:2"})
	if l := b.Listeners(); len(l) != 1 || l[0].Port != 2 {
		t.Fatalf("listeners %v", l)
	}
}

func TestListenersOfSeveralKinds(t *testing.T) {
	b, _ := load(t, map[string]string{
		"listeners":                      "INSIDE://[::1]:9092,OUTSIDE://:9093",
		"advertised.listeners":           "INSIDE://a:1,OUTSIDE://b:1",
		"listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
		"inter.broker.listener.name":     "INSIDE",
	})
	l := b.Listeners()
	if len(l) != 2 || l[0].Host != "::1" || l[0].Protocol != "PLAINTEXT" || l[1].Host != "" || l[1].Port != 9093 || b.InterBroker() != "INSIDE" {
		t.Fatalf("listeners %+v, inter broker %s", l, b.InterBroker())
	}
}

func TestShorterUnitsBeatLonger(t *testing.T) {
	cases := []struct {
		file map[string]string
		want int64
	}{
		{nil, 604800000},
		{map[string]string{"log.retention.hours": "2"}, 7200000},
		{map[string]string{"log.retention.hours": "2", "log.retention.minutes": "3"}, 180000},
		{map[string]string{"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4},
		{map[string]string{"log.retention.hours": "-1"}, -1},
		{map[string]string{"log.retention.ms": "-7"}, -1},
	}
	for _, c := range cases {
		b, _ := load(t, c.file)
		if got := b.RetentionMs(); got != c.want || b.Topic(nil).Ms("retention.ms") != c.want {
			t.Errorf("%v: broker %d topic %d, want %d", c.file, got, b.Topic(nil).Ms("retention.ms"), c.want)
		}
	}
	b, _ := load(t, map[string]string{"log.roll.hours": "1", "log.roll.jitter.hours": "2", "log.flush.scheduler.interval.ms": "9"})
	topic := b.Topic(nil)
	if topic.Ms("segment.ms") != 3600000 || topic.Ms("segment.jitter.ms") != 7200000 || topic.Ms("flush.ms") != 9 {
		t.Errorf("roll %d jitter %d flush %d", topic.Ms("segment.ms"), topic.Ms("segment.jitter.ms"), topic.Ms("flush.ms"))
	}
}

func TestTopicFallsBackToItsBroker(t *testing.T) {
	b, _ := load(t, map[string]string{"log.segment.bytes": "2000", "log.cleanup.policy": "compact", "log.message.timestamp.difference.max.ms": "77"})
	topic := b.Topic(map[string]string{"retention.bytes": "5", "segment.bytes": "garbage"})
	if topic.Int("segment.bytes") != 2000 || topic.Long("retention.bytes") != 5 || !topic.Compacted() || topic.Deletes() {
		t.Errorf("segment %d retention %d compacted %v deletes %v", topic.Int("segment.bytes"), topic.Long("retention.bytes"), topic.Compacted(), topic.Deletes())
	}
	if len(topic.Warnings) != 1 || topic.Warnings[0].Key != "segment.bytes" {
		t.Errorf("a stored value that does not parse: warnings %v", topic.Warnings)
	}
	if topic.TimestampBeforeMs() != 77 || topic.TimestampAfterMs() != 77 {
		t.Errorf("timestamp limits %d and %d, want the older single one", topic.TimestampBeforeMs(), topic.TimestampAfterMs())
	}
	if own := b.Topic(map[string]string{"message.timestamp.before.max.ms": "3"}); own.TimestampBeforeMs() != 3 || own.TimestampAfterMs() != 77 {
		t.Errorf("own limit %d, other %d", own.TimestampBeforeMs(), own.TimestampAfterMs())
	}
}

// regression: C-41, a value set to its default must keep its source until it is deleted.
func TestIncrementalChangesKeepValuesEqualToTheDefault(t *testing.T) {
	b, _ := load(t, nil)
	source := func(set map[string]string) Source {
		return b.Topic(set).Describe([]string{"cleanup.policy"})[0].Source
	}
	set, err := b.Topics().Apply(map[string]string{"retention.ms": "6"}, []Change{{"cleanup.policy", OpSet, "delete"}})
	if err != nil || source(set) != FromTopic {
		t.Fatalf("after the set: %v, source %d, want %d", err, source(set), FromTopic)
	}
	set, err = b.Topics().Apply(set, []Change{{Name: "cleanup.policy", Op: OpDelete}})
	if err != nil || source(set) != FromDefault || set["retention.ms"] != "6" {
		t.Fatalf("after the delete: %v, source %d, set %v", err, source(set), set)
	}
}

func TestAppendAndSubtract(t *testing.T) {
	table := TopicTable()
	steps := []struct {
		change Change
		want   string
	}{
		{Change{"cleanup.policy", OpAppend, "compact"}, "delete,compact"}, // from the default
		{Change{"cleanup.policy", OpAppend, "compact,delete"}, "delete,compact"},
		{Change{"cleanup.policy", OpSubtract, "compact"}, "delete"},
		{Change{"cleanup.policy", OpSubtract, "delete"}, ""},
		{Change{"cleanup.policy", OpAppend, "compact"}, "compact"},
	}
	set := map[string]string{}
	for i, s := range steps {
		next, err := table.Apply(set, []Change{s.change})
		if err != nil || next["cleanup.policy"] != s.want {
			t.Fatalf("step %d: %q, %v; want %q", i, next["cleanup.policy"], err, s.want)
		}
		set = next
	}
	var invalid *InvalidError
	if _, err := table.Apply(nil, []Change{{"retention.ms", OpAppend, "5"}}); !errors.As(err, &invalid) || invalid.Text != "Config value append is not allowed for config key: retention.ms" {
		t.Fatalf("append to a number: %v", err)
	}
}

func TestDynamicLayersAreLaidAndTakenOff(t *testing.T) {
	b, _ := load(t, map[string]string{"log.segment.bytes": "1000"})
	both, warnings := b.With(map[string]string{"log.segment.bytes": "2000", "message.max.bytes": "junk"}, map[string]string{"log.segment.bytes": "3000"})
	if both.Int("log.segment.bytes") != 3000 || both.Int("message.max.bytes") != 1048588 || len(warnings) != 1 {
		t.Errorf("both layers: %d, junk gave %d, warnings %v", both.Int("log.segment.bytes"), both.Int("message.max.bytes"), warnings)
	}
	one, _ := both.With(map[string]string{"log.segment.bytes": "2000"}, nil)
	if none, _ := one.With(nil, nil); one.Int("log.segment.bytes") != 2000 || none.Int("log.segment.bytes") != 1000 || b.Int("log.segment.bytes") != 1000 {
		t.Errorf("taken off: %d then %d", one.Int("log.segment.bytes"), none.Int("log.segment.bytes"))
	}
}

func TestRowsAreSound(t *testing.T) {
	topics, brokers := TopicTable(), BrokerTable()
	for _, table := range []*Table{topics, brokers} {
		for i, r := range table.Rows() {
			if i > 0 && table.Rows()[i-1].Name == r.Name {
				t.Errorf("%s: two rows", r.Name)
			}
			if r.Doc == "" || !strings.HasSuffix(r.Doc, ".") {
				t.Errorf("%s: doc %q is no sentence", r.Name, r.Doc)
			}
			if r.Effect == Alias {
				if _, ok := brokers.Row(r.Alias); !ok {
					t.Errorf("%s: alias of %s, which is no key", r.Name, r.Alias)
				}
				continue
			}
			if r.Default != None && r.Effect != Gone {
				if _, err := r.Parse(r.Default); err != nil {
					t.Errorf("%s: its own default is refused: %v", r.Name, err)
				}
			}
		}
	}
	for _, r := range topics.Rows() {
		if up, ok := brokers.Row(r.Broker); r.Broker != "" && (!ok || up.Kind != r.Kind) {
			t.Errorf("%s: falls back to %s of kind %s", r.Name, r.Broker, up.Kind)
		}
	}
}

func TestPropertiesAreReadAsJavaReadsThem(t *testing.T) {
	got, err := ParseProperties([]byte("# c\n! c\na=1\nb : two words \na=4\ne=${a}\nf=\\u0041\\\n   B\nempty=\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "4", "b": "two words ", "e": "${a}", "f": "AB", "empty": ""}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s = %q, want %q (all: %v)", k, got[k], v, got)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, s := range []string{"0.8.0", "0.10.2-IV0", "0.10.2", "0.11.0-IV2", "1.1", "2.8.1", "2.8-IV1", "3.9-IV0", "3.9", "3.9.1", "4.0-IV1"} {
		if _, ok := ParseVersion(s); !ok {
			t.Errorf("%s is refused", s)
		}
	}
	for _, s := range []string{"", "9.9", "0.7.0", "3.9-IV1", "0.8.2-IV0", "3", "latest"} {
		if _, ok := ParseVersion(s); ok {
			t.Errorf("%s is taken", s)
		}
	}
	old, _ := ParseVersion("0.10.2")
	mid, _ := ParseVersion("2.7-IV1")
	last, _ := ParseVersion("2.7")
	if !old.Less(mid) || !mid.Less(last) || last.Less(mid) {
		t.Error("versions are out of order")
	}
}

func TestMaxConnectionsPerHost(t *testing.T) {
	b, _ := load(t, map[string]string{"max.connections.per.ip": "5", "max.connections.per.ip.overrides": "localhost:7,::1:9"})
	if b.MaxConnectionsPerIP("localhost") != 7 || b.MaxConnectionsPerIP("::1") != 9 || b.MaxConnectionsPerIP("x") != 5 {
		t.Errorf("limits %d %d %d", b.MaxConnectionsPerIP("localhost"), b.MaxConnectionsPerIP("::1"), b.MaxConnectionsPerIP("x"))
	}
}

// Kafka 3.9.1 answers a list of no names, null or empty, with every key.
func TestDescribeWithoutNamesMeansAll(t *testing.T) {
	b, _ := load(t, nil)
	all := len(b.Topic(nil).Describe(nil))
	if none, one := len(b.Topic(nil).Describe([]string{})), len(b.Topic(nil).Describe([]string{"retention.ms", "no.such"})); all != len(TopicTable().Rows()) || none != all || one != 1 {
		t.Errorf("null %d, empty %d, one %d", all, none, one)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("listeners=PLAINTEXT://:9092,SSL://[::1]:1\nlog.retention.ms=5\nzk.connect=x\nhost.name=\n"), "retention.ms", "5")
	f.Add([]byte("log.cleaner.threads=0\nmax.connections.per.ip.overrides=a:1,b\n"), "cleanup.policy", ",")
	f.Add([]byte("inter.broker.protocol.version=2.8-IV1"), "leader.replication.throttled.replicas", ":")
	f.Fuzz(func(t *testing.T, text []byte, key, value string) {
		file, err := ParseProperties(text)
		if err != nil {
			return
		}
		b, _, err := Load(file, nil, nil)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n") && !strings.ContainsAny(string(text), "\\\n\r") {
				t.Fatalf("the refusal has several lines: %q", err)
			}
			return
		}
		b.DescribeBroker(nil)
		set := map[string]string{key: value}
		if b.ValidateTopic(set) == nil && len(b.Topic(set).Warnings) != 0 {
			t.Fatalf("%v passes the check and is not used", set)
		}
		b.Topic(set).Describe(nil)
	})
}
