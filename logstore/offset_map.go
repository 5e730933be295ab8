package logstore

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// offsetMap remembers the last offset of every key by the key's 128-bit hash, in entries of 24 bytes. It begins small and doubles, since a map
// that fits into the processor's cache costs half as much to ask.
type offsetMap struct {
	slots  []byte
	n      uint64 // slots
	used   uint64
	most   uint64 // entries taken before it is full: probing gets long beyond
	limit  uint64 // slots that it may have, those that it grows out of counted
	latest int64  // last offset that was looked at
}

const (
	mapEntry   = 24
	mapLoadPct = 90
	mapFirst   = 64 << 10 // slots of a new map
)

// newOffsetMap makes a map of at most size bytes with room for want entries.
func newOffsetMap(size int64, want uint64) *offsetMap {
	m := &offsetMap{limit: uint64(size / mapEntry), latest: -1}
	m.resize(min(m.limit, want*100/mapLoadPct+16, mapFirst))
	return m
}

// resize moves everything to n new slots.
func (m *offsetMap) resize(n uint64) {
	old := m.slots
	m.slots, m.n, m.most = make([]byte, n*mapEntry), n, n*mapLoadPct/100
	for ; len(old) > 0; old = old[mapEntry:] {
		if binary.LittleEndian.Uint64(old[16:]) == 0 {
			continue
		}
		i := binary.LittleEndian.Uint64(old) % n
		for binary.LittleEndian.Uint64(m.slots[i*mapEntry+16:]) != 0 {
			i = (i + 1) % n
		}
		copy(m.slots[i*mapEntry:], old[:mapEntry])
	}
}

// slot finds a key's place: its own, or the free one where it would go. Offsets are kept plus one, so that zero means free.
func (m *offsetMap) slot(key []byte) (s []byte, mine bool, h xxh3.Uint128) {
	h = xxh3.Hash128(key)
	for i := h.Lo % m.n; ; i = (i + 1) % m.n {
		s = m.slots[i*mapEntry : (i+1)*mapEntry]
		if binary.LittleEndian.Uint64(s[16:]) == 0 {
			return s, false, h
		}
		if binary.LittleEndian.Uint64(s) == h.Lo && binary.LittleEndian.Uint64(s[8:]) == h.Hi {
			return s, true, h
		}
	}
}

// put notes a key's newer offset; false when the map is full.
func (m *offsetMap) put(key []byte, offset int64) bool {
	s, mine, h := m.slot(key)
	if !mine {
		if m.used >= m.most {
			grown := min(2*m.n, m.limit-min(m.n, m.limit))
			if grown <= m.n {
				return false
			}
			m.resize(grown)
			s, _, h = m.slot(key)
		}
		m.used++
		binary.LittleEndian.PutUint64(s, h.Lo)
		binary.LittleEndian.PutUint64(s[8:], h.Hi)
	}
	binary.LittleEndian.PutUint64(s[16:], uint64(offset)+1)
	return true
}

// get is the last offset of a key, -1 when it was not seen.
func (m *offsetMap) get(key []byte) int64 {
	if s, mine, _ := m.slot(key); mine {
		return int64(binary.LittleEndian.Uint64(s[16:])) - 1
	}
	return -1
}
