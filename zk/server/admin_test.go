package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
)

func pages(o *Options) {
	o.FourLetterWhitelist = "*"
	o.Admin = AdminOptions{Enabled: true, Host: "127.0.0.1", Metrics: true, MetricsHost: "127.0.0.1"}
}

// testdata/metrics-ROLE.txt is what 3.9.5 shows: name and kind.
func realMetrics(t *testing.T, role string) map[string]string {
	t.Helper()
	f, err := os.Open("testdata/metrics-" + role + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, kind, _ := strings.Cut(lines.Text(), " ")
		out[name] = kind
	}
	return out
}

func TestMetricsHaveTheNamesOfZooKeeper(t *testing.T) {
	s := start(t, t.TempDir(), pages)
	defer stop(t, s)
	c, _ := dial(t, s)
	defer c.Close()
	if _, err := c.Create("/a", []byte("x"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	text, r := fetch(t, fmt.Sprintf("http://%s/metrics", s.MetricsAddr()))
	if got := r.Header.Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	want := realMetrics(t, "standalone")
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			if want[name] != kind {
				t.Errorf("%s is a %s, at ZooKeeper %q", name, kind, want[name])
			}
			delete(want, name)
		}
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
	for _, line := range []string{"znode_count 6.0\n", "num_alive_connections 1.0\n", "updatelatency_count 1.0\n", "fsynctime_count 2.0\n", "sync_processor_batch_size_sum 2.0\n", "global_sessions 1.0\n"} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no line %q", line)
		}
	}
	if mntr := asked(t, s.Addr().String(), "mntr"); !strings.Contains(mntr, "zk_election_time{quantile=\"0.5\"}\tNaN\n") || !strings.Contains(mntr, "zk_znode_count\t6.0\n") {
		t.Errorf("mntr: %s", mntr)
	}
}

func TestAdminCommandsAreLaidOutAsZooKeepers(t *testing.T) {
	s := start(t, t.TempDir(), pages)
	defer stop(t, s)
	c, _ := dial(t, s)
	defer c.Close()
	if _, err := c.Create("/e", []byte("x"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := c.GetW("/e"); err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprint(c.SessionID())
	get := func(name string) string {
		text, _ := fetch(t, fmt.Sprintf("http://%s/commands/%s", s.AdminAddr(), name))
		if !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON: %s", name, text)
		}
		return text
	}
	for name, want := range map[string]string{
		"ruok":            "{\n  \"command\" : \"ruok\",\n  \"error\" : null\n}",
		"nope":            "{\n  \"command\" : \"nope\",\n  \"error\" : \"Unknown command: nope\"\n}",
		"leader":          "{\n  \"command\" : \"leader\",\n  \"error\" : \"server is not initialized\"\n}",
		"is_read_only":    "{\n  \"read_only\" : false,\n  \"command\" : \"is_read_only\",\n  \"error\" : null\n}",
		"watches":         "{\n  \"session_id_to_watched_paths\" : {\n    \"" + id + "\" : [ \"/e\" ]\n  },\n  \"command\" : \"watches\",\n  \"error\" : null\n}",
		"watches_by_path": "{\n  \"path_to_session_ids\" : {\n    \"/e\" : [ " + id + " ]\n  },\n  \"command\" : \"watches_by_path\",\n  \"error\" : null\n}",
		"voting_view":     "{\n  \"current_config\" : { },\n  \"command\" : \"voting_view\",\n  \"error\" : null\n}",
		"hash":            "{\n  \"digests\" : [ ],\n  \"command\" : \"hash\",\n  \"error\" : null\n}",
	} {
		if got := get(name); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	for _, name := range strings.Fields(adminListed) {
		if text := get(name); !strings.Contains(text, "\"command\" : \""+name+"\"") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if text := get("dump"); !strings.Contains(text, "\""+id+"\" : [ \"/e\" ]") {
		t.Errorf("dump: %s", text)
	}
	if text := get("connections"); !strings.Contains(text, "\"connections\" : [ {\n    \"remote_socket_address\" : \"127.0.0.1:") || !strings.Contains(text, "  } ],\n  \"secure_connections\" : [ ],\n") {
		t.Errorf("connections: %s", text)
	}
	if text := get("set_trace_mask?traceMask=5"); !strings.Contains(text, "\"tracemask\" : 5") || asked(t, s.Addr().String(), "gtmk") != "5" {
		t.Errorf("set_trace_mask: %s", text)
	}
	r, err := http.Post(fmt.Sprintf("http://%s/commands/stat_reset", s.AdminAddr()), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", r.StatusCode)
	}
}

func TestPropertiesOfZooCfg(t *testing.T) {
	var o Options
	for _, p := range [][2]string{{"authProvider.1", "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"}, {"requireClientAuthScheme", "sasl"},
		{"ssl.keyStore.location", "/k"}, {"ssl.clientAuth", "want"}, {"enforce.auth.enabled", "true"}, {"enforce.auth.schemes", "sasl,x509"},
		{"metricsProvider.className", "org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider"}, {"admin.enableServer", "true"}, {"superUser", "joe"}} {
		if known, err := o.Property(p[0], p[1]); !known || err != nil {
			t.Errorf("%s: %v %v", p[0], known, err)
		}
	}
	o.setDefaults()
	if got := fmt.Sprintln(o.Schemes, o.RequiredSchemes, o.TLS.KeyStore, o.TLS.ClientAuth, o.Admin.MetricsPort, o.Admin.Port, o.SuperUser); got != "[sasl] [sasl x509] /k want 7000 8080 joe\n" {
		t.Error(got)
	}
	for _, p := range [][2]string{{"ssl.clientAuth", "maybe"}, {"ssl.crl", "true"}, {"jute.maxbuffer", "many"}} {
		if _, err := o.Property(p[0], p[1]); err == nil {
			t.Errorf("%s=%s is taken", p[0], p[1])
		}
	}
	if known, _ := o.Property("nonsense", "1"); known {
		t.Error("nonsense is known")
	}
}
