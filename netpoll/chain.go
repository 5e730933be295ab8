package netpoll

import "github.com/pelton-broker/pelton/internal/invariant"

// Releaser is told, on the loop's thread and exactly once, that bytes were sent or that their connection died.
type Releaser interface{ Release() }

// Chain is what a connection has to send: bytes and file spans, in order. Adding to it marks the connection for the turn's FlushOut.
// Nothing may be added to the chain of a closed connection but is released at once, so a late answer needs no check.
type Chain struct {
	c     *Conn
	items []item // items[head:] wait
	head  int
	cur   *outBlock // where Append writes; nil when nothing of it waits
	spans int       // spans in items[head:]
	bytes int64     // unsent
}

// item is one element of a chain. A span has file >= 0 bytes n at off; anything else is b.
type item struct {
	b    []byte    // unsent bytes; nil for a span
	r    Releaser  // nil when nobody wants to know
	blk  *outBlock // of Append: the block that b lies in
	off  int64     // span: where the unsent rest begins
	n    int64     // span: unsent bytes
	file int32     // span: descriptor
	span bool
}

// outBlock is memory for Append. One is used by one chain at a time, and goes back to the loop when all of it was sent.
type outBlock struct {
	b    []byte
	used int
	refs int // items that lie in it
	next *outBlock
}

const (
	outBlockBytes = 4 << 10
	itemsKept     = 16 // a drained slice of more items is left to the collector
	itemsFirst    = 2  // of a new slice: most chains hold one answer
	itemListsKept = 1024
)

// Append makes room for n bytes that the caller fills before FlushOut; the memory is the chain's.
func (ch *Chain) Append(n int) []byte {
	if n <= 0 {
		return nil
	}
	net := ch.c.net
	if ch.c.closed {
		return net.scratch(n)
	}
	if n > outBlockBytes {
		if buf := net.arena.Get(n); buf != nil {
			net.Stats.OutOwned += uint64(n)
			ch.push(item{b: buf.B, r: buf}, int64(n))
			return buf.B
		}
		b := make([]byte, n)
		ch.push(item{b: b}, int64(n))
		return b
	}
	if ch.cur == nil || ch.cur.used+n > outBlockBytes {
		ch.leaveBlock()
		ch.cur = net.takeBlock()
	}
	blk := ch.cur
	at := blk.used
	blk.used += n
	net.Stats.OutOwned += uint64(n)
	if last := len(ch.items) - 1; last >= ch.head && ch.items[last].blk == blk {
		// The last element ends where this one begins: they are sent as one.
		it := &ch.items[last]
		it.b = it.b[:len(it.b)+n]
		ch.bytes += int64(n)
		ch.c.touchOut()
	} else {
		blk.refs++
		ch.push(item{b: blk.b[at : at+n], blk: blk}, int64(n))
	}
	return blk.b[at : at+n : at+n]
}

// Borrow sends b from where it is; b must stay untouched until r.Release. r may be nil.
func (ch *Chain) Borrow(b []byte, r Releaser) {
	if ch.c.closed || len(b) == 0 {
		if r != nil {
			r.Release()
		}
		return
	}
	ch.c.net.Stats.OutBorrowed += uint64(len(b))
	ch.push(item{b: b, r: r}, int64(len(b)))
}

// Span sends n bytes of a file from off, by sendfile; the descriptor must stay open until r.Release.
func (ch *Chain) Span(fd int, off, n int64, r Releaser) {
	if n < 0 || off < 0 {
		invariant.Broken("netpoll: span of a negative range", fd, off, n)
	}
	if ch.c.closed || n == 0 {
		if r != nil {
			r.Release()
		}
		return
	}
	ch.spans++
	ch.push(item{r: r, off: off, n: n, file: int32(fd), span: true}, n)
}

func (ch *Chain) push(it item, bytes int64) {
	if ch.items == nil {
		ch.items = ch.c.net.takeItems()
	} else if ch.head > itemsKept && ch.head > len(ch.items)/2 {
		n := copy(ch.items, ch.items[ch.head:])
		clear(ch.items[n:])
		ch.items, ch.head = ch.items[:n], 0
	}
	ch.items = append(ch.items, it)
	ch.bytes += bytes
	ch.c.touchOut()
}

func (ch *Chain) empty() bool { return ch.head == len(ch.items) }

// leaveBlock forgets the block that Append wrote to; it returns to the loop when its last item is done.
func (ch *Chain) leaveBlock() {
	blk := ch.cur
	ch.cur = nil
	if blk != nil && blk.refs == 0 {
		ch.c.net.putBlock(blk)
	}
}

// sent takes n bytes of memory off the front.
func (ch *Chain) sent(n int) {
	ch.bytes -= int64(n)
	for n > 0 {
		it := &ch.items[ch.head]
		if n < len(it.b) {
			it.b = it.b[n:]
			return
		}
		n -= len(it.b)
		ch.drop()
	}
}

// sentSpan takes n bytes of the span at the front.
func (ch *Chain) sentSpan(n int64) {
	ch.bytes -= n
	it := &ch.items[ch.head]
	it.off += n
	if it.n -= n; it.n == 0 {
		ch.drop()
	}
}

// drop ends the first item; when it was the last, the chain keeps no memory.
func (ch *Chain) drop() {
	it := ch.items[ch.head]
	ch.items[ch.head] = item{}
	ch.head++
	if it.span {
		ch.spans--
	}
	if it.blk != nil {
		if it.blk.refs--; it.blk.refs == 0 && it.blk != ch.cur {
			ch.c.net.putBlock(it.blk)
		}
	}
	if ch.empty() {
		ch.leaveBlock()
		ch.c.net.putItems(ch.items)
		ch.items, ch.head = nil, 0
	}
	if it.r != nil {
		it.r.Release()
	}
}

// dropAll releases everything, for a connection that died.
func (ch *Chain) dropAll() {
	for !ch.empty() {
		ch.drop()
	}
	ch.bytes = 0
}

// gather points the vectors at the bytes in front of the next span, until they are most or more, and says whether more follows.
func (ch *Chain) gather(iov []iovec, most int) (count, bytes int, more bool) {
	for i := ch.head; i < len(ch.items); i++ {
		it := &ch.items[i]
		if it.span || count == len(iov) || bytes >= most {
			return count, bytes, true
		}
		setIovec(&iov[count], it.b)
		count++
		bytes += len(it.b)
	}
	return count, bytes, false
}

// The loop keeps what drained chains leave behind, so that steady traffic allocates nothing and an idle connection holds nothing.

func (n *Net) takeBlock() *outBlock {
	blk := n.freeBlocks
	if blk == nil {
		return &outBlock{b: make([]byte, outBlockBytes)}
	}
	n.freeBlocks, blk.next = blk.next, nil
	n.keptBlocks--
	return blk
}

func (n *Net) putBlock(blk *outBlock) {
	invariant.Fill(blk.b[:blk.used], poison)
	blk.used = 0
	if n.keptBlocks < blocksKept {
		blk.next, n.freeBlocks = n.freeBlocks, blk
		n.keptBlocks++
	}
}

func (n *Net) takeItems() []item {
	last := len(n.freeItems) - 1
	if last < 0 {
		return make([]item, 0, itemsFirst)
	}
	items := n.freeItems[last]
	n.freeItems = n.freeItems[:last]
	return items
}

func (n *Net) putItems(items []item) {
	if cap(items) <= itemsKept && len(n.freeItems) < itemListsKept {
		n.freeItems = append(n.freeItems, items[:0])
	}
}

// scratch is room that nobody will read, for the answer to a connection that is gone.
func (n *Net) scratch(b int) []byte {
	if cap(n.sink) < b {
		n.sink = make([]byte, b)
	}
	return n.sink[:b]
}
