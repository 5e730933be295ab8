package ensemble

import (
	"fmt"
	"strings"
)

// writeServers writes a configuration that a reconfig has made to FILE.dynamic.VERSION and names it in FILE, as ZooKeeper does, so that whoever reads
// the files finds the members of now. A file that nobody has changed the members of stays as it is. Failing is no harm: the members are in the tree.
func (m *Member) writeServers() {
	list, version := m.Core.Servers()
	if m.cfg.File == "" || !m.cfg.ReconfigEnabled || version <= firstConfigVersion || version <= m.written {
		return
	}
	m.written = version
	path := fmt.Sprintf("%s.dynamic.%x", m.cfg.File, version)
	if _, err := m.fs.Stat(path); err == nil {
		return // written in an earlier life, or by another member that reads the same file
	}
	if err := m.rewriteFile(path, list); err != nil {
		m.log.Warn("zk ensemble: the changed members cannot be written to the configuration file", "err", err)
	}
}

func (m *Member) rewriteFile(path string, list []Server) error {
	old, err := m.fs.ReadFile(m.cfg.File)
	if err != nil {
		return err
	}
	lines := make([]string, 0, len(list))
	for _, s := range list {
		lines = append(lines, s.Line())
	}
	if err := m.fs.WriteFileAtomic(path, []byte(strings.Join(lines, "\n")+"\n")); err != nil {
		return err
	}
	return m.fs.WriteFileAtomic(m.cfg.File, []byte(staticPart(string(old), path)))
}

// staticPart is a configuration file without servers, which are in the file at dynamic.
func staticPart(text, dynamic string) string {
	var out []string
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		key, _, _ := strings.Cut(strings.TrimSpace(line), "=")
		key = strings.TrimPrefix(strings.TrimSpace(key), "zookeeper.")
		if strings.HasPrefix(key, "server.") || key == "dynamicConfigFile" {
			continue
		}
		out = append(out, line)
	}
	return strings.Join(append(out, "dynamicConfigFile="+dynamic), "\n") + "\n"
}
