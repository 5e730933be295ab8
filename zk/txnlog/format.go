package txnlog

import (
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"sort"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// A log is a header of 16 bytes (magic, version 2, database id) and then records:
//
//	8 bytes Adler-32 of the payload · 4 bytes its length · payload · 'B'
//
// and zeros to the end of the file. A payload is a transaction and a tail of 12 bytes that Apache uses for
// a digest of the tree: a kind of 4 bytes, unknown to it and then skipped, and a value of 8. Ours holds
// the zxid of the first transaction of the same write: everything below that was durable before this
// record was handed to the disk. That tells a torn tail from damage.
const (
	logMagic    = 0x5A4B4C47 // ZKLG
	snapMagic   = 0x5A4B534E // ZKSN
	fileVersion = 2
	headerSize  = 16
	frameSize   = 13
	tailKind    = 0x50454C54 // PELT
	tailSize    = 12
	recordEnd   = 'B'
	// maxRecord bounds a record: a request of the largest configurable size, with the framing of a multi.
	maxRecord = 64 << 20
)

// Sub is the directory below dataDir and dataLogDir that holds the files.
const Sub = "version-2"

func appendHeader(dst []byte, magic int32, id int64) []byte {
	dst = jute.AppendInt(dst, magic)
	dst = jute.AppendInt(dst, fileVersion)
	return jute.AppendLong(dst, id)
}

// appendRecord writes one record.
func appendRecord(dst []byte, t *tree.Txn, chain int64) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, 12)...)
	dst = t.AppendTo(dst)
	dst = jute.AppendInt(dst, tailKind)
	dst = jute.AppendLong(dst, chain)
	payload := dst[at+12:]
	binary.BigEndian.PutUint64(dst[at:], uint64(adler32.Checksum(payload)))
	binary.BigEndian.PutUint32(dst[at+8:], uint32(len(payload)))
	return append(dst, recordEnd)
}

// record is one record read back.
type record struct {
	txn   *tree.Txn
	chain int64 // 0 in Apache's files
}

func parseRecord(payload []byte) (record, error) {
	t, tail, err := tree.ParseTxn(payload)
	if err != nil {
		return record{}, err
	}
	rec := record{txn: t}
	if len(tail) == tailSize && binary.BigEndian.Uint32(tail) == tailKind {
		rec.chain = int64(binary.BigEndian.Uint64(tail[4:]))
	}
	return rec, nil
}

// numbered is a file of the directory with the zxid in its name.
type numbered struct {
	path string
	zxid int64
}

// list returns the files prefix.<hex>, in order of their zxid. A directory that does not exist is empty.
func list(d disk.FS, dir, prefix string) ([]numbered, error) {
	entries, err := d.ReadDir(dir)
	if err != nil {
		if isNotExist(err) {
			return nil, nil
		}
		return nil, err
	}
	var out []numbered
	for _, e := range entries {
		hex, ok := strings.CutPrefix(e.Name(), prefix+".")
		if !ok || e.IsDir() {
			continue
		}
		zxid, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			continue
		}
		out = append(out, numbered{path: dir + "/" + e.Name(), zxid: int64(zxid)})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].zxid < out[j].zxid })
	return out, nil
}

func name(dir, prefix string, zxid int64) string {
	return fmt.Sprintf("%s/%s.%x", dir, prefix, uint64(zxid))
}
