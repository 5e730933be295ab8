package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/ensemble"
	"github.com/pelton-broker/pelton/zk/server"
)

// ensembleKey says whether a key of zoo.cfg, without "zookeeper.", is about the ensemble.
func ensembleKey(name string) bool {
	switch name {
	case "initLimit", "syncLimit", "reconfigEnabled", "standaloneEnabled", "quorumListenOnAllIPs", "dynamicConfigFile", keyFileKey:
		return true
	}
	return false
}

const keyFileKey = "pelton.ensemble.keyFile"

func hasServers(keys map[string]string) bool {
	for key := range keys {
		if strings.HasPrefix(key, "server.") || key == "dynamicConfigFile" {
			return true
		}
	}
	return false
}

// zooEnsemble reads the server lines of zoo.cfg, and what goes with them. Nil means a server alone: no such line, or one
// and standaloneEnabled as it is by default.
func zooEnsemble(keys map[string]string, file string, o *server.Options) (*ensemble.Config, error) {
	fs := disk.OS()
	c := &ensemble.Config{TickTimeMs: o.TickTimeMs}
	if path, err := filepath.Abs(file); err == nil {
		c.File = path
	}
	value := func(name string) string {
		if v, ok := keys[name]; ok {
			return strings.TrimSpace(v)
		}
		return strings.TrimSpace(keys["zookeeper."+name])
	}
	if c.TickTimeMs == 0 {
		c.TickTimeMs = server.DefaultTickTimeMs
	}
	c.ReconfigEnabled = value("reconfigEnabled") == "true"
	c.StandaloneOff = value("standaloneEnabled") == "false"
	c.ListenOnAllIPs = value("quorumListenOnAllIPs") == "true"
	var err error
	if c.Servers, err = zooServers(keys, fs, value("dynamicConfigFile")); err != nil {
		return nil, err
	}
	if len(c.Servers) == 0 || len(c.Servers) == 1 && !c.StandaloneOff {
		return nil, nil
	}
	for name, to := range map[string]*int{"initLimit": &c.InitLimit, "syncLimit": &c.SyncLimit} {
		if *to, err = strconv.Atoi(value(name)); err != nil {
			return nil, fmt.Errorf("%s=%s: an ensemble needs it, in ticks", name, value(name))
		}
	}
	if c.MyID, err = ensemble.ReadMyID(fs, o.DataDir); err != nil {
		return nil, err
	}
	o.ServerID = int(c.MyID)
	if o.ClientAddr == "" {
		if o.ClientAddr = c.Me().Client; o.ClientAddr == "" {
			return nil, fmt.Errorf("clientPort must be set, or stand in server.%d behind a semicolon", c.MyID)
		}
	}
	if path := value(keyFileKey); path != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(file), path)
		}
		if c.Key, err = ensemble.ReadKey(fs, path); err != nil {
			return nil, err
		}
	}
	c.Mutual = o.SSLQuorum && c.Key == nil
	return c, c.Check()
}

// zooServers collects the server lines of the file and of its dynamicConfigFile.
func zooServers(keys map[string]string, fs disk.FS, dynamic string) ([]ensemble.Server, error) {
	all := keys
	if dynamic != "" {
		text, err := fs.ReadFile(dynamic)
		if err != nil {
			return nil, fmt.Errorf("dynamicConfigFile: %w", err)
		}
		if all, err = config.ParseProperties(text); err != nil {
			return nil, fmt.Errorf("dynamicConfigFile %s: %w", dynamic, err)
		}
	}
	var list []ensemble.Server
	for key, text := range all {
		if !strings.HasPrefix(key, "server.") {
			continue
		}
		id, err := ensemble.ServerID(key)
		if err != nil {
			return nil, err
		}
		s, err := ensemble.ParseServer(id, text)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}
