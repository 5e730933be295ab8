package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/zk/ensemble"
	"github.com/pelton-broker/pelton/zk/server"
)

func TestZooCfgIsRead(t *testing.T) {
	o, unknown, err := zooOptions(map[string]string{"dataDir": "/d", "clientPort": "0", "clientPortAddress": "127.0.0.1", "tickTime": "500", "maxClientCnxns": "0",
		"4lw.commands.whitelist": "*", "zookeeper.snapCount": "7", "unheardOf": "5", "skipACL": "yes"})
	if err != nil {
		t.Fatal(err)
	}
	if o.ClientAddr != "127.0.0.1:0" || o.TickTimeMs != 500 || o.MaxClientCnxns != -1 || o.FourLetterWhitelist != "*" || o.SnapCount != 7 || !o.SkipACL {
		t.Errorf("%+v", o)
	}
	if len(unknown) != 1 || unknown[0] != "unheardOf" {
		t.Errorf("unknown %v", unknown)
	}
	for name, c := range map[string]struct{ key, value, want string }{
		"number": {"tickTime", "soon", "whole number"},
		"port":   {"secureClientPort", "65536", "0 to 65535"},
	} {
		if _, _, err := zooOptions(map[string]string{"dataDir": "/d", "clientPort": "1", c.key: c.value}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := zooOptions(map[string]string{"clientPort": "1"}); err == nil {
		t.Error("no dataDir is taken")
	}
}

// TestAnEnsembleNeedsAKeyOrCertificates reads the server lines of a zoo.cfg without a key file.
func TestAnEnsembleNeedsAKeyOrCertificates(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "myid"), []byte("2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("a key of the ensemble"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{"initLimit": "10", "syncLimit": "5", "server.1": "a:2888:3888;2181", "server.2": "b:2888:3888;2181"}
	if _, err := zooEnsemble(keys, filepath.Join(dir, "zoo.cfg"), &server.Options{DataDir: dir}); !errors.Is(err, ensemble.ErrKey) {
		t.Errorf("neither: %v", err)
	}
	c, err := zooEnsemble(keys, filepath.Join(dir, "zoo.cfg"), &server.Options{DataDir: dir, SSLQuorum: true})
	if err != nil || !c.Mutual || c.Key != nil {
		t.Errorf("certificates: %+v %v", c, err)
	}
	keys["pelton.ensemble.keyFile"] = "key"
	if c, err = zooEnsemble(keys, filepath.Join(dir, "zoo.cfg"), &server.Options{DataDir: dir, SSLQuorum: true}); err != nil || c.Mutual || len(c.Key) == 0 {
		t.Errorf("both: %+v %v", c, err)
	}
}
