package batch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is Kafka's number of a compression.
type Codec uint8

// The codecs.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// String is the name used in Kafka's configuration.
func (c Codec) String() string {
	switch c {
	case None:
		return "none"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	default:
		return fmt.Sprintf("codec-%d", uint8(c))
	}
}

const (
	// keptBuffer is the largest decompression buffer that goes back to the pool.
	keptBuffer = 16 << 20
	// keptWindow is the largest zstd window after which a decoder, which keeps its history, goes back to the pool.
	keptWindow = 8 << 20
	// maxWindow is what Kafka's own reader takes: zstd's level 22.
	maxWindow = 128 << 20
)

// Codecs holds decoders and buffers for reuse. Any thread may use it.
type Codecs struct{ pool, packers, builders sync.Pool }

// builder lends an empty builder; it goes back with put.
func (c *Codecs) builder(codec Codec) *Builder {
	bd, ok := c.builders.Get().(*Builder)
	if !ok {
		bd = NewBuilder(codec)
	}
	*bd = Builder{Codec: codec, LeaderEpoch: NoEpoch, ProducerID: NoProducerID, ProducerEpoch: -1, BaseSequence: NoSequence, Codecs: c, records: bd.records[:0]}
	return bd
}

func (c *Codecs) putBuilder(bd *Builder) {
	if cap(bd.records) <= keptBuffer {
		c.builders.Put(bd)
	}
}

// NewCodecs returns an empty set.
func NewCodecs() *Codecs { return &Codecs{} }

func (c *Codecs) get() *scratch {
	if s, ok := c.pool.Get().(*scratch); ok {
		return s
	}
	return &scratch{}
}

func (c *Codecs) put(s *scratch) {
	if s.tainted {
		return
	}
	if cap(s.buf) > keptBuffer {
		s.buf = nil
	}
	s.in.Reset(nil)
	c.pool.Put(s)
}

// Decompress appends the plain form of b to dst; never more than most bytes.
func (c *Codecs) Decompress(dst []byte, codec Codec, b []byte, most int64) ([]byte, error) {
	if codec == None {
		if int64(len(b)) > most {
			return dst, ErrBomb
		}
		return append(dst, b...), nil
	}
	s := c.get()
	defer c.put(s)
	plain, err := s.decompress(codec, b, most)
	if err != nil {
		return dst, err
	}
	return append(dst, plain...), nil
}

// scratch is one thread's decoders and the buffer they fill.
type scratch struct {
	buf     []byte
	in      bytes.Reader
	gzip    *gzip.Reader
	zstd    *zstd.Decoder
	lz4     *lz4.Reader
	tainted bool // something went wrong inside a decoder: it is not reused
}

// decompress returns the plain bytes, valid until the next call. A codec's panic becomes ErrDecompress.
func (s *scratch) decompress(codec Codec, b []byte, most int64) (plain []byte, err error) {
	s.tainted = true
	defer func() {
		if p := recover(); p != nil {
			plain, err = nil, fmt.Errorf("%w: %s: %v", ErrDecompress, codec, p)
		}
	}()
	s.buf = s.buf[:0]
	switch codec {
	case Gzip:
		err = s.gunzip(b, most)
	case Snappy:
		err = s.unsnap(b, most)
	case LZ4:
		err = s.unlz4(b, most)
	case Zstd:
		err = s.unzstd(b, most)
	default:
		return nil, ErrCodec
	}
	if err != nil {
		return nil, err
	}
	s.tainted = false
	return s.buf, nil
}

func (s *scratch) gunzip(b []byte, most int64) error {
	s.in.Reset(b)
	if s.gzip == nil {
		s.gzip = new(gzip.Reader)
	}
	if err := s.gzip.Reset(&s.in); err != nil {
		return fmt.Errorf("%w: gzip: %w", ErrDecompress, err)
	}
	return s.drain(Gzip, s.gzip, len(b), most)
}

func (s *scratch) unlz4(b []byte, most int64) error {
	s.in.Reset(b)
	if s.lz4 == nil {
		s.lz4 = lz4.NewReader(&s.in)
	} else {
		s.lz4.Reset(&s.in)
	}
	return s.drain(LZ4, s.lz4, len(b), most)
}

func (s *scratch) unzstd(b []byte, most int64) error {
	var h zstd.Header
	if err := h.Decode(b); err != nil {
		return fmt.Errorf("%w: zstd: %w", ErrDecompress, err)
	}
	if h.HasFCS && h.FrameContentSize > uint64(most) {
		return ErrBomb
	}
	s.in.Reset(b)
	if s.zstd == nil {
		z, err := zstd.NewReader(&s.in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return fmt.Errorf("%w: zstd: %w", ErrDecompress, err)
		}
		s.zstd = z
	} else if err := s.zstd.Reset(&s.in); err != nil {
		return fmt.Errorf("%w: zstd: %w", ErrDecompress, err)
	}
	err := s.drain(Zstd, s.zstd, len(b), most)
	if h.WindowSize > keptWindow {
		s.zstd.Close()
		s.zstd = nil
	}
	return err
}

// drain reads r to its end into the buffer.
func (s *scratch) drain(codec Codec, r io.Reader, in int, most int64) error {
	if s.buf == nil {
		s.buf = make([]byte, 0, int(min(most, max(4<<10, int64(in)*4))))
	}
	for {
		if len(s.buf) == cap(s.buf) {
			if int64(len(s.buf)) > most {
				return ErrBomb
			}
			// One byte more than allowed is enough to see that there is more.
			bigger := make([]byte, len(s.buf), int(min(most+1, max(4<<10, int64(cap(s.buf))*2))))
			copy(bigger, s.buf)
			s.buf = bigger
		}
		n, err := r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if int64(len(s.buf)) > most {
			return ErrBomb
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDecompress, codec, err)
		}
	}
}

// xerialMagic starts the stream that the Java clients make of snappy blocks: magic, two versions, then blocks with their lengths.
const (
	xerialMagic  = "\x82SNAPPY\x00"
	xerialHeader = 16
)

func (s *scratch) unsnap(b []byte, most int64) error {
	if len(b) < xerialHeader || string(b[:len(xerialMagic)]) != xerialMagic {
		return s.unsnapBlock(b, most)
	}
	for b = b[xerialHeader:]; len(b) > 0; {
		if len(b) >= xerialHeader && string(b[:len(xerialMagic)]) == xerialMagic {
			b = b[xerialHeader:] // streams may follow each other
			continue
		}
		if len(b) < 4 {
			return fmt.Errorf("%w: snappy: cut off", ErrDecompress)
		}
		n := int64(binary.BigEndian.Uint32(b))
		if b = b[4:]; n > int64(len(b)) {
			return fmt.Errorf("%w: snappy: cut off", ErrDecompress)
		}
		if err := s.unsnapBlock(b[:n], most); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// unsnapBlock appends one block to the buffer.
func (s *scratch) unsnapBlock(b []byte, most int64) error {
	n, err := snappy.DecodedLen(b)
	if err != nil {
		return fmt.Errorf("%w: snappy: %w", ErrDecompress, err)
	}
	have := len(s.buf)
	if int64(have)+int64(n) > most {
		return ErrBomb
	}
	if n > 64*len(b)+64 { // a snappy element makes at most 64 bytes out of three
		return fmt.Errorf("%w: snappy: the length is a lie", ErrDecompress)
	}
	if have+n > cap(s.buf) {
		bigger := make([]byte, have, max(have+n, 2*cap(s.buf)))
		copy(bigger, s.buf)
		s.buf = bigger
	}
	out, err := snappy.Decode(s.buf[have:have+n], b)
	if err != nil {
		return fmt.Errorf("%w: snappy: %w", ErrDecompress, err)
	}
	if len(out) != n {
		return fmt.Errorf("%w: snappy: the length is a lie", ErrDecompress)
	}
	s.buf = s.buf[:have+n]
	return nil
}

// Compress appends the compressed form of b to dst, framed as Kafka's clients frame it.
func Compress(dst []byte, codec Codec, b []byte) ([]byte, error) {
	return (*Codecs)(nil).Compress(dst, codec, 0, b)
}

// Compress is the package's Compress with compressors that are kept for the next call. The level is on the codec's own scale, 0 its
// default; snappy has none.
func (c *Codecs) Compress(dst []byte, codec Codec, level int, b []byte) ([]byte, error) {
	switch {
	case codec == None:
		return append(dst, b...), nil
	case codec == Snappy:
		return compressXerial(dst, b), nil
	case codec > Zstd:
		return dst, ErrCodec
	}
	p := &packer{}
	if c != nil {
		if kept, ok := c.packers.Get().(*packer); ok {
			p = kept
		}
	}
	w, err := p.writer(codec, level, bytes.NewBuffer(dst))
	if err != nil {
		return dst, err
	}
	if _, err := w.Write(b); err != nil {
		return dst, err
	}
	if err := w.Close(); err != nil {
		return dst, err
	}
	out := p.out.Bytes()
	if p.out = nil; c != nil {
		c.packers.Put(p)
	}
	return out, nil
}

// packer is one thread's compressors.
type packer struct {
	out  *bytes.Buffer
	gzip *gzip.Writer
	lz4  *lz4.Writer
	zstd *zstd.Encoder
	// levels are those that the three were made with.
	gzipLevel, lz4Level, zstdLevel int
}

// writer makes a compressor write to out.
func (p *packer) writer(codec Codec, level int, out *bytes.Buffer) (io.WriteCloser, error) {
	p.out = out
	switch codec {
	case Gzip:
		if level == 0 {
			level = gzip.DefaultCompression
		}
		if p.gzip != nil && p.gzipLevel == level {
			p.gzip.Reset(out)
			return p.gzip, nil
		}
		z, err := gzip.NewWriterLevel(out, level)
		p.gzip, p.gzipLevel = z, level
		return z, err
	case LZ4:
		if p.lz4 != nil && p.lz4Level == level {
			p.lz4.Reset(out)
			return p.lz4, nil
		}
		p.lz4, p.lz4Level = lz4.NewWriter(out), level
		return p.lz4, p.lz4.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.CompressionLevelOption(lz4Level(level)))
	default:
		if level == 0 {
			level = zstdDefault
		}
		if p.zstd != nil && p.zstdLevel == level {
			p.zstd.Reset(out)
			return p.zstd, nil
		}
		z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)))
		p.zstd, p.zstdLevel = z, level
		return z, err
	}
}

const (
	// lz4Default is the level that stands for the fast compressor in Kafka; every other searches longer.
	lz4Default  = 9
	zstdDefault = 3
)

// lz4Level is the library's name of a level; those above its highest are that one.
func lz4Level(level int) lz4.CompressionLevel {
	if level <= 0 || level == lz4Default {
		return lz4.Fast
	}
	return lz4.Level1 << (min(level, 9) - 1)
}

// xerialBlock is the block size of the Java clients.
const xerialBlock = 32 << 10

func compressXerial(dst, b []byte) []byte {
	dst = append(dst, xerialMagic...)
	dst = append(dst, 0, 0, 0, 1, 0, 0, 0, 1)
	for len(b) > 0 {
		n, at := min(len(b), xerialBlock), len(dst)+4
		dst = slices.Grow(dst, 4+snappy.MaxEncodedLen(n))
		block := snappy.Encode(dst[at:cap(dst)], b[:n])
		binary.BigEndian.PutUint32(dst[at-4:at], uint32(len(block)))
		dst = dst[:at+len(block)]
		b = b[n:]
	}
	return dst
}
