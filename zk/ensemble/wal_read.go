package ensemble

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"strconv"
	"strings"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/jute"
)

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// readWAL reads what the directory holds. fresh is true when there is no log yet.
func readWAL(d disk.FS, dir string) (w *WAL, s State, fresh bool, err error) {
	w = &WAL{fs: d, dir: dir}
	if err := d.MkdirAll(dir); err != nil {
		return nil, s, false, err
	}
	entries, err := d.ReadDir(dir)
	if err != nil {
		return nil, s, false, err
	}
	var files []uint64
	for _, e := range entries { // sorted by name, and names by number
		if hex, ok := strings.CutPrefix(e.Name(), "wal."); ok {
			if n, err := strconv.ParseUint(hex, 16, 64); err == nil {
				files = append(files, n)
			}
		}
	}
	for i, n := range files {
		b, err := d.ReadFile(w.path(n))
		if err != nil {
			return nil, s, false, err
		}
		if err := w.replay(&s, b, i == len(files)-1); err != nil {
			return nil, s, false, fmt.Errorf("%s: %w", w.path(n), err)
		}
	}
	if len(files) > 0 {
		w.oldest, w.file = files[0], files[len(files)-1]
	} else {
		w.oldest = 1
	}
	return w, s, s.Base.Index == 0, nil
}

// replay reads the batches of one file into s. The last file may have come into being and nothing more.
func (w *WAL) replay(s *State, b []byte, last bool) error {
	if len(b) < len(walHeader) || string(b[:len(walHeader)]) != walHeader {
		if last && !soundBatchIn(b, 0) {
			return nil
		}
		return fmt.Errorf("%w: no header", ErrCorrupt)
	}
	at := len(walHeader)
	for {
		records, no, ok := batchAt(b, at)
		if !ok {
			break
		}
		if err := s.take(records); err != nil {
			return err
		}
		w.batch = no
		at += batchHead + len(records)
	}
	if soundBatchIn(b, at) {
		return fmt.Errorf("%w: at byte %d, and a sound batch follows", ErrCorrupt, at)
	}
	return nil
}

// batchAt reads the batch that begins at a byte.
func batchAt(b []byte, at int) (records []byte, no uint64, ok bool) {
	if len(b)-at < batchHead || binary.BigEndian.Uint32(b[at:]) != walMagic {
		return nil, 0, false
	}
	n := int(binary.BigEndian.Uint32(b[at+8:]))
	if n > maxBatch || n > len(b)-at-batchHead {
		return nil, 0, false
	}
	whole := b[at : at+batchHead+n]
	if crc32.Checksum(whole[8:], crcTable()) != binary.BigEndian.Uint32(whole[4:]) {
		return nil, 0, false
	}
	return whole[batchHead:], binary.BigEndian.Uint64(whole[12:]), true
}

// soundBatchIn looks for a batch anywhere behind a byte.
func soundBatchIn(b []byte, from int) bool {
	var magic [4]byte
	binary.BigEndian.PutUint32(magic[:], walMagic)
	for {
		i := bytes.Index(b[from:], magic[:])
		if i < 0 {
			return false
		}
		if _, _, ok := batchAt(b, from+i); ok {
			return true
		}
		from += i + 1
	}
}

// take carries out the records of a batch.
func (s *State) take(b []byte) error {
	r := jute.NewReader(b)
	for r.Len() > 0 {
		head := r.Bytes(1)
		body := r.Buffer()
		if r.Err() != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, r.Err())
		}
		if err := s.record(head[0], body); err != nil {
			return fmt.Errorf("%w: record of kind %d: %w", ErrCorrupt, head[0], err)
		}
	}
	return nil
}

func (s *State) record(kind byte, body []byte) error {
	switch kind {
	case recBase, recMark:
		return s.base(kind, body)
	case recHard:
		s.Hard = &pb.HardState{}
		return proto.Unmarshal(body, s.Hard)
	case recSecret:
		if len(body) != secretSize {
			return fmt.Errorf("a secret of %d bytes", len(body))
		}
		s.Base.Secret = append([]byte(nil), body...)
		return nil
	case recEntry:
		e := &pb.Entry{}
		if err := proto.Unmarshal(body, e); err != nil {
			return err
		}
		if e.GetIndex() <= s.Base.Index {
			return nil
		}
		keep := int(e.GetIndex() - s.Base.Index - 1)
		if keep > len(s.Entries) {
			return fmt.Errorf("entry %d after %d", e.GetIndex(), s.Base.Index+uint64(len(s.Entries)))
		}
		s.Entries = append(s.Entries[:keep], e)
		return nil
	}
	return errors.New("unknown")
}

func (s *State) base(kind byte, body []byte) error {
	r := jute.NewReader(body)
	b := Base{Index: uint64(r.Long()), Term: uint64(r.Long()), Zxid: r.Long(), Conf: &pb.ConfState{}}
	if r.Err() != nil {
		return r.Err()
	}
	if err := proto.Unmarshal(r.Rest(), b.Conf); err != nil {
		return err
	}
	if kind == recBase || s.Base.Index == 0 {
		s.Base, s.Entries = b, nil
	}
	return nil
}
