package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pelton-broker/pelton/zk/server"
)

var (
	record = flag.Bool("record", false, "write the golden files from the server that PELTON_TEST_ZOOKEEPER names")
)

// target is the server to ask: a real one, or ours.
func target(t *testing.T) (addr string, real bool) {
	if addr := os.Getenv("PELTON_TEST_ZOOKEEPER"); addr != "" {
		return addr, true
	}
	s, err := server.Start(server.Options{DataDir: t.TempDir(), ClientAddr: "127.0.0.1:0", ExtendedTypes: true, EnforceQuota: true, MaxClientCnxns: -1,
		SuperDigest: server.DigestID("super:secret"), FourLetterWhitelist: "*"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s.Addr().String(), false
}

func TestScriptsAnswerAsApache(t *testing.T) {
	addr, _ := target(t)
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { playFile(t, addr, file) })
	}
}

func playFile(t *testing.T, addr, file string) {
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	golden := strings.TrimSuffix(file, ".txt") + ".golden"
	want := map[string]string{}
	if b, err := os.ReadFile(golden); err == nil {
		for _, part := range strings.Split("\n"+string(b), "\n== ")[1:] {
			name, text, _ := strings.Cut(part, "\n")
			want[name] = strings.TrimRight(text, "\n") + "\n"
		}
	}
	names, lines := cases(string(script))
	var all strings.Builder
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			p := newPlayer(t, addr)
			defer p.end()
			for _, l := range lines[name] {
				p.line(l)
			}
			got := p.out.String()
			all.WriteString("== " + name + "\n" + got + "\n")
			if !*record && want[name] != got {
				t.Errorf("differs from Apache (-want +got):\n%s", cmp.Diff(strings.Split(want[name], "\n"), strings.Split(got, "\n")))
			}
		})
	}
	if *record {
		if err := os.WriteFile(golden, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
