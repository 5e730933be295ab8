package broker_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// S1: sizes that cannot be close their connection and no other.
func TestFrameSizesThatLie(t *testing.T) {
	n := shared(t)
	bystander := n.dial(t)
	for _, size := range []uint32{1<<31 - 1, 1 << 31, 0xffffffff, 104857601, 0, 1, 3} {
		t.Run(fmt.Sprintf("%#x", size), func(t *testing.T) {
			c := n.dial(t)
			c.write(binary.BigEndian.AppendUint32(nil, size))
			if size < 8 {
				c.write(make([]byte, size))
			}
			c.closed()
		})
	}
	for _, text := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"} {
		c := n.dial(t)
		c.write([]byte(text))
		c.closed()
	}
	bystander.works()
}

// What cannot be read closes its connection, with a counter and a line of the log; a line for each remote and second, whatever comes.
func TestBadFramesAreCountedAndTold(t *testing.T) {
	lines := &said{}
	n := &node{keys: defaults(t.TempDir()), log: slog.New(slog.NewTextHandler(lines, nil))}
	n.keys["admin.listener"] = "127.0.0.1:0"
	if err := n.begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.end(); err != nil {
			t.Error(err)
		}
	})
	bystander := n.dial(t)
	name := topic(t, bystander, 1)
	mustProduce(bystander, name, values("kept"))
	frame := func(body ...byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	bad := map[string][]byte{
		"2 GiB":           {0x7f, 0xff, 0xff, 0xff},
		"negative":        {0xff, 0xff, 0xff, 0xff},
		"unknown key":     frame(0x04, 0xd2, 0, 0, 0, 0, 0, 1, 0xff, 0xff),
		"unknown version": frame(0, 3, 0, 99, 0, 0, 0, 1, 0xff, 0xff),
		"no header":       frame(0, 3, 0, 1),
		"cut off":         frame(0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 5, 0, 200),
	}
	const rounds = 20
	for range rounds {
		for _, b := range bad {
			c := n.dial(t)
			c.write(b)
			c.closed()
		}
	}
	bystander.works()
	want(t, "records", len(readAll(bystander, name, 0, 0)), 1)
	p := n.page(t)
	closed := p[`broker_network_connections_closed_total{cause="frame"}`] + p[`broker_network_connections_closed_total{cause="protocol"}`]
	want(t, "connections closed for what they sent", closed, float64(rounds*len(bad)))
	want(t, "bad frames", p["broker_network_bad_frames_total"], float64(rounds*len(bad)))
	if told := lines.count("connection closed"); told < 1 || told >= rounds*len(bad) {
		t.Errorf("%d lines tell of %d bad connections of one remote", told, rounds*len(bad))
	}
}

// S1: a thousand connections that promise 100 MB each and send nothing cost next to nothing; neither do those that promise 2 GiB.
func TestPromisesCostNothing(t *testing.T) {
	n := own(t)
	bystander := n.dial(t)
	bystander.works()
	runtime.GC()
	before := resident(t)
	conns := make([]*conn, 1000)
	for i := range conns {
		var err error
		if conns[i], err = n.connect(t); err != nil {
			t.Fatal(err)
		}
		defer conns[i].close()
		conns[i].write([]byte{6, 0, 0, 0, 0, 0, 0, 9}) // 100,663,296 bytes, and the first 4
	}
	bystander.works()
	// Both ends of each connection are in this process: the client's buffered reader alone is 4 KiB.
	if grown := resident(t) - before; grown > 24<<20 {
		t.Errorf("1000 promises cost %d KiB", grown>>10)
	}
	for i := range conns {
		conns[i].close()
		liar, err := n.connect(t)
		if err != nil {
			t.Fatal(err)
		}
		liar.write([]byte{0x7f, 0xff, 0xff, 0xff})
		if err := liar.drain(); err != nil {
			t.Fatal("a frame of 2 GiB:", err)
		}
		liar.close()
	}
	if grown := resident(t) - before; grown > 32<<20 {
		t.Errorf("after 1000 frames of 2 GiB %d KiB more", grown>>10)
	}
	bystander.works()
}

// tags is n tagged fields; with the same number when they do not grow.
func tags(n int, grow bool) []byte {
	b := binary.AppendUvarint(nil, uint64(n))
	for i := range n {
		tag := uint64(100)
		if grow {
			tag = uint64(100 + i)
		}
		b = binary.AppendUvarint(b, tag)
		b = append(b, 0)
	}
	return b
}

// flexibleFrame is an ApiVersions v3 with tags in its header and in its body.
func flexibleFrame(header, body []byte) []byte {
	b := []byte{0, 0, 0, 0, 0, 18, 0, 3, 0, 0, 0, 1, 0, 4, 'c', 'a', 's', 'e'}
	b = append(b, header...)
	b = append(b, 2, 'c', 2, '1')
	b = append(b, body...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// S3: floods of tagged fields, in the header and in the body, are not kept.
func TestTagFloods(t *testing.T) {
	n := shared(t)
	bystander := n.dial(t)
	few := n.dial(t)
	few.write(flexibleFrame(tags(3, true), tags(5, true)))
	few.frame() // a few unknown tags are how clients of tomorrow look
	few.works()
	const many = 300_000
	for _, flood := range []struct {
		name  string
		frame []byte
	}{
		{"in-the-header", flexibleFrame(tags(many, true), []byte{0})}, {"in-the-body", flexibleFrame([]byte{0}, tags(many, true))},
		{"the-same-tag", flexibleFrame(tags(many, false), []byte{0})}, {"the-same-tag-in-the-body", flexibleFrame([]byte{0}, tags(many, false))},
		{"count-lies-in-the-header", flexibleFrame([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, []byte{0})},
		{"count-lies-in-the-body", flexibleFrame([]byte{0}, []byte{0xff, 0xff, 0xff, 0xff, 0x0f})},
		{"size-lies", flexibleFrame([]byte{1, 7, 0xff, 0xff, 0xff, 0xff, 0x0f}, []byte{0})},
		{"endless-number", flexibleFrame(bytes.Repeat([]byte{0xff}, 40), []byte{0})},
	} {
		t.Run(flood.name, func(t *testing.T) {
			c := n.dial(t)
			if spent := allocated(func() { c.writeAndDrain(flood.frame) }); spent > int64(4*len(flood.frame)+256<<10) {
				t.Errorf("%d bytes allocated for a frame of %d", spent, len(flood.frame))
			}
			bystander.works()
		})
	}
}

// writeAndDrain sends bytes and the end of the stream, and reads until the broker closes.
func (c *conn) writeAndDrain(b []byte) {
	c.t.Helper()
	if err := c.tryWrite(b); err == nil {
		_ = c.c.CloseWrite() // the broker may have closed by now
	}
	if err := c.drain(); err != nil {
		c.t.Error("the connection hangs:", err)
	}
}

// allocated is what this process, the broker in it, allocates while fn runs. In check builds, where the arenas are memory of Go's, it is 0.
func allocated(fn func()) int64 {
	if invariant.Enabled {
		fn()
		return 0
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// A frame that ends in the middle, at every byte, leaves nothing behind.
func TestTruncatedFrames(t *testing.T) {
	n := shared(t)
	bystander := n.dial(t)
	name := topic(t, bystander, 1)
	frame := frameOf(1, produceVersion, produceRequest(name, 0, 1, values("v")))
	for cut := range frame {
		c := n.dial(t)
		c.writeAndDrain(frame[:cut])
	}
	bystander.works()
	want(t, "records", listOffset(bystander, listVersion, name, 0, -1).Offset, 0)
}

// S5: batches that unpack to far more than they are: refused, without the memory, by each codec.
func TestDecompressionBombs(t *testing.T) {
	n := own(t, "pelton.decompressed.max.bytes=1048576")
	c := n.dial(t)
	bystander := n.dial(t)
	name := topic(t, c, 1, "max.message.bytes=20000000")
	mustProduce(c, name, values("v"))
	const size = 64 << 20
	zeros := make([]byte, size)
	for _, codec := range []batch.Codec{batch.Gzip, batch.Snappy, batch.LZ4, batch.Zstd} {
		t.Run(fmt.Sprint("codec-", codec), func(t *testing.T) {
			b := batch.NewBuilder(codec)
			b.Add(baseTime, nil, zeros)
			frame := frameOf(1, produceVersion, produceRequest(name, 0, -1, b.Bytes()))
			c := n.dial(t)
			var code int16
			spent := allocated(func() {
				c.write(frame)
				_, body := c.frame()
				req := produceRequest(name, 0, -1, nil)
				req.SetVersion(produceVersion)
				resp, err := decode(req, body)
				if err != nil {
					t.Fatal(err)
				}
				code = resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode
			})
			if code != 18 && code != 87 && code != 10 {
				t.Errorf("error %d", code)
			}
			if spent > 24<<20 {
				t.Errorf("%d MB allocated for %d kB that unpack to %d MB", spent>>20, len(frame)>>10, size>>20)
			}
			c.works()
			bystander.works()
		})
	}
	want(t, "the end of the log", listOffset(c, listVersion, name, 0, -1).Offset, 1)
}
