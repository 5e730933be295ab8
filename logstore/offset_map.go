package logstore

import (
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// offsetMap remembers the last offset of every key by the key's 128-bit hash, in entries of 24 bytes. It begins small and doubles, since a map
// that fits into the processor's cache costs half as much to ask.
type offsetMap struct {
	slots  []mapSlot
	n      uint64 // slots
	used   uint64
	most   uint64 // entries taken before it is full: probing gets long beyond
	limit  uint64 // slots that it may have, those that it grows out of counted
	latest int64  // last offset that was looked at
}

// mapSlot is a key's hash and its last offset plus one, so that zero means free.
type mapSlot struct {
	hash xxh3.Uint128
	next uint64
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
	m.slots, m.n, m.most = make([]mapSlot, n), n, n*mapLoadPct/100
	for i := range old {
		if old[i].next != 0 {
			*m.slot(old[i].hash) = old[i]
		}
	}
}

// slot finds a key's place: its own, or the free one where it would go. The hash's upper bits choose where the search begins, by a
// multiplication: a division would cost as much as the hash.
func (m *offsetMap) slot(h xxh3.Uint128) *mapSlot {
	i, _ := bits.Mul64(h.Lo, m.n)
	for {
		if s := &m.slots[i]; s.next == 0 || s.hash == h {
			return s
		}
		if i++; i == m.n {
			i = 0
		}
	}
}

// hashes are those of a group's keys.
type hashes [batch.KeyGroup]xxh3.Uint128

// find hashes keys and has the processor fetch all their slots at once: a map that is larger than its cache answers one by one only as fast as
// the memory does. The sum means nothing; it makes the loads happen.
func (m *offsetMap) find(group []batch.KeyOf, hs *hashes) (sum uint64) {
	for i := range group {
		if group[i].Key != nil {
			hs[i] = xxh3.Hash128(group[i].Key)
		}
	}
	for i := range group {
		at, _ := bits.Mul64(hs[i].Lo, m.n)
		sum += m.slots[at].next
	}
	return sum
}

// put notes the newer offset of a key by its hash; false when the map is full.
func (m *offsetMap) put(h xxh3.Uint128, offset int64) bool {
	s := m.slot(h)
	if s.next == 0 {
		if m.used >= m.most {
			grown := min(2*m.n, m.limit-min(m.n, m.limit))
			if grown <= m.n {
				return false
			}
			m.resize(grown)
			s = m.slot(h)
		}
		m.used++
		s.hash = h
	}
	s.next = uint64(offset) + 1
	return true
}

// get is the last offset of a key by its hash, -1 when it was not seen.
func (m *offsetMap) get(h xxh3.Uint128) int64 { return int64(m.slot(h).next) - 1 }
