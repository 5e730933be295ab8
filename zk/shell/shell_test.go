package shell

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func target(t *testing.T) string {
	if addr := os.Getenv("PELTON_TEST_ZOOKEEPER"); addr != "" {
		return addr
	}
	s, err := server.Start(server.Options{DataDir: t.TempDir(), ClientAddr: "127.0.0.1:0", ExtendedTypes: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s.Addr().String()
}

func TestRunPrintsAsZkCli(t *testing.T) {
	addr := target(t)
	for _, c := range []struct{ line, want string }{
		{"create /sh one", "Created /sh\n"},
		{"create /sh/a 'two words'", "Created /sh/a\n"},
		{"create -s /sh/n-", "Created /sh/n-0000000001\n"},
		{"create -c /sh/box", "Created /sh/box\n"},
		{"ls /sh", "[a, box, n-0000000001]\n"},
		{"ls -R /sh", "/sh\n/sh/a\n/sh/box\n/sh/n-0000000001\n"},
		{"get /sh/a", "two words\n"},
		{"set /sh/a three", ""},
		{"get /sh/a --json", `{"data":"three"}` + "\n"},
		{"set -v 0 /sh/a four", "version No is not valid : /sh/a"},
		{"getAcl /sh/a", "'world,'anyone\n: cdrwa\n"},
		{"setAcl /sh/a world:anyone:r", ""},
		{"getAcl /sh/a", "'world,'anyone\n: r\n"},
		{"set /sh/a five", "Insufficient permission : /sh/a"},
		{"getAllChildrenNumber /sh", "3\n"},
		{"setquota -n 5 /sh", ""},
		{"listquota /sh", "absolute path is /zookeeper/quota/sh/zookeeper_limits\nOutput quota for /sh count=5,bytes=-1=;byteHardLimit=-1;countHardLimit=-1\nOutput stat for /sh count=4,bytes=8\n"},
		{"delquota /sh", ""},
		{"whoami", "Auth scheme: User\nip: 127.0.0.1\n"},
		{"delete /sh", "Node not empty: /sh"},
		{"get /nothing", "Node does not exist: /nothing"},
		{"deleteall /sh", ""},
		{"ls /sh", "Node does not exist: /sh"},
		{"nonsense", "unknown command"},
	} {
		words, err := split(c.line)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err = Run(context.Background(), append([]string{addr}, words...), &out)
		if err != nil {
			if out.String() != "" || !strings.Contains(err.Error(), c.want) || c.want == "" {
				t.Errorf("%s: %v, printed %q, want %q", c.line, err, out.String(), c.want)
			}
		} else if out.String() != c.want {
			t.Errorf("%s printed %q, want %q", c.line, out.String(), c.want)
		}
	}
}

func TestRunInputKeepsOneSession(t *testing.T) {
	addr := target(t)
	var out strings.Builder
	script := "create -e /mine x\ngetEphemerals\nget -w /mine\nset /mine y\nquit\n"
	if err := RunInput(context.Background(), []string{addr}, strings.NewReader(script), &out); err != nil {
		t.Fatal(err)
	}
	want := "Created /mine\n[/mine]\nx\n\nWATCHER::\n\nWatchedEvent state:SyncConnected type:NodeDataChanged path:/mine zxid: "
	zxid, ok := strings.CutPrefix(out.String(), want) // a server that others use has another one
	if n, err := strconv.ParseInt(strings.TrimSuffix(zxid, "\n"), 10, 64); !ok || err != nil || n < 3 {
		t.Fatalf("printed %q, want %q and a zxid", out.String(), want)
	}
	// The session was closed, not dropped: its ephemeral is gone.
	if err := Run(context.Background(), []string{addr, "get", "/mine"}, &out); !errors.Is(err, jute.NoNode) {
		t.Fatalf("after quit: %v", err)
	}
}

func TestRunStaysBelowItsChroot(t *testing.T) {
	addr := target(t)
	ctx := context.Background()
	var out strings.Builder
	for _, args := range [][]string{{addr, "create", "/root"}, {addr + "/root", "create", "/in", "v"}, {addr, "get", "/root/in"}, {addr + "/root", "ls", "/"}, {addr, "deleteall", "/root"}} {
		if err := Run(ctx, args, &out); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	if want := "Created /root\nCreated /in\nv\n[in]\n"; out.String() != want {
		t.Fatalf("printed %q, want %q", out.String(), want)
	}
}

func TestRunNamesAnUnreachableServer(t *testing.T) {
	err := Run(context.Background(), []string{"127.0.0.1:1", "ls", "/"}, &strings.Builder{})
	if !errors.Is(err, ErrConnect) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Fatalf("error %v", err)
	}
}

// Commands about the shell itself, typed one after the other.
// A value of hundreds of kilobytes fits into a command.
func TestRunInputTakesLongLines(t *testing.T) {
	var out strings.Builder
	long := strings.Repeat("v", 300_000)
	if err := RunInput(t.Context(), []string{target(t)}, strings.NewReader("create -e /long "+long+"\nget /long\n"), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), long) {
		t.Fatalf("%.200q", out.String())
	}
}

func TestRunInputKeepsAHistory(t *testing.T) {
	addr := target(t)
	var out strings.Builder
	in := "create /h x\nget /h\nredo 1\nset /h aGk= -b\nget -b /h\nprintwatches off\nget -w /h\nset /h z\nhistory\nclose\nget /h\nconnect " + addr + "\nget /h\nredo 99\ndeleteall /h\nquit\nget /h\n"
	if err := RunInput(context.Background(), []string{addr}, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	want := "Created /h\nx\nx\naGk=\nhi\n" +
		"0 - create /h x\n1 - get /h\n2 - get /h\n3 - set /h aGk= -b\n4 - get -b /h\n5 - printwatches off\n6 - get -w /h\n7 - set /h z\n8 - history\n" +
		"Not connected\nz\nCommand index out of range\n"
	if out.String() != want {
		t.Fatalf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

// TestQuotasAreChangedOneByOne: each command changes what it names, as zkCli's do.
func TestQuotasAreChangedOneByOne(t *testing.T) {
	var out strings.Builder
	script := strings.NewReader("create /q\nsetquota -n 10 /q\nsetquota -b 100 /q\nsetquota -N 20 /q\nlistquota /q\ndelquota -n /q\nlistquota /q\ndelquota /q\nlistquota /q\nsetquota /q\nsetquota -n 5 /none\nsetquota -n x /q\nnonsense\ndeleteall /q\n")
	if err := RunInput(t.Context(), []string{target(t)}, script, &out); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{"Created /q", "Output quota for /q count=10,bytes=100=;byteHardLimit=-1;countHardLimit=20\n", "Output quota for /q count=-1,bytes=100=;byteHardLimit=-1;countHardLimit=20\n",
		"quota for /q does not exist.\n", "setquota -n|-b|-N|-B val path\n", "Node does not exist: /none\n", "-n argument must be a long value\n", "\tsync path\n", "Command not found: Command not found nonsense\n"} {
		i := strings.Index(out.String()[at:], want)
		if i < 0 {
			t.Fatalf("no %q behind byte %d of\n%s", want, at, out.String())
		}
		at += i
	}
}
