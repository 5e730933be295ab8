package logstore

import (
	"fmt"
	"testing"

	"github.com/zeebo/xxh3"
)

func hashOf(format string, args ...any) xxh3.Uint128 {
	return xxh3.Hash128(fmt.Appendf(nil, format, args...))
}

// A map that grows remembers every key's last offset, says when it is full, and never has more slots than it may, the old ones counted.
func TestOffsetMapGrows(t *testing.T) {
	for _, limit := range []int64{40, mapFirst, 3 * mapFirst, 5 * mapFirst} {
		m := newOffsetMap(limit*mapEntry, 1<<40)
		n := int64(0)
		for ; m.put(hashOf("key-%d", n), n); n++ {
			if n%3 == 0 && !m.put(hashOf("key-%d", n/2), n) {
				t.Fatalf("limit %d: a key that is there was refused", limit)
			}
		}
		if least := min(limit, max(mapFirst, limit*2/3)) * 7 / 10; n < least || m.n > uint64(limit) {
			t.Fatalf("limit %d: full at %d keys in %d slots", limit, n, m.n)
		}
		for i := range n {
			due := i
			for j := i * 2; j <= min(i*2+1, n-1); j++ { // written once more by those
				if j%3 == 0 {
					due = j
				}
			}
			if got := m.get(hashOf("key-%d", i)); got != due {
				t.Fatalf("limit %d: key %d has %d, want %d", limit, i, got, due)
			}
		}
		if m.get(hashOf("never written")) != -1 {
			t.Fatal("a key that was not written is there")
		}
	}
}
