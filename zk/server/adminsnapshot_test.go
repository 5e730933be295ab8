package server

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
)

// TestAdminSendsASnapshot to the superuser alone and not too often; a server that begins with it has what there was.
func TestAdminSendsASnapshot(t *testing.T) {
	s := start(t, t.TempDir(), func(o *Options) {
		pages(o)
		o.SuperDigest = DigestID("super:secret")
		for _, p := range [][2]string{{"admin.snapshot.enabled", "true"}, {"admin.snapshot.intervalInMS", "3600000"}} {
			if known, err := o.Property(p[0], p[1]); !known || err != nil {
				t.Errorf("%s: %v %v", p[0], known, err)
			}
		}
	})
	defer stop(t, s)
	c, _ := dial(t, s)
	defer c.Close()
	must[string](t)(c.Create("/kept", []byte("x"), 0, zk.WorldACL(zk.PermAll)))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(auth, query string) (int, http.Header, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s/commands/snapshot%s", s.AdminAddr(), query), nil)
		if err != nil {
			t.Fatal(err)
		}
		if auth != "" {
			r.Header.Set("Authorization", auth)
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		b, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, a.Header, string(b)
	}
	for auth, want := range map[string]string{"": "Auth info is missing for the command", "digest super:wrong": "Not authenticated", "digest joe:secret": "Not authenticated", "ip super:secret": "Not authenticated"} {
		if code, _, text := get(auth, ""); code != http.StatusUnauthorized || !strings.Contains(text, want) {
			t.Errorf("%q: %d %s", auth, code, text)
		}
	}
	code, head, body := get("digest super:secret", "?streaming=true")
	if code != http.StatusOK || head.Get("snapshot_size") != fmt.Sprint(len(body)) || head.Get("last_zxid") != "0x2" || !strings.HasPrefix(body, "ZKSN") {
		t.Fatalf("%d %v %d bytes", code, head, len(body))
	}
	if code, _, _ := get("digest super:secret", ""); code != http.StatusTooManyRequests {
		t.Errorf("another one at once: %d", code)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "version-2"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "version-2", "snapshot.2"), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	other := start(t, dir, nil)
	defer stop(t, other)
	d, _ := dial(t, other)
	defer d.Close()
	if data, _, err := d.Get("/kept"); err != nil || string(data) != "x" {
		t.Errorf("a server that begins with the snapshot: %q %v", data, err)
	}
}

// TestAdminSnapshotIsOffUnlessSwitchedOn, and a state is never put in over HTTP.
func TestAdminSnapshotIsOffUnlessSwitchedOn(t *testing.T) {
	s := start(t, t.TempDir(), pages)
	defer stop(t, s)
	for _, name := range []string{"snapshot", "restore"} {
		if text, _ := fetch(t, fmt.Sprintf("http://%s/commands/%s", s.AdminAddr(), name)); !strings.Contains(text, "Unknown command: "+name) {
			t.Errorf("%s: %s", name, text)
		}
	}
	var o Options
	if _, err := o.Property("admin.restore.enabled", "true"); err == nil {
		t.Error("admin.restore.enabled=true is taken")
	}
}
