package logstore

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/logstore/producer"
)

// byteField is a row of a byte table of docs/FORMAT.md.
type byteField struct {
	at, width int
	name      string
}

// byteTables reads the tables `| at | bytes | field |` by the heading above each.
func byteTables(t *testing.T) map[string][]byteField {
	t.Helper()
	b, err := os.ReadFile("../docs/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`^\| (\d+) \| (\d+) \| (.*) \|$`)
	out := map[string][]byteField{}
	heading, inTable := "", false
	for _, line := range strings.Split(string(b), "\n") {
		switch m := row.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "#"):
			heading, inTable = strings.TrimLeft(line, "# "), false
		case line == "| at | bytes | field |":
			inTable = true
		case inTable && m != nil:
			at, _ := strconv.Atoi(m[1])
			width, _ := strconv.Atoi(m[2])
			out[heading] = append(out[heading], byteField{at, width, m[3]})
		case inTable && !strings.HasPrefix(line, "|---"):
			inTable = false
		}
	}
	return out
}

// layout is what the code makes of the bytes that a table describes: for each field its number as the code reads it.
type layout struct {
	size   int
	fixed  map[int]byte // bytes that must be so for the code to read at all
	fields []string     // beginnings of the names, in order
	read   func(t *testing.T, b []byte) []int64
}

func headerFields(h *batch.Header) []int64 {
	return []int64{h.BaseOffset, int64(h.Length), int64(h.LeaderEpoch), int64(h.Magic), int64(h.CRC), int64(h.Attributes), int64(h.LastOffsetDelta),
		h.FirstTimestamp, h.MaxTimestamp, h.ProducerID, int64(h.ProducerEpoch), int64(h.BaseSequence), int64(h.Count)}
}

func layouts() map[string]layout {
	legacy := func(t *testing.T, b []byte) []int64 {
		e, err := batch.ParseEntry(append(b, make([]byte, 40)...))
		if err != nil {
			t.Fatal(err)
		}
		return []int64{e.Last, int64(e.Length), int64(e.CRC), int64(e.Magic), int64(e.Attributes), e.MaxTimestamp}
	}
	return map[string]layout{
		"Record batch, format 2 (61 bytes, then the records)": {batch.HeaderSize, map[int]byte{16: 2},
			[]string{"base offset", "length", "leader epoch", "magic", "CRC-32C", "attributes", "last offset delta", "first timestamp", "largest timestamp", "producer id", "producer epoch", "first sequence", "number of records"},
			func(t *testing.T, b []byte) []int64 {
				h, err := batch.ParseHeader(b)
				if err != nil {
					t.Fatal(err)
				}
				return headerFields(&h)
			}},
		"Message, format 0 (18 bytes, then key and value)": {18, map[int]byte{16: 0, 10: 1}, []string{"offset", "length", "CRC-32", "magic", "attributes"},
			func(t *testing.T, b []byte) []int64 { return legacy(t, b)[:5] }},
		"Message, format 1 (26 bytes, then key and value)": {26, map[int]byte{16: 1, 10: 1}, []string{"offset", "length", "CRC-32", "magic", "attributes", "timestamp"}, legacy},
		"Transaction marker (key of a control record)": {4, nil, []string{"version", "type"}, func(_ *testing.T, b []byte) []int64 {
			r := batch.Record{Batch: &batch.Header{Attributes: 0x20}, Key: b}
			kind, _ := r.Marker()
			return []int64{int64(int16(binary.BigEndian.Uint16(b))), int64(kind)}
		}},
		"Transaction marker (value)": {6, nil, []string{"version", "coordinator epoch"}, func(_ *testing.T, b []byte) []int64 {
			r := batch.Record{Value: b}
			return []int64{int64(int16(binary.BigEndian.Uint16(b))), int64(r.CoordinatorEpoch())}
		}},
		"Offset index entry (`.index`)": {offsetEntry, nil, []string{"last offset", "position"}, func(_ *testing.T, b []byte) []int64 {
			x := Index{width: offsetEntry, mem: b, n: 1, inMem: true}
			relative, pos, _, _ := x.offsetAt(nil, 0)
			return []int64{int64(relative), pos}
		}},
		"Time index entry (`.timeindex`)": {timeEntry, nil, []string{"largest timestamp", "last offset"}, func(_ *testing.T, b []byte) []int64 {
			x := Index{width: timeEntry, mem: b, n: 1, inMem: true}
			ts, relative, _, _ := x.timeAt(nil, 0)
			return []int64{ts, int64(relative)}
		}},
		"Transaction index entry (`.txnindex`)": {txnEntry, map[int]byte{0: 0, 1: 0, 18: 0x7f}, []string{"version", "producer id", "first offset", "last offset", "last stable offset"}, func(t *testing.T, b []byte) []int64 {
			list, err := decodeTxnIndex(b)
			if err != nil {
				t.Fatal(err)
			}
			return []int64{0, list[0].ProducerID, list[0].FirstOffset, list[0].LastOffset, list[0].LastStable}
		}},
		"Producer snapshot (`.snapshot`)": {10, map[int]byte{0: 0, 1: 1}, []string{"version", "CRC-32C", "number of entries"}, nil},
		"Producer snapshot entry": {46, nil, []string{"producer id", "epoch", "last sequence", "last offset", "offset delta", "timestamp", "coordinator epoch", "first offset of its open transaction"},
			func(t *testing.T, b []byte) []int64 {
				file := append([]byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 1}, b...)
				binary.BigEndian.PutUint32(file[2:], crc32.Checksum(file[6:], crc32.MakeTable(crc32.Castagnoli)))
				list, err := producer.ReadSnapshot(file)
				if err != nil {
					t.Fatal(err)
				}
				e := list[0]
				return []int64{e.ProducerID, int64(e.Epoch), int64(e.LastSequence), e.LastOffset, int64(e.OffsetDelta), e.Timestamp, int64(e.CoordinatorEpoch), e.TxnFirst}
			}},
	}
}

func TestFormatTables(t *testing.T) {
	tables := byteTables(t)
	for name, l := range layouts() {
		table := tables[name]
		delete(tables, name)
		if len(table) != len(l.fields) {
			t.Errorf("%s: the table has %d fields, the code %d", name, len(table), len(l.fields))
			continue
		}
		end := 0
		for i, f := range table {
			if f.at != end || !strings.HasPrefix(f.name, l.fields[i]) {
				t.Errorf("%s: %q at %d; %q at %d was expected", name, f.name, f.at, l.fields[i], end)
			}
			end = f.at + f.width
		}
		if end != l.size {
			t.Errorf("%s: the table has %d bytes, the code %d", name, end, l.size)
		}
		if l.read != nil {
			checkLayout(t, name, table, l)
		}
	}
	for name := range tables {
		t.Errorf("%s: no code is compared with this table", name)
	}
}

// checkLayout writes a pattern into each field and looks that this field, and no other, changes as the table says.
func checkLayout(t *testing.T, name string, table []byteField, l layout) {
	t.Helper()
	base := make([]byte, l.size)
	for at, c := range l.fixed {
		base[at] = c
	}
	before := l.read(t, append([]byte(nil), base...))
	for i, f := range table {
		b := append([]byte(nil), base...)
		bit := f.at + f.width - 1 // the lowest byte
		if _, ok := l.fixed[bit]; ok {
			continue
		}
		b[bit] ^= 1
		after := l.read(t, b)
		for k := range after {
			changed := after[k] != before[k]
			if changed != (k == i) {
				t.Errorf("%s: with byte %d changed, field %q changed: %t", name, bit, l.fields[k], changed)
			}
		}
		if after[i] != before[i]^1 {
			t.Errorf("%s: %q reads %d after %d: not a number of %d bytes at %d", name, f.name, after[i], before[i], f.width, f.at)
		}
	}
}

func TestFormatNamesEveryFile(t *testing.T) {
	b, err := os.ReadFile("../docs/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	names := append(CheckpointFiles(), CleanFile, LockFile, MetaFile, EpochFile, PartitionFile)
	for _, suffix := range append(segmentSuffixes(), sufDeleted, sufCleaned, sufSwap) {
		names = append(names, suffix+"`")
	}
	for _, name := range names {
		if !strings.Contains(string(b), name) {
			t.Errorf("docs/FORMAT.md does not name %s", name)
		}
	}
}
