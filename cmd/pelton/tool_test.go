package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestToolsSpeakKafkasFlags(t *testing.T) {
	cases := []struct{ line, want string }{
		{"kafka-topics.sh --create --topic T --bootstrap-server B --partitions 3 --replication-factor 1 --config a=b --config c=d --if-not-exists",
			"topics create --bootstrap-server=B --partitions=3 --replication-factor=1 --config=a=b --config=c=d --if-not-exists -- T"},
		{"kafka-topics --list --bootstrap-server=B", "topics list --bootstrap-server=B"},
		{"kafka-topics --describe --bootstrap-server B", "topics describe --bootstrap-server=B --kafka-layout --"},
		{"kafka-console-producer --broker-list B --topic T", "produce --bootstrap-server=B -- T"},
		{"kafka-console-producer --bootstrap-server B --topic T --property parse.key=true --property key.separator=: --request-required-acks 1",
			"produce --bootstrap-server=B --key-separator=: --acks=1 -- T"},
		{"kafka-console-consumer --bootstrap-server B --topic T --from-beginning --max-messages 3 --timeout-ms 500",
			"consume --bootstrap-server=B --offset=beginning --idle-timeout=500ms --count=3 -- T"},
		{"kafka-console-consumer --bootstrap-server B --topic T --partition 2 --offset earliest --property print.key=true",
			`consume --bootstrap-server=B --format=%k\t%s\n --partition=2 --offset=earliest -- T`},
		{"kafka-consumer-groups --bootstrap-server B --describe --group G", "groups lag --bootstrap-server=B -- G"},
		{"kafka-consumer-groups --bootstrap-server B --describe --group G --members", "groups describe --bootstrap-server=B -- G"},
		{"kafka-consumer-groups --bootstrap-server B --reset-offsets --group G --topic T:0 --shift-by -5 --by-duration PT1H30M --execute",
			"groups reset-offsets --bootstrap-server=B --topic=T:0 --shift-by=-5 --execute --by-duration=1h30m0s -- G"},
		{"kafka-configs --bootstrap-server B --alter --entity-type topics --entity-name T --add-config a=1,b=[x,y] --delete-config c,d",
			"configs alter --bootstrap-server=B --topic=T --add=a=1 --add=b=x,y --delete=c --delete=d"},
		{"kafka-configs --bootstrap-server B --describe --entity-type brokers --entity-default", "configs describe --bootstrap-server=B --all-brokers"},
		{"kafka-server-start.sh server.properties --override broker.id=1", "server --config=server.properties --override=broker.id=1"},
		{"zookeeper-shell Z:2181/kafka ls /", "zk shell Z:2181/kafka ls /"},
		{"zookeeper-server-start zoo.cfg", "zk server --config=zoo.cfg"},
	}
	for _, c := range cases {
		words := strings.Fields(c.line)
		translate, ok := toolVerb(words[0])
		if !ok {
			t.Fatalf("%s is no tool", words[0])
		}
		got, err := translate(words[1:])
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s\n got %s (%v)\nwant %s", c.line, strings.Join(got, " "), err, c.want)
		}
	}
}

func TestToolsSayWhatIsMissing(t *testing.T) {
	for line, want := range map[string]string{
		"kafka-topics --list":                                              "--bootstrap-server HOST:PORT, or --zookeeper",
		"kafka-topics --bootstrap-server B":                                "--create, --list",
		"kafka-topics --bootstrap-server B --create":                       "--topic NAME",
		"kafka-topics --list --delete":                                     "exclude each other",
		"kafka-topics --lst":                                               "--lst",
		"kafka-topics --topic":                                             "needs a value",
		"kafka-configs --bootstrap-server B --describe":                    "--entity-type",
		"kafka-console-consumer --bootstrap-server B --topic T --offset 3": "--partition",
	} {
		words := strings.Fields(line)
		translate, _ := toolVerb(words[0])
		if _, err := translate(words[1:]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

func TestLinkToolsMakesLinksOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bin")
	code, out, errs := cli(t, "", "link-tools", dir)
	if code != 0 || !strings.Contains(out, "links in") {
		t.Fatalf("code %d %s %s", code, out, errs)
	}
	self, _ := os.Executable()
	for _, name := range []string{"kafka-topics", "kafka-topics.sh", "zookeeper-shell"} {
		if at, err := os.Readlink(filepath.Join(dir, name)); err != nil || at != self {
			t.Errorf("%s leads to %s, %v", name, at, err)
		}
	}
	if code, _, errs := cli(t, "", "link-tools", dir); code != 0 {
		t.Errorf("a second time: code %d, %s", code, errs)
	}
}

func TestRegistrationsOfAllAgesAreRead(t *testing.T) {
	cases := map[string]string{
		`{"jmx_port":-1,"host":"h","port":9092,"version":1}`:                                                                                           "h:9092",
		`{"endpoints":["PLAINTEXT://h:1"],"host":"h","port":1,"version":2}`:                                                                            "h:1",
		`{"listener_security_protocol_map":{"IN":"SSL","OUT":"PLAINTEXT"},"endpoints":["IN://a:1","OUT://[::1]:2"],"host":null,"port":-1,"version":5}`: "[::1]:2",
		`{"listener_security_protocol_map":{"IN":"SSL"},"endpoints":["IN://a:1"],"host":null,"port":-1,"version":5}`:                                   "",
		`junk`: "",
	}
	for data, want := range cases {
		if got, _ := registeredAddress([]byte(data)); got != want {
			t.Errorf("%s gives %q, want %q", data, got, want)
		}
	}
}
