package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// message makes one message of format 0 or 1.
func message(magic int8, offset, ts int64, attr byte, key, value []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(offset))
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, byte(magic), attr)
	if magic > 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(ts))
	}
	for _, f := range [][]byte{key, value} {
		if f == nil {
			b = binary.BigEndian.AppendUint32(b, 0xffffffff)
			continue
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(f))), f...)
	}
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	return sealMessage(b)
}

func sealMessage(b []byte) []byte {
	binary.BigEndian.PutUint32(b[12:], crc32.ChecksumIEEE(b[16:]))
	return b
}

// threeMessages is a plain set with offsets from first on.
func threeMessages(magic int8, first int64) []byte {
	var set []byte
	for i := range int64(3) {
		set = append(set, message(magic, first+i, baseTime+i%2*5, 0, fmt.Appendf(nil, "k%d", i), fmt.Appendf(nil, "v%d", i))...)
	}
	return set
}

// wrapped puts a set into one message; own is that message's offset.
func wrapped(magic int8, codec byte, own int64, set []byte) []byte {
	return message(magic, own, baseTime+5, codec, nil, squeeze(codec, magic, set))
}

// squeeze compresses without help where the format allows it: a snappy stream of one literal, an lz4 frame of one stored block.
func squeeze(codec byte, magic int8, b []byte) []byte {
	switch codec {
	case 1:
		return gzipped(b)
	case 2:
		block := binary.AppendUvarint(nil, uint64(len(b)))
		block = append(block, 61<<2, byte(len(b)-1), byte((len(b)-1)>>8))
		block = append(block, b...)
		out := append([]byte("\x82SNAPPY\x00"), 0, 0, 0, 1, 0, 0, 0, 1)
		return append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
	case 3:
		out := []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82}
		if magic == 0 {
			out[6] = 0x1a // what clients of format 0 wrote is wrong
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(len(b))|1<<31)
		return append(append(out, b...), 0, 0, 0, 0)
	}
	return b
}

// readable replaces the records of a fetch in an old version by a text that does not depend on how a broker compresses or fills up.
func readable(resp *kmsg.FetchResponse) {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[j]
			p.RecordBatches = []byte(strings.Join(texts(p.RecordBatches, 0), "; "))
		}
	}
}

// readableSet tells whether a set was made readable.
func readableSet(b []byte) bool {
	return !bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' || r > '~' })
}

// cutShort tells whether the reference sent the beginning of what the broker under test did: Kafka cuts converted messages where the bytes
// they came from ended.
func cutShort(reference, tested string) bool {
	reference, tested = strings.TrimSuffix(reference, `"`), strings.TrimSuffix(tested, `"`)
	return len(reference) > 1 && readableSet([]byte(reference)) && strings.HasPrefix(tested, reference+"; ")
}

// texts lists the whole messages of a set; those in a wrapper behind it. A message that is cut off says so only when it is alone.
func texts(b []byte, depth int) (out []string) {
	for len(b) >= 17 {
		size := int(binary.BigEndian.Uint32(b[8:])) + 12
		if size > len(b) || size < 26 {
			break
		}
		out = append(out, text(b[:size], depth)...)
		b = b[size:]
	}
	if len(out) == 0 && len(b) > 0 {
		out = append(out, "cut off")
	}
	return out
}

func text(b []byte, depth int) []string {
	magic, attr := b[16], b[17]
	if magic > 1 {
		return []string{newText(b)}
	}
	at, ts := 18, int64(0)
	if magic == 1 {
		ts, at = int64(binary.BigEndian.Uint64(b[18:])), 26
	}
	key, value := "", ""
	for _, f := range []*string{&key, &value} {
		n := int(int32(binary.BigEndian.Uint32(b[at:])))
		if at += 4; n >= 0 {
			*f = fmt.Sprintf("%q", b[at:at+n])
			at += n
		}
	}
	when := fmt.Sprint(ts)
	if ts > baseTime+1e10 {
		when = "now"
	}
	right := binary.BigEndian.Uint32(b[12:]) == crc32.ChecksumIEEE(b[16:])
	head := fmt.Sprintf("%s%d magic %d attr %d time %s crc %v", strings.Repeat(">", depth), binary.BigEndian.Uint64(b), magic, attr, when, right)
	if codec := attr & 7; codec != 0 {
		inner, err := unsqueeze(codec, b[at-len(rawField(b, at)):at])
		if err != nil {
			return []string{head + " " + err.Error()}
		}
		return append([]string{head}, texts(inner, depth+1)...)
	}
	return []string{head + " " + key + "=" + value}
}

// newText is a batch of format 2 without what depends on the broker's compressor and on the number of its elections.
func newText(b []byte) string {
	records, err := b[61:], error(nil)
	if codec := b[22] & 7; codec == 4 {
		z, _ := zstd.NewReader(nil)
		records, err = z.DecodeAll(records, nil)
		z.Close()
	} else if codec != 0 {
		records, err = unsqueeze(codec, records)
	}
	first, largest := binary.BigEndian.Uint64(b[27:]), fmt.Sprint(binary.BigEndian.Uint64(b[35:]))
	if int64(binary.BigEndian.Uint64(b[35:])) > baseTime+1e10 {
		largest = "now"
	}
	return fmt.Sprintf("batch %d attr %x last %x times %d %s producer %x records %x %v", b[:8], b[21:23], b[23:27], first, largest, b[43:61], records, err)
}

// rawField is the field that ends at the end of a message.
func rawField(b []byte, end int) []byte {
	at := 18
	if b[16] == 1 {
		at = 26
	}
	if n := int(int32(binary.BigEndian.Uint32(b[at:]))); n > 0 {
		at += n
	}
	return b[at+8 : end]
}

func unsqueeze(codec byte, b []byte) ([]byte, error) {
	switch codec {
	case 1:
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(z)
	case 2:
		var out []byte
		for b = b[16:]; len(b) > 4; {
			n := int(binary.BigEndian.Uint32(b))
			block, err := snappy.Decode(nil, b[4:4+n])
			if err != nil {
				return nil, err
			}
			out, b = append(out, block...), b[4+n:]
		}
		return out, nil
	case 3:
		mended := bytes.Clone(b)
		mended[6] = 0x82
		if mended[4] != 0x60 {
			mended = b
		}
		return io.ReadAll(lz4.NewReader(bytes.NewReader(mended)))
	}
	return nil, fmt.Errorf("codec %d", codec)
}
