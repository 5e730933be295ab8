package logstore

import (
	"encoding/base64"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Names of Kafka's files in a log directory and in a partition's.
const (
	recoveryFile  = "recovery-point-offset-checkpoint"
	highFile      = "replication-offset-checkpoint"
	startFile     = "log-start-offset-checkpoint"
	cleanerFile   = "cleaner-offset-checkpoint"
	cleanFile     = ".kafka_cleanshutdown"
	lockFile      = ".lock"
	metaFile      = "meta.properties"
	epochFile     = "leader-epoch-checkpoint"
	partitionFile = "partition.metadata"
)

// cleanMarker is what Kafka 3.x writes when it knows no broker epoch.
const cleanMarker = `{"version":0,"brokerEpoch":-1}`

// checkpointHead parses the two first lines of a checkpoint: version 0 and the count of entries. lines are the rest.
func checkpointHead(b []byte) (lines []string, err error) {
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if len(all) < 2 || strings.TrimSpace(all[0]) != "0" {
		return nil, fmt.Errorf("version is not 0")
	}
	n, err := strconv.Atoi(strings.TrimSpace(all[1]))
	if err != nil || n != len(all)-2 {
		return nil, fmt.Errorf("the count of entries is wrong")
	}
	return all[2:], nil
}

// decodeOffsets reads a checkpoint of offsets by partition.
func decodeOffsets(b []byte) (map[TopicPartition]int64, error) {
	lines, err := checkpointHead(b)
	if err != nil {
		return nil, err
	}
	out := make(map[TopicPartition]int64, len(lines))
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil, fmt.Errorf("an entry needs three fields: %q", line)
		}
		p, err1 := strconv.ParseInt(f[1], 10, 32)
		offset, err2 := strconv.ParseInt(f[2], 10, 64)
		if err1 != nil || err2 != nil || p < 0 {
			return nil, fmt.Errorf("a number is wrong: %q", line)
		}
		out[TopicPartition{f[0], int32(p)}] = offset
	}
	return out, nil
}

// encodeOffsets writes a checkpoint of offsets by partition, sorted.
func encodeOffsets(m map[TopicPartition]int64) []byte {
	all := make([]TopicPartition, 0, len(m))
	for tp := range m {
		all = append(all, tp)
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].Topic != all[j].Topic {
			return all[i].Topic < all[j].Topic
		}
		return all[i].Partition < all[j].Partition
	})
	var s strings.Builder
	fmt.Fprintf(&s, "0\n%d\n", len(all))
	for _, tp := range all {
		fmt.Fprintf(&s, "%s %d %d\n", tp.Topic, tp.Partition, m[tp])
	}
	return []byte(s.String())
}

// decodeEpochs reads leader-epoch-checkpoint; both columns must grow.
func decodeEpochs(b []byte) ([]epochStart, error) {
	lines, err := checkpointHead(b)
	if err != nil {
		return nil, err
	}
	var out []epochStart
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) != 2 {
			return nil, fmt.Errorf("an entry needs two fields: %q", line)
		}
		epoch, err1 := strconv.ParseInt(f[0], 10, 32)
		start, err2 := strconv.ParseInt(f[1], 10, 64)
		if err1 != nil || err2 != nil || epoch < 0 || start < 0 {
			return nil, fmt.Errorf("a number is wrong: %q", line)
		}
		if n := len(out); n > 0 && (int32(epoch) <= out[n-1].Epoch || start < out[n-1].Start) {
			return nil, fmt.Errorf("entries do not grow: %q", line)
		}
		out = append(out, epochStart{int32(epoch), start})
	}
	return out, nil
}

func encodeEpochs(list []epochStart) []byte {
	var s strings.Builder
	fmt.Fprintf(&s, "0\n%d\n", len(list))
	for _, e := range list {
		fmt.Fprintf(&s, "%d %d\n", e.Epoch, e.Start)
	}
	return []byte(s.String())
}

// decodePartition reads partition.metadata: the topic's id.
func decodePartition(b []byte) (id [16]byte, err error) {
	for _, line := range strings.Split(string(b), "\n") {
		key, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(key) != "topic_id" {
			continue
		}
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(value))
		if err != nil || len(raw) != len(id) {
			return id, fmt.Errorf("topic_id is no id: %q", line)
		}
		copy(id[:], raw)
		return id, nil
	}
	return id, fmt.Errorf("no topic_id")
}

func encodePartition(id [16]byte) []byte {
	return []byte("version: 0\ntopic_id: " + base64.RawURLEncoding.EncodeToString(id[:]))
}
