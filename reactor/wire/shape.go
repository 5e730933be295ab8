package wire

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/internal/invariant"
)

// MaxElements bounds the elements of all arrays of one request. A cluster has fewer partitions than this, and a decoded element costs about
// a hundred bytes however few it had on the wire.
const MaxElements = 1 << 18

// Shape is the layout of a request over its versions: enough to walk over its bytes without decoding them. A generic decoder makes room for
// what a count claims before it looks at the elements; the walk comes first and refuses counts that the bytes cannot hold, and floods of
// tagged fields.
type Shape []field

// field is one step of a layout. Kinds: b h i l are numbers of 1, 2, 4 and 8 bytes, u an id, s a string, y bytes, [ an array of plain
// values, { an array of structures, ( a structure, ? one that may be absent. Structures end with tagged fields in flexible versions.
type field struct {
	kind     byte
	from, to int16
	of       Shape
}

// Shapes are the layouts of the requests that are decoded generically, by key. name@2-4 means versions 2 to 4, name@3+ from version 3.
func Shapes() map[int16]Shape {
	out := map[int16]Shape{}
	for key, text := range map[int16]string{
		2:  "i b@2+ { s { i i@4+ l i@0-0 } } i@10+",                               // ListOffsets
		3:  "{ u@10+ s } b@4+ b@8-10 b@8+",                                        // Metadata
		8:  "s i@1+ s@1+ s@7+ l@2-4 { s@0-9 u@10+ { i l l@1-1 i@6+ s } }",         // OffsetCommit
		9:  "s@0-7 {@0-7 s [ i ] } {@8+ s s@9+ i@9+ { s@8-9 u@10+ [ i ] } } b@7+", // OffsetFetch
		10: "s@0-3 b@1+ [@4+ s ]",                                                 // FindCoordinator
		11: "s i i@1+ s s@5+ s { s y } s@8+",                                      // JoinGroup
		12: "s i s s@3+",                                                          // Heartbeat
		13: "s s@0-2 {@3+ s s s@5+ }",                                             // LeaveGroup
		14: "s i s s@3+ s@5+ s@5+ { s y }",                                        // SyncGroup
		15: "[ s ] b@3+",                                                          // DescribeGroups
		16: "[@4+ s ] [@5+ s ]",                                                   // ListGroups
		18: "s@3+ s@3+ s@5+ i@5+",                                                 // ApiVersions
		19: "{ s i h { i [ i ] } { s s } } i b@1+",                                // CreateTopics
		20: "[@0-5 s ] {@6+ s u } i",                                              // DeleteTopics
		21: "{ s { i l } } i",                                                     // DeleteRecords
		22: "s i l@3+ h@3+",                                                       // InitProducerID
		23: "i@3+ { s { i i@2+ i } }",                                             // OffsetForLeaderEpoch
		32: "{ b s [ s ] } b@1+ b@3+",                                             // DescribeConfigs
		33: "{ b s { s s } } b",                                                   // AlterConfigs
		34: "{ s { s [ i ] } }",                                                   // AlterReplicaLogDirs
		35: "{ s [ i ] }",                                                         // DescribeLogDirs
		37: "{ s i { [ i ] } } i b",                                               // CreatePartitions
		42: "[ s ]",                                                               // DeleteGroups
		44: "{ b s { s b s } } b",                                                 // IncrementalAlterConfigs
		45: "i b@1+ { s { i [ i ] } }",                                            // AlterPartitionReassignments
		46: "i { s [ i ] }",                                                       // ListPartitionReassignments
		47: "s { s { i } }",                                                       // OffsetDelete
		48: "{ s b s } b",                                                         // DescribeClientQuotas
		49: "{ { s s } { s l b } } b",                                             // AlterClientQuotas
		60: "b b@1+ b@2+",                                                         // DescribeCluster
		61: "{ s [ i ] }",                                                         // DescribeProducers
		75: "{ s } i ?( s i )",                                                    // DescribeTopicPartitions
	} {
		out[key] = parseShape(text)
	}
	return out
}

// parseShape reads the notation of Shapes; the texts are constants, so a wrong one is our bug.
func parseShape(text string) Shape {
	open := []Shape{nil}
	var outer Shape // fields whose list is not complete yet
	for _, word := range strings.Fields(text) {
		if strings.ContainsAny(word, "]})") {
			last := len(open) - 1
			f := outer[len(outer)-1]
			f.of = open[last]
			open, outer = open[:last], outer[:len(outer)-1]
			open[last-1] = append(open[last-1], f)
			continue
		}
		f := parseField(word)
		if strings.IndexByte("[{(?", f.kind) >= 0 {
			open, outer = append(open, nil), append(outer, f)
			continue
		}
		open[len(open)-1] = append(open[len(open)-1], f)
	}
	return open[0]
}

func parseField(word string) field {
	f := field{kind: word[0], to: 1<<15 - 1}
	_, versions, limited := strings.Cut(word, "@")
	if !limited {
		return f
	}
	first, last, bounded := strings.Cut(strings.TrimSuffix(versions, "+"), "-")
	f.from = parseVersion(first, word)
	if bounded {
		f.to = parseVersion(last, word)
	}
	return f
}

func parseVersion(text, word string) int16 {
	v, err := strconv.ParseInt(text, 10, 16)
	if err != nil {
		invariant.Broken("wire: a shape has no version", word)
	}
	return int16(v)
}

// Check walks over a request's body. What it accepts can be decoded in memory that is in proportion to the bytes.
func (s Shape) Check(body Reader, version int16, flex bool) error {
	elements := 0
	s.walk(&body, version, flex, &elements)
	body.Tags(flex, nil)
	return body.err
}

func (s Shape) walk(r *Reader, version int16, flex bool, elements *int) {
	for i := range s {
		if f := &s[i]; version >= f.from && version <= f.to && r.err == nil {
			f.walk(r, version, flex, elements)
		}
	}
}

func (f *field) walk(r *Reader, version int16, flex bool, elements *int) {
	switch f.kind {
	case 's':
		r.String(flex)
	case 'y':
		r.Bytes(flex)
	case '[', '{':
		n := r.Array(flex, f.leastElement(version, flex))
		if *elements += n; *elements > MaxElements {
			r.fail(fmt.Errorf("%w: %d, the bound is %d", ErrTooManyElements, *elements, MaxElements))
			return
		}
		for range n {
			if f.of.walk(r, version, flex, elements); f.kind == '{' {
				r.Tags(flex, nil)
			}
			if r.err != nil {
				return
			}
		}
	case '?', '(':
		if f.kind == '?' && r.Int8() == -1 {
			return
		}
		f.of.walk(r, version, flex, elements)
		r.Tags(flex, nil)
	default:
		r.Take(f.least(version, flex))
	}
}

// leastElement is the fewest bytes that an element of an array can take.
func (f *field) leastElement(version int16, flex bool) int {
	n := 0
	for i := range f.of {
		if g := &f.of[i]; version >= g.from && version <= g.to {
			n += g.least(version, flex)
		}
	}
	if f.kind == '{' && flex {
		n++ // the count of its tagged fields
	}
	return max(1, n)
}

// least is the fewest bytes that a field can take.
func (f *field) least(version int16, flex bool) int {
	switch f.kind {
	case 'b', '?':
		return 1
	case 'h':
		return 2
	case 'i':
		return 4
	case 'l':
		return 8
	case 'u':
		return 16
	case 's':
		if flex {
			return 1
		}
		return 2
	case '(':
		return f.leastElement(version, flex)
	}
	if flex {
		return 1
	}
	return 4
}
