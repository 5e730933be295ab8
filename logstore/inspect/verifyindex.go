package inspect

import (
	"errors"
	"io/fs"

	"github.com/pelton-broker/pelton/logstore"
)

// readIndex reads a segment's index for the check; nil when it is not there.
func (v *verifier) readIndex(s *segment, path string, last bool) (*Index, error) {
	x, err := ReadIndex(v.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		if path == s.stem+sufTime && !s.timed {
			v.add(Note, path, -1, -1, "missing; its records have no timestamps, and Kafka before 0.10 wrote none")
			return nil, nil
		}
		v.add(Stale, path, -1, -1, "missing; a start makes it anew from the log")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if x.Odd > 0 {
		v.add(Stale, path, -1, -1, "%d bytes at its end are no entry; a start makes it anew", x.Odd)
	}
	if x.Reserved > 0 && !last {
		v.add(Stale, path, -1, -1, "%d bytes of reserved room in a closed segment's index; a start makes it anew", x.Reserved)
	}
	return x, nil
}

// offsetIndex checks that each entry names the last offset of the batch at its position. Kafka before 0.11 wrote an offset inside the batch.
func (v *verifier) offsetIndex(s *segment, last bool) error {
	path := s.stem + sufIndex
	x, err := v.readIndex(s, path, last)
	if err != nil || x == nil {
		return err
	}
	for i, e := range x.Entries {
		b, ok := s.starts[e.Position]
		switch {
		case i > 0 && (e.Offset <= x.Entries[i-1].Offset || e.Position <= x.Entries[i-1].Position):
			v.add(Stale, path, int64(i*offsetEntry), e.Offset, "entries do not grow; a start makes it anew")
			return nil
		case s.broken && e.Position >= s.whole:
			return nil // the log's fault, and told there
		case !ok:
			v.add(Damage, path, int64(i*offsetEntry), e.Offset, "no batch begins at position %d of the log", e.Position)
		case e.Offset > b[1] || (b[0] >= 0 && e.Offset < b[0]):
			v.add(Damage, path, int64(i*offsetEntry), e.Offset, "the batch at position %d holds offsets %d to %d", e.Position, b[0], b[1])
		}
	}
	return nil
}

// timeIndex checks that no batch up to an entry's offset has a larger timestamp, and that some batch has the one it names.
func (v *verifier) timeIndex(s *segment, last bool) error {
	path := s.stem + sufTime
	x, err := v.readIndex(s, path, last)
	if err != nil || x == nil {
		return err
	}
	most, at := int64(-1), 0
	for i, e := range x.Entries {
		if i > 0 && (e.Timestamp <= x.Entries[i-1].Timestamp || e.Offset < x.Entries[i-1].Offset) {
			v.add(Stale, path, int64(i*timeEntry), e.Offset, "entries do not grow; a start makes it anew")
			return nil
		}
		for ; at < len(s.maxTime) && s.maxTime[at].last <= e.Offset; at++ {
			most = max(most, s.maxTime[at].ts)
		}
		if at < len(s.maxTime) && s.maxTime[at].last >= e.Offset && most < e.Timestamp { // an offset inside a batch, as old versions wrote
			most = max(most, s.maxTime[at].ts)
		}
		if most != e.Timestamp && !s.broken && e.Offset < s.next {
			v.add(Stale, path, int64(i*timeEntry), e.Offset, "it says that timestamps reach %d there, but the log says %d", e.Timestamp, most)
		}
		if e.Offset >= s.next && !s.broken {
			v.add(Stale, path, int64(i*timeEntry), e.Offset, "it names an offset behind the segment's last one")
		}
	}
	return nil
}

// txnIndex checks the entries against the segment's offsets.
func (v *verifier) txnIndex(s *segment) error {
	path := s.stem + sufTxn
	b, err := v.fs.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	list, err := logstore.DecodeTxnIndex(b)
	if err != nil {
		v.add(Stale, path, -1, -1, "%v; a start makes it anew", err)
		return nil
	}
	for i, e := range list {
		if e.LastOffset < s.base || (e.LastOffset >= s.next && !s.broken) {
			v.add(Stale, path, int64(i)*34, e.LastOffset, "the marker at %d is not in this segment, which holds %d to %d", e.LastOffset, s.base, s.next-1)
		}
	}
	return nil
}
