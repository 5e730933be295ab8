package logstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Meta is the content of meta.properties. Version 0 is that of ZooKeeper mode, version 1 that of KRaft.
type Meta struct {
	Version   int
	BrokerID  int32 // broker.id, or node.id of version 1; -1 when the file has none
	ClusterID string
	DirID     string // directory.id of version 1
}

// decodeMeta reads Java properties as Kafka writes them.
func decodeMeta(b []byte) (Meta, error) {
	m := Meta{BrokerID: -1}
	version := false
	for _, line := range strings.Split(string(b), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(strings.ReplaceAll(value, "\\", ""))
		switch key {
		case "version":
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 || n > 1 {
				return m, fmt.Errorf("version %q is not supported", value)
			}
			m.Version, version = n, true
		case "broker.id", "node.id":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil || n < 0 {
				return m, fmt.Errorf("%s is %q", key, value)
			}
			m.BrokerID = int32(n)
		case "cluster.id":
			m.ClusterID = value
		case "directory.id":
			m.DirID = value
		}
	}
	if !version {
		return m, fmt.Errorf("no version")
	}
	return m, nil
}

// encodeMeta writes version 0 as Kafka 3.x does.
func encodeMeta(m Meta, nowMs int64) []byte {
	when := time.UnixMilli(nowMs).UTC().Format("Mon Jan 02 15:04:05 MST 2006")
	s := fmt.Sprintf("#\n#%s\nbroker.id=%d\nversion=0\n", when, m.BrokerID)
	if m.ClusterID != "" {
		s += "cluster.id=" + m.ClusterID + "\n"
	}
	return []byte(s)
}
