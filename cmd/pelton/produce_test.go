package main

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Where Kafka's Java producer puts these keys among 12 partitions: (murmur2(key) & 0x7fffffff) % 12, from its own test values of murmur2.
func TestKeysGoWhereJavaPutsThem(t *testing.T) {
	hashes := map[string]int32{"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107}
	p := kgo.StickyKeyPartitioner(nil).ForTopic("t")
	for key, hash := range hashes {
		want := int(hash&0x7fffffff) % 12
		if got := p.Partition(&kgo.Record{Key: []byte(key)}, 12); got != want {
			t.Errorf("key %s goes to %d, Java puts it in %d", key, got, want)
		}
	}
}

func TestPropertiesAreRead(t *testing.T) {
	opts, err := propertyOptions(map[string]string{"linger.ms": "5", "compression.codec": "zstd", "isolation.level": "read_committed", "acks": "1", "security.protocol": "plaintext"})
	if err != nil || len(opts) != 3 {
		t.Fatalf("%d options, %v", len(opts), err)
	}
	for key, value := range map[string]string{"linger.ms": "x", "compression.type": "lzma", "security.protocol": "SSL", "isolation.level": "none", "lingr.ms": "5"} {
		if _, err := propertyOptions(map[string]string{key: value}); err == nil || !strings.Contains(err.Error(), key) && !strings.Contains(err.Error(), value) {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{`\t`: "\t", `\x1f|`: "\x1f|", `a\\b`: `a\b`, `\q`: `\q`, `\`: `\`, `\xzz`: `\xzz`, `\0`: "\x00"} {
		if got := string(unescape(in)); got != want {
			t.Errorf("%s gives %q, want %q", in, got, want)
		}
	}
}
