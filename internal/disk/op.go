package disk

import (
	"syscall"

	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/internal/uring"
)

// stallsMax is how often in a row the kernel may take nothing of a write, or cancel it, before that is an error.
const stallsMax = 100

// opState is the part of an Op that the backends use between Submit and Reap.
type opState struct {
	next    *Op       // in one list at a time
	vec     uring.Vec // what the next call reads or writes; kept for its room
	want    int       // bytes to move in all
	done    int       // bytes moved
	asked   int       // bytes in the call that is out
	stalls  int       // calls in a row without progress
	syncing bool      // the bytes are written, only the fdatasync is left
	inline  bool      // done at Submit, by auto
	linked  bool      // the call that is out has an fdatasync linked to it
	parts   int8      // completions outstanding
	main    int32     // result of the call
	sync    int32     // result of the linked fdatasync
	slot    uint32    // in the ring backend's table
	startNs int64     // Submit, for auto's statistics
	scratch []byte    // where a ReadAhead reads to
}

// Inline tells whether a completed operation was done at Submit, on the shard's own thread.
func (op *Op) Inline() bool { return op.inline }

// begin makes an op ready to be carried out.
func (op *Op) begin() {
	op.N, op.Err = 0, nil
	op.next = nil
	op.want, op.done, op.stalls, op.syncing, op.inline = 0, 0, 0, false, false
	switch op.Kind {
	case Write, Read:
		for _, b := range op.Bufs {
			op.want += len(b)
		}
		if op.Kind == Read && len(op.Bufs) != 1 {
			invariant.Broken("disk: a Read takes exactly one buffer", len(op.Bufs))
		}
	case ReadAhead:
		op.want = op.ReadLen
	}
	if op.File == nil && op.Kind != Nop {
		invariant.Broken("disk: operation without a file", op.Kind)
	}
}

// load fills vec with what is left to move, as far as one call takes it.
func (op *Op) load() {
	op.vec.Reset()
	skip := op.done
	for _, b := range op.Bufs {
		if skip >= len(b) {
			skip -= len(b)
			continue
		}
		if !op.vec.Add(b[skip:]) {
			break
		}
		skip = 0
	}
	op.asked = op.vec.Bytes()
}

// loadScratch points vec at the scratch buffer, over and over, for what is left to load.
func (op *Op) loadScratch() {
	fillScratch(&op.vec, op.scratch, op.want-op.done)
	op.asked = op.vec.Bytes()
}

// settle reads the results of a call (main, and sync when an fdatasync was linked) and says whether the op is finished. When it is not, the
// rest is to be submitted again: the same bytes, and a new fdatasync. It is the one place where results are understood.
func (op *Op) settle() (finished bool) {
	if op.linked && op.sync < 0 && op.sync != -int32(syscall.ECANCELED) {
		// The fdatasync ran and failed: whatever became of the write, nothing more is tried.
		if op.main >= 0 {
			op.advance()
		} else if !transient(op.main) {
			return op.fail(op.Kind.String(), op.main)
		}
		return op.fail("fdatasync", op.sync)
	}
	switch op.Kind {
	case Nop:
		return op.finish()
	case Sync:
		return op.settleSync(op.main)
	case ReadAhead:
		return op.settleReadAhead()
	case Read:
		if !op.advance() {
			return op.Err != nil
		}
		if op.main == 0 || op.done == op.want {
			return op.finish()
		}
		return false
	}
	if op.syncing {
		return op.settleSync(op.main)
	}
	if !op.advance() {
		return op.Err != nil
	}
	if op.main == 0 && op.done < op.want {
		return op.stall()
	}
	if op.done < op.want {
		return false
	}
	if !op.Durable {
		return op.finish()
	}
	op.syncing = true
	if op.linked {
		return op.settleSync(op.sync)
	}
	return false
}

// advance counts the bytes of a call; false means there were none and the op either failed or is to be tried again.
func (op *Op) advance() bool {
	switch {
	case op.main >= 0:
		if int(op.main) > op.asked {
			invariant.Broken("disk: more bytes moved than asked for", op.main, op.asked)
		}
		op.done += int(op.main)
		if op.main > 0 {
			op.stalls = 0
		}
		return true
	case transient(op.main):
		op.stall()
	default:
		op.fail(op.Kind.String(), op.main)
	}
	return false
}

// transient results say that the kernel has not begun, and may be asked again.
func transient(res int32) bool {
	errno := syscall.Errno(-res)
	return errno == syscall.ECANCELED || errno == syscall.EINTR || errno == syscall.EAGAIN
}

// settleSync understands an fdatasync. A cancelled one has not run and is submitted anew; one that failed is never repeated, since the kernel
// may have marked the lost pages clean.
func (op *Op) settleSync(res int32) bool {
	switch {
	case res >= 0:
		return op.finish()
	case res == -int32(syscall.ECANCELED):
		return op.stall()
	}
	return op.fail("fdatasync", res)
}

// settleReadAhead takes a short read for the end of the file: whoever wants the bytes will see what there is.
func (op *Op) settleReadAhead() bool {
	if !op.advance() {
		return op.Err != nil
	}
	if int(op.main) < op.asked || op.done == op.want {
		return op.finish()
	}
	return false
}

// stall counts a call without progress; it finishes the op only when there were too many.
func (op *Op) stall() bool {
	op.stalls++
	if op.stalls <= stallsMax {
		return false
	}
	op.N = op.done
	op.Err = op.error(op.Kind.String(), ErrNoProgress)
	return true
}

func (op *Op) finish() bool {
	op.N = op.done
	return true
}

func (op *Op) fail(call string, res int32) bool {
	op.N = op.done
	op.Err = op.error(call, syscall.Errno(-res))
	return true
}

func (op *Op) error(call string, err error) error {
	path := ""
	if op.File != nil {
		path = op.File.path
	}
	return &Error{Op: call, Path: path, Err: err}
}

// release drops what a finished op would keep alive.
func (op *Op) release() {
	op.vec.Reset()
	op.next, op.scratch = nil, nil
}

// opList is a queue of ops linked through themselves; an op is in at most one.
type opList struct{ head, tail *Op }

func (l *opList) empty() bool { return l.head == nil }

func (l *opList) push(op *Op) {
	op.next = nil
	if l.tail == nil {
		l.head, l.tail = op, op
		return
	}
	l.tail.next = op
	l.tail = op
}

func (l *opList) pushFront(op *Op) {
	op.next = l.head
	l.head = op
	if l.tail == nil {
		l.tail = op
	}
}

func (l *opList) pop() *Op {
	op := l.head
	if op == nil {
		return nil
	}
	l.head = op.next
	if l.head == nil {
		l.tail = nil
	}
	op.next = nil
	return op
}

// take empties other into l.
func (l *opList) take(other *opList) {
	if other.head == nil {
		return
	}
	if l.tail == nil {
		l.head = other.head
	} else {
		l.tail.next = other.head
	}
	l.tail = other.tail
	other.head, other.tail = nil, nil
}
