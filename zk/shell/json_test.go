package shell

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Each command of the shell, by its name, must say something to a program, and nothing but JSON.
func TestEveryVerbAnswersInJSON(t *testing.T) {
	addr := target(t)
	script := map[string][2]string{
		"create":               {"create /j one", `{"created":"/j"}`},
		"get":                  {"get /j", `{"data":"one"}`},
		"set":                  {"set /j two", `{"set":"/j"}`},
		"ls":                   {"ls /j", `[]`},
		"stat":                 {"stat /j", `"version":1`},
		"exists":               {"exists /j", `"version":1`},
		"sync":                 {"sync /j", `{"synced":"/j"}`},
		"getAcl":               {"getAcl /j", `[{"id":"anyone","perms":"cdrwa","scheme":"world"}]`},
		"setAcl":               {"setAcl /j world:anyone:cdrwa", `{"set":"/j"}`},
		"addauth":              {"addauth digest joe:secret", `{"added":"digest"}`},
		"getEphemerals":        {"getEphemerals", `[]`},
		"getAllChildrenNumber": {"getAllChildrenNumber /j", `0`},
		"whoami":               {"whoami", `"scheme":"ip"`},
		"config":               {"config", `{"data":`},
		"version":              {"version", `"ZooKeeper CLI version`},
		"setquota":             {"setquota -n 5 /j", `{"set":"/j"}`},
		"listquota":            {"listquota /j", `"Output quota for /j count=5`},
		"delquota":             {"delquota /j", `{"deleted":"/j"}`},
		"addWatch":             {"addWatch /j", `{"watched":"/j"}`},
		"removewatches":        {"addWatch /j\nremovewatches /j", `{"removed":"/j"}`},
		"reconfig":             {"reconfig -remove 1", `{"error":`},
		"deleteall":            {"deleteall /j", `{"deleted":"/j"}`},
		"rmr":                  {"rmr /k", `{"deleted":"/k"}`},
		"delete":               {"delete /l", `{"deleted":"/l"}`},
		"watch":                {"", ""}, // stays: tested by itself
	}
	order := []string{"create", "get", "set", "ls", "stat", "exists", "sync", "getAcl", "setAcl", "addauth", "getEphemerals", "getAllChildrenNumber", "whoami",
		"config", "version", "setquota", "listquota", "delquota", "addWatch", "removewatches", "reconfig", "deleteall", "rmr", "delete"}
	if got, want := slices.Sorted(maps.Keys(script)), slices.Sorted(maps.Keys(verbs())); !slices.Equal(got, want) || len(order)+1 != len(want) {
		t.Fatalf("the test knows %v, the shell %v", got, want)
	}
	ctx := context.Background()
	for _, path := range []string{"/k", "/l"} {
		if err := Run(ctx, []string{addr, "create", path}, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range order {
		var out strings.Builder
		if err := RunInput(ctx, []string{addr, "--json"}, strings.NewReader(script[name][0]+"\n"), &out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s printed %q, which is no JSON", name, line)
			}
		}
		if !strings.Contains(out.String(), script[name][1]) {
			t.Errorf("%s printed %q without %s", name, out.String(), script[name][1])
		}
	}
	var out strings.Builder
	talk := "nonsense\nhistory\nprintwatches off\nhelp\nset -s / x\nclose\nget /\n"
	if err := RunInput(ctx, []string{addr, "--json"}, strings.NewReader(talk), &out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the shell itself printed %q, which is no JSON", line)
		}
	}
	if want := `{"error":"Not connected"}`; !strings.Contains(out.String(), want) {
		t.Errorf("%q does not hold %s", out.String(), want)
	}
}

func TestWatchTellsEventsInJSON(t *testing.T) {
	addr := target(t)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := Run(ctx, []string{addr, "create", "/seen"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, []string{addr, "watch", "/seen", "--json"}, w)
		_ = w.Close()
	}()
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(r).ReadString('\n')
		lines <- line
		_, _ = io.Copy(io.Discard, r)
	}()
	for line := ""; line == ""; {
		if err := Run(context.Background(), []string{addr, "set", "/seen", "x"}, io.Discard); err != nil {
			t.Fatal(err)
		}
		select {
		case line = <-lines:
			if want := `{"type":"NodeDataChanged","path":"/seen"}` + "\n"; line != want {
				t.Fatalf("printed %q, want %q", line, want)
			}
		default:
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
