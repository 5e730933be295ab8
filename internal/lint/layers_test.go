package lint

import (
	"strings"
	"testing"
)

// arrow is what a package may import of this module, beside itself and internal/invariant.
type arrow struct {
	from string   // package, or package/... for it and all below
	to   []string // the same
}

// arrows is the figure of design in docs/ARCHITECTURE.md: network, log and coordination do not know each other and meet in
// reactor/api. The first line that fits counts. A new arrow needs an ADR that says why.
func arrows() []arrow {
	anything := []string{"internal/...", "netpoll", "reactor/...", "logstore/...", "replica", "controller/...", "zk/...", "perf/...", "benchmarks/..."}
	base := []string{"internal/clock", "internal/task", "perf"}
	return []arrow{
		{"cmd/...", append([]string{"cmd/..."}, anything...)},
		{"internal/tools/...", anything},
		{"benchmarks/...", anything},
		{"internal/lint", nil},
		{"internal/script", nil},
		{"internal/sim/...", anything}, // imported by tests and make sim only

		{"internal/invariant", nil},
		{"internal/clock", nil},
		{"internal/config", nil},
		{"internal/arena", nil},
		{"internal/uring", nil},
		{"internal/tty", nil},
		{"internal/task", []string{"internal/clock"}},
		{"internal/disk", []string{"internal/arena", "internal/clock", "internal/task", "internal/uring"}},
		{"internal/interop/...", anything},
		{"perf", []string{"internal/clock"}},
		{"perf/load/...", []string{"perf", "perf/load/...", "internal/clock", "internal/task"}},
		{"perf/lab/...", []string{"perf/...", "internal/clock", "internal/task"}},

		{"netpoll", append([]string{"internal/arena", "internal/uring"}, base...)},
		{"reactor", append([]string{"netpoll", "internal/arena", "internal/disk"}, base...)},
		{"reactor/wire", []string{"netpoll", "logstore/batch", "internal/arena"}},
		{"reactor/purgatory", []string{"reactor", "reactor/wire", "internal/clock", "perf"}},
		{"reactor/quota", []string{"internal/clock", "controller/meta", "perf"}},
		{"reactor/auth", []string{"reactor/wire", "internal/clock", "controller/meta", "controller/acl", "controller/cred", "perf"}},
		// Named exception: hosts group and transaction machines on a log.
		{"reactor/coord", append([]string{"reactor", "reactor/wire", "logstore", "logstore/batch", "controller/meta", "controller/group", "controller/txn"}, base...)},
		// The one place where the three columns meet. No cmd, no benchmarks, no load generator.
		{"reactor/api", append([]string{"netpoll", "reactor/...", "logstore/...", "replica", "controller/...", "internal/arena", "internal/config", "internal/disk"}, base...)},

		{"logstore/batch", []string{"internal/arena"}},
		{"logstore/...", append([]string{"logstore/...", "internal/arena", "internal/disk"}, base...)},
		// Named exception: reads the image.
		{"replica", []string{"logstore/...", "controller/meta", "internal/clock", "perf"}},

		{"controller/meta", nil},
		{"controller/plan", []string{"controller/meta"}},
		{"controller/run", append([]string{"controller/meta", "controller/plan", "controller/acl", "controller/cred", "zk/client"}, base...)},
		{"controller/...", []string{"controller/meta", "internal/clock", "perf"}}, // pure machines

		{"zk/jute", nil},
		{"zk/client", append([]string{"zk/jute"}, base...)},
		{"zk/shell", append([]string{"zk/client", "zk/jute"}, base...)},
		// The member of an ensemble knows no client: zk/server drives it.
		{"zk/ensemble", append([]string{"zk/jute", "zk/tree", "zk/session", "zk/txnlog", "internal/disk"}, base...)},
		// Named exception: stands on netpoll, so that there is one network layer.
		{"zk/...", append([]string{"zk/...", "netpoll", "internal/arena", "internal/disk"}, base...)},
	}
}

func TestArrowsPointDown(t *testing.T) {
	for _, s := range tree(t) {
		if s.Test {
			continue // a test may stand on more; TestNobodyImportsTheTop still holds
		}
		for _, path := range s.Imports() {
			to, ours := strings.CutPrefix(path, module+"/")
			if !ours || to == s.Dir || to == "internal/invariant" {
				continue
			}
			if !mayImport(s.Dir, to) {
				t.Errorf("%s: %s may not import %s; if it must, say in an ADR why and add the arrow", s.Path, s.Dir, to)
			}
		}
	}
}

func mayImport(from, to string) bool {
	for _, a := range arrows() {
		if Under(from, a.from) {
			return Under(to, a.to...)
		}
	}
	return false
}

func TestNobodyImportsTheTop(t *testing.T) {
	for _, s := range tree(t) {
		for _, path := range s.Imports() {
			to, ours := strings.CutPrefix(path, module+"/")
			if ours && Under(to, "cmd/...") && !Under(s.Dir, "cmd/...") {
				t.Errorf("%s: imports %s", s.Path, to)
			}
			if ours && Under(to, "internal/lint") {
				t.Errorf("%s: imports %s", s.Path, to)
			}
		}
	}
}

func TestFoldersAreTheAgreedOnes(t *testing.T) {
	for _, s := range tree(t) {
		if !Under(s.Dir, "cmd/...", "netpoll", "reactor/...", "logstore/...", "replica/...", "controller/...", "zk/...", "perf/...", "benchmarks/...", "internal/...") {
			t.Errorf("%s: no code belongs in %s", s.Path, s.Dir)
		}
	}
}

// homes are the places that an import may stand in.
func homes() map[string][]string {
	clients := []string{"cmd/...", "perf/load/...", "perf/lab/...", "benchmarks/...", "internal/interop/...", "internal/tools/..."}
	return map[string][]string{
		"unsafe":                             {"internal/uring", "internal/arena", "netpoll"},
		"golang.org/x/sys/unix":              {"netpoll", "internal/...", "benchmarks/...", "perf/..."},
		"github.com/panjf2000/gnet/v2/...":   {"netpoll"},
		"github.com/pawelgaczynski/giouring": {"internal/uring"},
		"github.com/twmb/franz-go/pkg/kgo":   clients,
		"github.com/twmb/franz-go/pkg/kadm":  clients,
		"github.com/go-zookeeper/zk":         {"zk/client", "zk/shell", "zk/zktest", "zk/conformance", "cmd/...", "internal/interop/...", "internal/tools/..."},
		"go.etcd.io/raft/v3/...":             {"zk/ensemble"},
		"github.com/spf13/cobra":             {"cmd/...", "benchmarks/..."},
		"github.com/magiconair/properties":   {"internal/config"},
		"github.com/klauspost/compress/...":  {"logstore/batch", "perf/load/...", "benchmarks/...", "cmd/pelton", "internal/tools/differential"},
		"github.com/pierrec/lz4/v4":          {"logstore/batch", "perf/load/...", "benchmarks/...", "cmd/pelton", "internal/tools/differential"},
		module + "/internal/config":          {"cmd/...", "reactor/api"},
		module + "/internal/uring":           {"internal/disk", "netpoll"},
		module + "/perf/load":                {"cmd/...", "benchmarks/...", "perf/..."},
		module + "/perf/lab":                 {"cmd/...", "benchmarks/...", "perf/..."},
		"context":                            {"cmd/...", "zk/...", "controller/run", "internal/task", "internal/disk", "internal/tools/...", "reactor/api", "perf/...", "benchmarks/...", "internal/interop/...", "internal/sim/..."},
		"log":                                nil, // log/slog, handed in
	}
}

func TestImportsStayAtHome(t *testing.T) {
	for _, s := range tree(t) {
		if s.Test {
			continue
		}
		for _, path := range s.Imports() {
			for name, places := range homes() {
				if Under(path, name) && !Under(s.Dir, places...) {
					t.Errorf("%s: %s may be imported only in %s", s.Path, path, strings.Join(places, ", "))
				}
			}
		}
	}
}

func TestArrowsAreNotVacuous(t *testing.T) {
	for from, to := range map[string]string{
		"netpoll": "logstore", "logstore": "netpoll", "reactor": "reactor/api", "controller/plan": "zk/client", "replica": "netpoll",
		"internal/arena": "internal/disk", "zk/server": "logstore", "perf": "reactor", "logstore/batch": "logstore", "controller/group": "logstore",
	} {
		if mayImport(from, to) {
			t.Errorf("%s may import %s", from, to)
		}
	}
	for from, to := range map[string]string{
		"reactor/api": "logstore/batch", "zk/server": "netpoll", "replica": "controller/meta", "reactor/coord": "controller/group", "cmd/pelton": "reactor/api",
	} {
		if !mayImport(from, to) {
			t.Errorf("%s may not import %s", from, to)
		}
	}
}
