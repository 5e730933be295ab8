package batch

// Sieve takes batches of format 2 apart for a cleaner. It reads a batch, decompressed once, no further than to tell the records' keys, and
// whole only those that stay. The zero value is ready; it is used by one thread, and Release gives back what it holds.
type Sieve struct {
	Codecs          *Codecs
	MaxDecompressed int64

	head  Header
	plain []byte
	lent  *scratch // has the memory of plain, when that was compressed
	kept  []int    // where the records begin that stay

	group [KeyGroup]KeyOf
	at    [KeyGroup]int // where the records of group begin
}

// KeyOf is a record as far as a cleaner asks. Key is nil for null, and valid during the call only.
type KeyOf struct {
	Offset int64
	Key    []byte
	Null   bool // the value is
	Keep   bool // the answer
}

// KeyGroup is how many records are asked about at a time: enough of them for the caller to look many keys up in memory at once, which costs
// little more than one.
const KeyGroup = 64

// open makes the records of a whole batch plain. They are valid until the next call or Release.
func (s *Sieve) open(b []byte) (err error) {
	s.Release()
	if s.head, err = ParseHeader(b); err != nil {
		return err
	}
	s.plain = b[HeaderSize:]
	if s.head.Codec() == None {
		return nil
	}
	if s.Codecs == nil {
		s.Codecs = NewCodecs()
	}
	if s.MaxDecompressed <= 0 {
		s.MaxDecompressed = DefaultMaxDecompressed
	}
	s.lent = s.Codecs.get()
	s.plain, err = s.lent.decompress(s.head.Codec(), s.plain, s.MaxDecompressed)
	return err
}

// Release forgets the batch.
func (s *Sieve) Release() {
	if s.lent != nil {
		s.Codecs.put(s.lent)
	}
	s.lent, s.plain, s.kept = nil, nil, s.kept[:0]
}

// Keys tells of the records of one whole batch, in groups, until fn returns false.
func (s *Sieve) Keys(b []byte, fn func(group []KeyOf) bool) error {
	if err := s.open(b); err != nil {
		return err
	}
	for n, i := int32(0), 0; n < s.head.Count; {
		group, end, err := s.next(n, i)
		if err != nil {
			return err
		}
		if !fn(group) {
			return nil
		}
		n, i = n+int32(len(group)), end
	}
	return nil
}

// Sift asks about the records of one whole batch, in groups, and remembers which ones stay, for Copy. It returns how many do.
func (s *Sieve) Sift(b []byte, fn func(group []KeyOf)) (stay int, err error) {
	err = s.Keys(b, func(group []KeyOf) bool {
		fn(group)
		for k := range group {
			if group[k].Keep {
				s.kept = append(s.kept, s.at[k])
			}
		}
		return true
	})
	return len(s.kept), err
}

// next reads a group of records from number n on, which begins at i, and tells where it ends.
func (s *Sieve) next(n int32, i int) (group []KeyOf, end int, err error) {
	group = s.group[:min(int(s.head.Count-n), KeyGroup)]
	for k := range group {
		r, err := s.slim(i)
		if err != nil {
			return nil, 0, invalid(n+int32(k), err.Error())
		}
		group[k] = KeyOf{Offset: s.head.BaseOffset + int64(r.delta), Key: r.key, Null: r.null}
		s.at[k] = i
		i = r.end
	}
	return group, i, nil
}

// Copy adds the records that stay to bd, whose base offset is the batch's.
func (s *Sieve) Copy(bd *Builder) error {
	for n, i := range s.kept {
		rec, err := readRecord(&reader{b: s.plain, i: i}, &s.head)
		if err != nil {
			return invalid(int32(n), err.Error())
		}
		bd.Copy(&rec)
	}
	return nil
}

// slimRecord is a record as far as a cleaner asks.
type slimRecord struct {
	end   int
	delta int32
	key   []byte
	null  bool
}

// slim reads the record at i. The common shape (varints of one or two bytes, the timestamp's and the offset's up to three, and a key) is
// read in line, anything else, right or wrong, by the way that is complete.
func (s *Sieve) slim(i int) (slimRecord, error) {
	b := s.plain
	if len(b)-i < headRoom {
		return s.slimSlow(i)
	}
	h := (*[headRoom]byte)(b[i:])
	length, j := short2(h, 0)
	end := i + j + int(length>>1)
	j++ // attributes
	for n := 0; h[j&15] >= 0x80; n++ {
		if j++; n == 2 {
			return s.slimSlow(i)
		}
	}
	j++
	o, j := short3(h, j)
	k, j := short2(h, j)
	from := i + j
	to := from + int(k>>1)
	// A varint that goes on behind its last byte here has that byte's top bit left in it. A zigzag that is odd is negative.
	// And a value's length that begins with 0x81 is a null in more bytes than it takes.
	if length&0x4001 != 0 || k&0x4001 != 0 || o >= 1<<21 || o&1 != 0 || to >= end || end > len(b) || b[to] == 0x81 {
		return s.slimSlow(i)
	}
	return slimRecord{end: end, delta: int32(o >> 1), key: b[from:to:to], null: b[to] == 1}, nil
}

func (s *Sieve) slimSlow(i int) (slimRecord, error) {
	r := reader{b: s.plain, i: i}
	rec, err := readRecord(&r, &s.head)
	return slimRecord{end: r.i, delta: int32(rec.Offset - s.head.BaseOffset), key: rec.Key, null: rec.Value == nil}, err
}
