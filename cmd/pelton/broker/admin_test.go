package broker_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// get asks the admin listener for a page.
func (n *node) get(t *testing.T, path string) (int, string) {
	t.Helper()
	resp, err := http.Get("http://" + n.broker.Ready().Admin + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestAdminPages(t *testing.T) {
	n := own(t, "admin.listener=127.0.0.1:0")
	for _, page := range []struct{ path, holds string }{
		{"/healthz", "ok\n"},
		{"/metrics", "# TYPE broker_api_requests_total counter"},
		{"/debug/pprof/", "goroutine"},
		{"/debug/pprof/goroutine?debug=1", "goroutine profile: total"},
		{"/debug/pprof/heap?debug=1", "heap profile:"},
		{"/debug/pprof/trace?seconds=0.01", ""},
	} {
		code, text := n.get(t, page.path)
		if code != http.StatusOK || !strings.Contains(text, page.holds) || text == "" {
			t.Errorf("%s: %d, %d bytes without %q", page.path, code, len(text), page.holds)
		}
	}
	if code, _ := n.get(t, "/nothing"); code != http.StatusNotFound {
		t.Errorf("a page that does not exist: %d", code)
	}
}

// A log directory that cannot be used is told by the page that balancers and supervisors ask.
func TestHealthTellsOfAnOfflineDirectory(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "no-directory")
	if err := os.WriteFile(bad, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n := own(t, "admin.listener=127.0.0.1:0", "log.dirs="+filepath.Join(t.TempDir(), "good")+","+bad)
	code, text := n.get(t, "/healthz")
	if code != http.StatusServiceUnavailable || !strings.Contains(text, bad) {
		t.Errorf("%d %q", code, text)
	}
}
