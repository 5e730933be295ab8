package interop

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The sizes of the corpus for the fast clients and for the others.
const (
	largeCorpus = 1 << 30
	smallCorpus = 20 << 20
)

// needed reads a setting without which the test cannot run.
func needed(t *testing.T, name, what string) string {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		t.Skipf("%s is not set: %s; make interop sets it", name, what)
	}
	return v
}

func corpusOf(t *testing.T, size int64) Corpus {
	t.Helper()
	c, err := WriteCorpus(filepath.Join(t.TempDir(), "corpus"), filepath.Join(runtime.GOROOT(), "src"), size)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// killHalfway reads the corpus for a client and kills and restarts the broker once half of it is gone.
type killHalfway struct {
	io.Reader
	t      *testing.T
	server *Server
	left   int64
	killed bool
}

// Read implements io.Reader.
func (k *killHalfway) Read(b []byte) (int, error) {
	n, err := k.Reader.Read(b)
	if k.left -= int64(n); k.left <= 0 && !k.killed {
		k.killed = true
		if e := k.server.Signal(syscall.SIGKILL); e != nil {
			k.t.Error(e)
		}
		if e := k.server.Start(); e != nil {
			k.t.Error(e)
		}
	}
	return n, err
}

// Real text through real programs, across a kill -9 in the middle, comes back byte for byte.
func TestToolsCarryTheCorpusAcrossAKill(t *testing.T) {
	bin := needed(t, "PELTON_BIN", "the broker's binary")
	prepared := needed(t, "PELTON_INTEROP_DIR", "a directory with kafkajs and kafka-python")
	apache := needed(t, "PELTON_APACHE", "the script that drives real Kafka")
	large := int64(largeCorpus)
	if os.Getenv("PELTON_INTEROP_SHORT") != "" {
		large = smallCorpus
	}
	big, small := corpusOf(t, large), corpusOf(t, smallCorpus)
	for _, tool := range Tools(prepared, apache) {
		t.Run(tool.Name, func(t *testing.T) {
			c := small
			if tool.Large {
				c = big
			}
			carry(t, bin, c, func(ctx context.Context, broker string, in io.Reader) error {
				return tool.Run(ctx, tool.Produce, broker, "corpus", c.Lines, "none", in, io.Discard)
			}, func(ctx context.Context, broker string, out io.Writer) error {
				return tool.Run(ctx, tool.Consume, broker, "corpus", c.Lines, "none", nil, out)
			})
		})
	}
	t.Run("franz-go", func(t *testing.T) { carry(t, bin, big, franzWrite, franzRead(big.Lines)) })
	t.Run("librdkafka", func(t *testing.T) {
		carry(t, bin, big, func(ctx context.Context, broker string, in io.Reader) error {
			return Confluent{broker}.WriteLines(ctx, in)
		}, func(ctx context.Context, broker string, out io.Writer) error {
			return Confluent{broker}.ReadLines(ctx, big.Lines, out)
		})
	})
	t.Run("sarama", func(t *testing.T) {
		carry(t, bin, small, func(ctx context.Context, broker string, in io.Reader) error {
			return Sarama{broker}.WriteLines(ctx, in)
		},
			func(ctx context.Context, broker string, out io.Writer) error {
				return ReadLines(ctx, Sarama{broker}, small.Lines, out)
			})
	})
	t.Run("kafka-go", func(t *testing.T) {
		carry(t, bin, small, func(ctx context.Context, broker string, in io.Reader) error {
			return Segmentio{broker}.WriteLines(ctx, in)
		},
			func(ctx context.Context, broker string, out io.Writer) error {
				return ReadLines(ctx, Segmentio{broker}, small.Lines, out)
			})
	})
}

func carry(t *testing.T, bin string, c Corpus, write func(context.Context, string, io.Reader) error, read func(context.Context, string, io.Writer) error) {
	s, err := StartServer(bin, filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Signal(syscall.SIGKILL) })
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	f, err := os.Open(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := write(ctx, s.Addr(), &killHalfway{Reader: f, t: t, server: s, left: c.Bytes / 2}); err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	count := &counter{w: sum}
	if err := read(ctx, s.Addr(), count); err != nil {
		t.Fatalf("after %d of %d bytes: %v", count.n, c.Bytes, err)
	}
	if count.n != c.Bytes || [sha256.Size]byte(sum.Sum(nil)) != c.Sum {
		t.Fatalf("%d bytes with sum %x came back of %d bytes with sum %x", count.n, sum.Sum(nil), c.Bytes, c.Sum)
	}
	if err := s.Signal(syscall.SIGTERM); err != nil || s.ExitCode() != 0 {
		t.Fatalf("a clean stop ended with code %d (%v)", s.ExitCode(), err)
	}
}

type counter struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) { c.n += int64(len(b)); return c.w.Write(b) }

func franzWrite(ctx context.Context, broker string, in io.Reader) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.AllowAutoTopicCreation(),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedBytes(64<<20), kgo.MaxBufferedRecords(1<<20))
	if err != nil {
		return err
	}
	defer cl.Close()
	var failed error
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		cl.Produce(ctx, &kgo.Record{Topic: "corpus", Value: line[:len(line)-1]}, func(_ *kgo.Record, err error) {
			if err != nil && failed == nil {
				failed = err
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return failed
}

func franzRead(lines int) func(context.Context, string, io.Writer) error {
	return func(ctx context.Context, broker string, out io.Writer) error {
		cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.FetchMaxBytes(16<<20),
			kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"corpus": {0: kgo.NewOffset().AtStart()}}))
		if err != nil {
			return err
		}
		defer cl.Close()
		w := bufio.NewWriterSize(out, 1<<20)
		for n := 0; n < lines; {
			fs := cl.PollFetches(ctx)
			if err := fs.Err0(); err != nil {
				return err
			}
			var bad error
			fs.EachError(func(t string, p int32, e error) { bad = fmt.Errorf("%s-%d: %w", t, p, e) })
			if bad != nil {
				return bad
			}
			fs.EachRecord(func(r *kgo.Record) {
				n++
				_, _ = w.Write(r.Value) // a failure stays and comes out of Flush
				_ = w.WriteByte('\n')
			})
		}
		return w.Flush()
	}
}

// Every program writes with every codec it knows, and franz-go and the program itself read it back.
func TestToolsWriteEveryCodec(t *testing.T) {
	broker := seed(t)
	prepared := needed(t, "PELTON_INTEROP_DIR", "a directory with kafkajs and kafka-python")
	apache := needed(t, "PELTON_APACHE", "the script that drives real Kafka")
	var want strings.Builder
	const lines = 500
	for i := range lines {
		fmt.Fprintf(&want, "line %d of a text that is long enough to be worth a codec, over and over: %s\n", i, strings.Repeat("abc ", i%30))
	}
	for _, tool := range Tools(prepared, apache) {
		for _, codec := range tool.Codecs {
			t.Run(tool.Name+"/"+codec, func(t *testing.T) {
				topic := newTopic(t, "tool")
				if strings.HasPrefix(tool.Name, "java") {
					topic = newTopic1(t, "tool")
				}
				ctx := within(t)
				if err := tool.Run(ctx, tool.Produce, broker, topic, lines, codec, strings.NewReader(want.String()), io.Discard); err != nil {
					t.Fatal(err)
				}
				rs, err := (Franz{broker}).Consume(ctx, topic, 1, lines)
				if err != nil {
					t.Fatal(err)
				}
				var franz, own strings.Builder
				for _, r := range rs {
					franz.Write(r.Value)
					franz.WriteByte('\n')
				}
				if franz.String() != want.String() {
					t.Fatalf("franz-go reads %d bytes that differ from the %d written", franz.Len(), want.Len())
				}
				if err := tool.Run(ctx, tool.Consume, broker, topic, lines, codec, nil, &own); err != nil {
					t.Fatal(err)
				}
				if own.String() != want.String() {
					t.Fatalf("the tool reads %d bytes that differ from the %d written", own.Len(), want.Len())
				}
			})
		}
	}
}
