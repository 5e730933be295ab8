package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
)

// cli runs a command line and gives its exit code and its two outputs.
func cli(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), append([]string{"pelton"}, args...), streams{in: strings.NewReader(in), out: &stdout, err: &stderr})
	return code, stdout.String(), stderr.String()
}

// deadAddress is an address that nothing listens on.
func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestWrongCommandLinesGiveCode2AndSayWhy(t *testing.T) {
	cases := []struct {
		args []string
		want string
	}{
		{[]string{"nonsense"}, "nonsense"},
		{[]string{"topics", "nonsense"}, "create, list, describe, alter, delete"},
		{[]string{"topics", "list", "--nonsense"}, "--nonsense"},
		{[]string{"topics", "alter", "t"}, "--partitions N"},
		{[]string{"zk", "shell", "ls", "/brokers/ids"}, "pelton zk shell 127.0.0.1:2181 ls /brokers/ids"},
		{[]string{"topics", "create", "t", "--config", "x", "-b", "127.0.0.1:1"}, ""},
		{[]string{"configs", "describe"}, "--topic NAME, --broker N, --all-brokers"},
		{[]string{"configs", "alter", "--topic", "t"}, "--add key=value"},
		{[]string{"configs", "alter", "--topic", "t", "--add", "novalue"}, "key=value"},
		{[]string{"produce"}, "usage: pelton produce TOPIC"},
		{[]string{"perf", "nonsense"}, "produce, consume, latency, mixed, record, replay, self-test"},
		{[]string{"lab", "list"}, "run, settings, restore"},
		{[]string{"produce", "t", "--acks", "2"}, "0, 1 or all"},
		{[]string{"produce", "t", "-z", "rar"}, "none, gzip, snappy, lz4 or zstd"},
		{[]string{"produce", "t", "-X", "lingr.ms=1"}, "linger.ms"},
		{[]string{"consume", "t", "-o", "ealiest"}, "did you mean earliest?"},
		{[]string{"consume", "t", "-f", "%x"}, "must be one of"},
		{[]string{"consume", "t", "-g", "g", "-p", "1"}, "exclude each other"},
	}
	for _, c := range cases {
		code, _, errs := cli(t, "", c.args...)
		if code == 0 || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: code %d, %q, want %q", c.args, code, errs, c.want)
		}
		if c.want != "" && code != 2 {
			t.Errorf("%v: code %d, want 2", c.args, code)
		}
	}
}

// What most often keeps a broker from starting is told with the flag that helps.
func TestServerThatCannotStartSaysWhatHelps(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	taken := l.Addr().String()
	for _, flags := range [][]string{{"--listen", taken, "--zk-listen", "127.0.0.1:0"}, {"--listen", "127.0.0.1:0", "--zk-listen", taken}} {
		code, out, errs := cli(t, "", append([]string{"server", "--log-level", "error", "--data-dir", dir}, flags...)...)
		if code != 1 || out != "" || !strings.Contains(errs, taken) || !strings.Contains(errs, "--zk-listen HOST:PORT") {
			t.Errorf("%v: code %d, out %q, %q", flags, code, out, errs)
		}
	}
	lock, err := disk.OS().Lock(filepath.Join(dir, "logs", ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	code, _, errs := cli(t, "", "server", "--data-dir", dir, "--listen", "127.0.0.1:0", "--zk-listen", "127.0.0.1:0")
	if code != 1 || !strings.Contains(errs, dir) || !strings.Contains(errs, "another with --data-dir DIR") {
		t.Errorf("locked: code %d, %q", code, errs)
	}
}

func TestUnreachableBrokerIsToldWithWhatToDo(t *testing.T) {
	address := deadAddress(t)
	for _, args := range [][]string{{"topics", "list"}, {"produce", "t"}, {"consume", "t", "-e"}, {"groups", "lag", "g"}, {"log-dirs"}, {"perf", "produce"}, {"perf", "consume"}} {
		code, out, errs := cli(t, "x\n", append(args, "--bootstrap-server", address)...)
		if code != 1 || out != "" || !strings.Contains(errs, address) || !strings.Contains(errs, "pelton server") || !strings.Contains(errs, "--bootstrap-server") {
			t.Errorf("%v: code %d, out %q, %q", args, code, out, errs)
		}
	}
}

// Every verb says in one line what it is for, and every family shows how its verbs are typed.
func TestHelpHasAnExampleInEveryFamily(t *testing.T) {
	for _, c := range rootCommand(streams{}).Commands() {
		if c.Hidden || c.Name() == "help" || c.Name() == "version" {
			continue
		}
		shown := c.Example != ""
		for _, v := range c.Commands() {
			shown = shown || v.Example != ""
			if v.Short == "" {
				t.Errorf("%s has no short text", v.CommandPath())
			}
		}
		if c.Short == "" || !shown {
			t.Errorf("%s has no short text, or no example in it or below it", c.CommandPath())
		}
	}
}

func TestNegativeOffsetsAreNoFlags(t *testing.T) {
	got := protectNegativeOffsets([]string{"consume", "t", "-o", "-5", "--offset", "-7", "-c", "3", "--", "-o", "-5"})
	if want := "consume t -o=-5 --offset=-7 -c 3 -- -o -5"; strings.Join(got, " ") != want {
		t.Errorf("got %v", got)
	}
}

func TestGeneratedPagesAreFresh(t *testing.T) {
	for name, write := range pages() {
		var want strings.Builder
		write(&want)
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want.String() {
			t.Errorf("docs/%s is not what its table prints; run make gen", name)
		}
	}
}
