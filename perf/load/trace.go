package load

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// traceVersion is written into a file's first line.
const traceVersion = 1

// What a file may hold: its batches, and bytes of its topic's name, which is Kafka's bound too. Whatever can be read can then be written and read again.
const (
	maxTraceEntries = 20 << 20
	maxTopicBytes   = 249
)

// TraceHead is a workload file's first line.
type TraceHead struct {
	Version    int    `json:"pelton_workload"`
	Topic      string `json:"topic"`
	Partitions int    `json:"partitions"`
}

// TraceEntry is one batch: when it was made, from the first one on, and its shape. Of what was in it nothing is kept, so a file may be
// shown to others.
type TraceEntry struct {
	AtUs      int64
	Partition int32
	Records   int
	Bytes     int // of the batch as it lay in the log
}

// Trace is a recorded workload.
type Trace struct {
	TraceHead
	Entries []TraceEntry
}

// Write writes the file: the head as JSON, then a line of four numbers for each batch.
func (t *Trace) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	head, err := json.Marshal(t.TraceHead)
	if err != nil {
		return err
	}
	b.Write(append(head, '\n'))
	for _, e := range t.Entries {
		fmt.Fprintf(b, "%d %d %d %d\n", e.AtUs, e.Partition, e.Records, e.Bytes)
	}
	return b.Flush()
}

// LoadTrace reads a workload file.
func LoadTrace(path string) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTrace, err)
	}
	defer f.Close()
	return ReadTrace(path, f)
}

// ReadTrace reads a workload; file is for messages.
func ReadTrace(file string, r io.Reader) (*Trace, error) {
	in := bufio.NewScanner(r)
	t := &Trace{}
	bad := func(line int, format string, args ...any) error {
		return fmt.Errorf("%w %s:%d: %s", ErrTrace, file, line, fmt.Sprintf(format, args...))
	}
	if !in.Scan() || json.Unmarshal(in.Bytes(), &t.TraceHead) != nil {
		return nil, bad(1, `the first line is {"pelton_workload":%d,"topic":"…","partitions":…}`, traceVersion)
	}
	switch {
	case t.Version != traceVersion:
		return nil, bad(1, "pelton_workload %d: this program reads %d", t.Version, traceVersion)
	case len(t.Topic) > maxTopicBytes:
		return nil, bad(1, "a topic of %d bytes: %d are the most", len(t.Topic), maxTopicBytes)
	case t.Partitions < 1 || t.Partitions > 1<<20:
		return nil, bad(1, "partitions %d: 1 … %d", t.Partitions, 1<<20)
	}
	for line := 2; in.Scan(); line++ {
		f := strings.Fields(in.Text())
		if len(f) != 4 {
			return nil, bad(line, "%d fields: time in µs, partition, records and bytes are wanted", len(f))
		}
		var e TraceEntry
		for i, field := range []struct {
			name      string
			low, high int64
			put       func(int64)
		}{
			{"time", 0, 1 << 50, func(v int64) { e.AtUs = v }},
			{"partition", 0, int64(t.Partitions) - 1, func(v int64) { e.Partition = int32(v) }},
			{"records", 1, 1 << 24, func(v int64) { e.Records = int(v) }},
			{"bytes", batchRecords, 256 << 20, func(v int64) { e.Bytes = int(v) }},
		} {
			v, err := strconv.ParseInt(f[i], 10, 64)
			if err != nil || v < field.low || v > field.high {
				return nil, bad(line, "%s %q: a number from %d to %d", field.name, f[i], field.low, field.high)
			}
			field.put(v)
		}
		if n := len(t.Entries); n > 0 && e.AtUs < t.Entries[n-1].AtUs {
			return nil, bad(line, "time %d is before the line above", e.AtUs)
		}
		if t.Entries = append(t.Entries, e); len(t.Entries) > maxTraceEntries {
			return nil, bad(line, "%d batches are the most", maxTraceEntries)
		}
	}
	if err := in.Err(); err != nil {
		return nil, bad(len(t.Entries)+2, "%v", err)
	}
	if len(t.Entries) == 0 {
		return nil, bad(1, "no batches follow")
	}
	return t, nil
}

// settle puts entries in order of time, from zero on.
func (t *Trace) settle() {
	slices.SortStableFunc(t.Entries, func(a, b TraceEntry) int { return cmp.Compare(a.AtUs, b.AtUs) })
	if len(t.Entries) == 0 {
		return
	}
	first := t.Entries[0].AtUs
	for i := range t.Entries {
		t.Entries[i].AtUs -= first
	}
}
