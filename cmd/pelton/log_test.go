package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// runLine runs a command line of the program and returns what it printed and its exit code.
func runLine(t *testing.T, args ...string) (out, faults string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), args, streams{in: strings.NewReader(""), out: &o, err: &e})
	return o.String(), e.String(), code
}

// writeLog makes a partition's directory with one segment of three batches: offsets 0-1, 2-3 and 4.
func writeLog(t *testing.T) (dir string, ends []int) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "orders-0")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var raw []byte
	for i, n := range []int{2, 2, 1} {
		b := batch.NewBuilder(batch.None)
		b.BaseOffset = int64(2 * i)
		for range n {
			b.Add(1_700_000_000_000, []byte("k"), []byte{'v', byte('0' + i)}, batch.RecordHeader{Key: "h", Value: []byte("x")})
		}
		raw = append(raw, b.Bytes()...)
		ends = append(ends, len(raw))
	}
	if err := os.WriteFile(filepath.Join(dir, "00000000000000000000.log"), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, ends
}

func TestLogDumpPrintsBatchesAndRecords(t *testing.T) {
	dir, ends := writeLog(t)
	out, _, code := runLine(t, "pelton", "log", "dump", dir)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 4 || !strings.HasPrefix(strings.Join(strings.Fields(lines[3]), " "), "4 4 1 ") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	out, _, _ = runLine(t, "pelton", "log", "dump", "--json", "--offset", "2", "--count", "1", dir)
	var b batchDocument
	if err := json.Unmarshal([]byte(out), &b); err != nil || *b.BaseOffset != 2 || b.LastOffset != 3 || b.Position != int64(ends[0]) || !b.Valid {
		t.Errorf("%v: %s", err, out)
	}
	out, _, _ = runLine(t, "pelton", "log", "dump", "--json", "--records", "--offset", "3", dir)
	var offsets []int64
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var r recordDocument
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		offsets = append(offsets, r.Offset)
	}
	if len(offsets) != 2 || offsets[0] != 3 || offsets[1] != 4 {
		t.Errorf("records from 3 on: %v", offsets)
	}
}

func TestKafkaDumpLogTakesKafkasFlags(t *testing.T) {
	dir, _ := writeLog(t)
	file := filepath.Join(dir, "00000000000000000000.log")
	out, faults, code := runLine(t, "/usr/bin/kafka-dump-log.sh", "--print-data-log", "--files", file)
	want := "Dumping " + file + "\nLog starting offset: 0\nbaseOffset: 0 lastOffset: 1 count: 2 "
	if code != 0 || !strings.HasPrefix(out, want) || !strings.Contains(out, "| offset: 3 CreateTime: 1700000000000 keySize: 1 valueSize: 2 sequence: -1 headerKeys: [h] key: k payload: v1\n") {
		t.Errorf("exit code %d, %s:\n%s", code, faults, out)
	}
	if _, faults, code = runLine(t, "kafka-dump-log", "--cluster-metadata-decoder", "--files", file); code != 2 || !strings.Contains(faults, "KRaft") {
		t.Errorf("exit code %d: %s", code, faults)
	}
	if _, faults, code = runLine(t, "kafka-dump-log", "--value-decoder-class", "com.example.Avro", "--files", file); code != 2 || !strings.Contains(faults, "IntegerDecoder") {
		t.Errorf("exit code %d: %s", code, faults)
	}
}

func TestLogVerifyLookupAndRepair(t *testing.T) {
	dir, ends := writeLog(t)
	file := filepath.Join(dir, "00000000000000000000.log")
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "recovery-point-offset-checkpoint"), []byte("0\n1\norders 0 5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, faults, code := runLine(t, "pelton", "log", "verify", dir)
	if code != 0 || !strings.Contains(out, "stale: "+filepath.Join(dir, "00000000000000000000.index")) {
		t.Errorf("indexes are missing: exit code %d, %s\n%s", code, faults, out)
	}
	if out, faults, code = runLine(t, "pelton", "log", "index", "--rebuild", dir); code != 0 {
		t.Fatal(out, faults)
	}
	if out, faults, code = runLine(t, "pelton", "log", "verify", dir); code != 0 || strings.Contains(out, "stale") || !strings.Contains(out, "sound") {
		t.Errorf("exit code %d, %s\n%s", code, faults, out)
	}
	out, _, code = runLine(t, "pelton", "log", "lookup", "--explain", dir, "3")
	if code != 0 || !strings.Contains(out, "offset 3, timestamp 2023-11-14T22:13:20.000Z: record 1 of the batch at byte") || !strings.Contains(out, "go right") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if _, faults, code = runLine(t, "pelton", "log", "lookup", dir, "5"); code != 1 || !strings.Contains(faults, "behind the log's end") {
		t.Errorf("exit code %d: %s", code, faults)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[ends[0]+70] ^= 1
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, faults, code = runLine(t, "pelton", "log", "verify", dir); code != 1 || !strings.Contains(out, "damage: "+file) || !strings.Contains(faults, "pelton log repair") {
		t.Errorf("exit code %d, %s\n%s", code, faults, out)
	}
	if out, _, code = runLine(t, "pelton", "log", "repair", dir); code != 1 || !strings.Contains(out, "--truncate  ends the log at offset 2") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if out, faults, code = runLine(t, "pelton", "log", "repair", "--skip", dir); code != 0 {
		t.Errorf("exit code %d, %s\n%s", code, faults, out)
	}
	if out, _, _ = runLine(t, "pelton", "log", "dump", dir); strings.Count(out, "\n") != 3 || strings.Contains(out, "BAD-CRC") {
		t.Errorf("after the repair:\n%s", out)
	}
}
