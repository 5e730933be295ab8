package main

import (
	"strings"
	"testing"
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
