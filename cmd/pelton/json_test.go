package main

import (
	"encoding/json"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/zk/server"
)

// runnable are the verbs that do something, by their words: families only print help.
func runnable(c *cobra.Command, words string, into map[string]*cobra.Command) {
	if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
		return
	}
	if !c.HasSubCommands() || c.Args != nil { // log-dirs does something alone, and has a verb below it
		into[words] = c
	}
	for _, sub := range c.Commands() {
		runnable(sub, strings.TrimSpace(words+" "+sub.Name()), into)
	}
}

// jsonLine is a verb's command line, and what the JSON that it prints must hold.
type jsonLine struct {
	verb string // words of the verb; the key in the table of verbs
	args string // behind it; an argument cannot hold spaces
	in   string
	want string
}

// clientLines go through one broker in this order; every verb that talks to a broker has one at least.
func clientLines() []jsonLine {
	return []jsonLine{
		{"topics create", "one two --partitions 2", "", `"partitions": 2`},
		{"topics create", "one --if-not-exists", "", `"existed": true`},
		{"topics list", "", "", `"one"`},
		{"topics describe", "one", "", `"topic": "one"`},
		{"topics alter", "one --partitions 3", "", `"partitions": 3`},
		{"configs alter", "--topic one --add retention.ms=5", "", `"key": "retention.ms"`},
		{"configs describe", "--topic one", "", `"value": "5"`},
		{"configs describe", "--topic two", "", `[]`},
		{"configs delete", "--topic one retention.ms", "", `"key": "retention.ms"`},
		{"produce", "two -p 0", "a\nb\n", `"records": 2`},
		{"consume", "two -o beginning -e", "", `"payload":"b"`},
		{"consume", "two -g readers -o beginning -e", "", `"payload":"a"`},
		{"groups list", "", "", `"group": "readers"`},
		{"groups describe", "readers", "", `"state": "Empty"`},
		{"groups lag", "readers", "", `"lag": 0`},
		{"groups reset-offsets", "readers --topic two:0 --to-earliest", "", `"after": 0`},
		{"groups delete", "readers", "", `"group": "readers"`},
		{"groups list", "", "", `[]`},
		{"log-dirs", "", "", `"usable_bytes"`},
		{"perf produce", "--records 100 --duration 0s --warmup 0s --topic load --keep", "", `"records"`},
		{"perf consume", "--records 100 --duration 0s --warmup 0s --topic load", "", `"records"`},
		{"perf mixed", "--records 100 --duration 0s --warmup 0s", "", `"records"`},
		{"perf latency", "--records 50 --duration 0s --warmup 0s --rate 1000", "", `"records"`},
		{"perf record", "--topic load --duration 0s --records 100 --file FILE", "", `"records"`},
		{"perf replay", "--file FILE --speed 10", "", `"records"`},
		{"topics delete", "one", "", `"topic": "one"`},
		{"topics delete", "one --if-exists", "", `[]`},
	}
}

// elsewhere are the verbs that print JSON in tests of their own, or that are no client's.
func elsewhere() map[string]string {
	return map[string]string{
		"log-dirs move": "TestLogDirsMove", "perf self-test": "TestPerfAgainstABroker", "zk shell": "zk/shell.TestEveryVerbAnswersInJSON", "top": "TestTopOnceInADumbTerminalAndAsJSON",
		"doctor": "TestDoctorExitCodesAndJSON", "lab run": "make lab-tiny runs it", "log adopt": "broker.TestAdoptDryRun has what is printed",
		"server": "its ready line is JSON", "zk server": "its ready line is JSON", "zk import": "TestZkImport",
	}
}

func TestEveryVerbHasJSON(t *testing.T) {
	verbs := map[string]*cobra.Command{}
	runnable(rootCommand(streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard}), "", verbs)
	tested := map[string]bool{}
	for _, l := range append(clientLines(), machineLines("")...) {
		tested[l.verb] = true
	}
	for verb := range elsewhere() {
		tested[verb] = true
	}
	for verb, c := range verbs {
		if !tested[verb] {
			t.Errorf("no line of this test runs pelton %s", verb)
		}
		if !strings.HasSuffix(verb, "server") && verb != "zk shell" && c.Flag("json") == nil {
			t.Errorf("pelton %s has no --json", verb)
		}
	}
	for verb := range tested {
		if verbs[verb] == nil {
			t.Errorf("there is no pelton %s, there are %v", verb, slices.Sorted(maps.Keys(verbs)))
		}
	}
}

// onlyJSON reports whether text is one JSON value after the other, and at least one.
func onlyJSON(text string) bool {
	d := json.NewDecoder(strings.NewReader(text))
	for n := 0; ; n++ {
		var v any
		if err := d.Decode(&v); err != nil {
			return err == io.EOF && n > 0
		}
	}
}

func TestClientVerbsPrintNothingButJSON(t *testing.T) {
	s := session{t, ownBroker(t)}
	file := filepath.Join(t.TempDir(), "one.load")
	for _, l := range clientLines() {
		words := strings.Fields(l.verb + " " + strings.ReplaceAll(l.args, "FILE", file) + " --json")
		if out := s.ok(l.in, words...); !onlyJSON(out) || !strings.Contains(out, l.want) {
			t.Errorf("pelton %s printed %q, want JSON with %s", strings.Join(words, " "), out, l.want)
		}
	}
	// A refusal leaves a list without it, and its reason where errors go.
	code, out, errs := cli(t, "", "topics", "create", "two", "--json", "-b", s.address)
	if code != 1 || strings.TrimSpace(out) != "[]" || !strings.Contains(errs, "TOPIC_ALREADY_EXISTS") {
		t.Errorf("a topic that is there: code %d, %q, %q", code, out, errs)
	}
}

// machineLines are of verbs that need no broker, on a partition's directory dir.
func machineLines(dir string) []jsonLine {
	return []jsonLine{
		{"version", "", "", `"commit"`},
		{"plan", "--per-day 1TB --keep-days 7", "", ``},
		{"lab settings", "", "", `"name": "shards"`},
		{"lab restore", "", "", `"restored": []`},
		{"link-tools", dir + "/tools", "", `"links"`},
		{"link-tools", dir + "/tools", "", `"links": []`},
		{"log dump", dir, "", ``},
		{"log verify", dir, "", ``},
		{"log lookup", dir + " 0", "", ``},
		{"log index", "--rebuild " + dir, "", `"steps"`},
		{"log index", dir, "", ``},
		{"log repair", dir, "", `"damage": []`},
	}
}

func TestMachineVerbsPrintNothingButJSON(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, l := range machineLines(partitionDir(t)) {
		words := strings.Fields(l.verb + " " + l.args + " --json")
		if code, out, errs := cli(t, l.in, words...); code != 0 || !onlyJSON(out) || !strings.Contains(out, l.want) {
			t.Errorf("pelton %s: code %d, printed %q and %q, want JSON with %s", strings.Join(words, " "), code, out, errs, l.want)
		}
	}
}

func TestZkImport(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	s, err := server.Start(server.Options{DataDir: from, ClientAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	code, _, errs := cli(t, "", "zk", "shell", s.Addr().String(), "create", "/kept", "x")
	if err := s.Stop(); err != nil || code != 0 {
		t.Fatal(err, code, errs)
	}
	code, out, errs := cli(t, "", "zk", "import", from, "--to", to, "--json")
	if code != 0 || !onlyJSON(out) || !strings.Contains(out, `"zxid"`) {
		t.Fatalf("code %d, %q, %q", code, out, errs)
	}
	if s, err = server.Start(server.Options{DataDir: to, ClientAddr: "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	code, out, errs = cli(t, "", "zk", "shell", s.Addr().String(), "get", "/kept", "--json")
	if err := s.Stop(); err != nil || code != 0 || strings.TrimSpace(out) != `{"data":"x"}` {
		t.Fatalf("%v, code %d, %q, %q", err, code, out, errs)
	}
}

// partitionDir is a partition whose three batches are sound.
func partitionDir(t *testing.T) string {
	dir, _ := writeLog(t)
	return dir
}
