package tree

import (
	"fmt"

	"github.com/pelton-broker/pelton/zk/jute"
)

// Txn is one ordered change: ZooKeeper's TxnHeader and the record of its type in one flat struct.
type Txn struct {
	Session int64
	Cxid    int32
	Zxid    int64
	TimeMs  int64
	Op      int32 // one of the write operations, OpCreateSession, OpCloseSession or OpError

	Path      string
	Data      []byte // never changed after the transaction was built: nodes keep it
	ACL       []jute.ACL
	Ephemeral bool
	// ParentCversion is the parent's creation counter after this create; -1 in files of 3.4's first format: count up.
	ParentCversion int32
	TTLMs          int64
	Version        int32 // the version that the node has afterwards
	TimeoutMs      int32
	Err            jute.Code
	Paths          []string // OpCloseSession: ephemerals that go with the session
	HasPaths       bool     // false in files before 3.6, which name no paths
	Sub            []Txn    // OpMulti
}

// AppendTo writes the transaction as ZooKeeper's log holds it: header and record.
func (t *Txn) AppendTo(dst []byte) []byte {
	dst = jute.AppendLong(dst, t.Session)
	dst = jute.AppendInt(dst, t.Cxid)
	dst = jute.AppendLong(dst, t.Zxid)
	dst = jute.AppendLong(dst, t.TimeMs)
	dst = jute.AppendInt(dst, t.Op)
	return t.appendRecord(dst)
}

func (t *Txn) appendRecord(dst []byte) []byte {
	switch t.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		dst = jute.AppendText(dst, t.Path)
		dst = jute.AppendBuffer(dst, t.Data)
		dst = jute.AppendACL(dst, t.ACL)
		if t.Op == jute.OpCreate || t.Op == jute.OpCreate2 {
			dst = jute.AppendBool(dst, t.Ephemeral)
		}
		dst = jute.AppendInt(dst, t.ParentCversion)
		if t.Op == jute.OpCreateTTL {
			dst = jute.AppendLong(dst, t.TTLMs)
		}
	case jute.OpDelete, jute.OpDeleteContainer:
		dst = jute.AppendText(dst, t.Path)
	case jute.OpSetData, jute.OpReconfig:
		dst = jute.AppendText(dst, t.Path)
		dst = jute.AppendBuffer(dst, t.Data)
		dst = jute.AppendInt(dst, t.Version)
	case jute.OpSetACL:
		dst = jute.AppendText(dst, t.Path)
		dst = jute.AppendACL(dst, t.ACL)
		dst = jute.AppendInt(dst, t.Version)
	case jute.OpCheck:
		dst = jute.AppendText(dst, t.Path)
		dst = jute.AppendInt(dst, t.Version)
	case jute.OpCreateSession:
		dst = jute.AppendInt(dst, t.TimeoutMs)
	case jute.OpCloseSession:
		if t.HasPaths {
			dst = jute.AppendTexts(dst, t.Paths)
		}
	case jute.OpError:
		dst = jute.AppendInt(dst, int32(t.Err))
	case jute.OpMulti:
		dst = jute.AppendInt(dst, int32(len(t.Sub)))
		for i := range t.Sub {
			sub := &t.Sub[i]
			dst = jute.AppendInt(dst, sub.Op)
			at := len(dst)
			dst = jute.AppendInt(dst, 0)
			dst = sub.appendRecord(dst)
			jute.PutInt(dst[at:], int32(len(dst)-at-4))
		}
	}
	return dst
}

// ParseTxn reads a transaction; data is copied out of b. tail is what follows the record (a digest, since 3.6).
func ParseTxn(b []byte) (t *Txn, tail []byte, err error) {
	r := jute.NewReader(b)
	t = &Txn{Session: r.Long(), Cxid: r.Int(), Zxid: r.Long(), TimeMs: r.Long(), Op: r.Int()}
	if err := t.parseRecord(&r); err != nil {
		return nil, nil, err
	}
	return t, r.Rest(), nil
}

func (t *Txn) parseRecord(r *jute.Reader) error {
	switch t.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		t.Path, t.Data, t.ACL = r.String(), clone(r.Buffer()), r.ACL()
		if t.Op == jute.OpCreate || t.Op == jute.OpCreate2 {
			t.Ephemeral = r.Bool()
		}
		if r.Err() == nil && r.Len() == 0 {
			t.ParentCversion = -1
			return nil
		}
		t.ParentCversion = r.Int()
		if t.Op == jute.OpCreateTTL {
			t.TTLMs = r.Long()
		}
	case jute.OpDelete, jute.OpDeleteContainer:
		t.Path = r.String()
	case jute.OpSetData, jute.OpReconfig:
		t.Path, t.Data, t.Version = r.String(), clone(r.Buffer()), r.Int()
	case jute.OpSetACL:
		t.Path, t.ACL, t.Version = r.String(), r.ACL(), r.Int()
	case jute.OpCheck:
		t.Path, t.Version = r.String(), r.Int()
	case jute.OpCreateSession:
		t.TimeoutMs = r.Int()
	case jute.OpCloseSession:
		if r.Len() > 0 {
			t.Paths, t.HasPaths = r.Strings(), true
		}
	case jute.OpError:
		t.Err = jute.Code(r.Int())
	case jute.OpMulti:
		return t.parseMulti(r)
	default:
		return fmt.Errorf("tree: transaction of unknown type %d", t.Op)
	}
	return r.Err()
}

func (t *Txn) parseMulti(r *jute.Reader) error {
	n := r.Count(8)
	if r.Err() != nil {
		return r.Err()
	}
	if n < 0 {
		n = 0
	}
	t.Sub = make([]Txn, n)
	for i := range t.Sub {
		sub := &t.Sub[i]
		sub.Session, sub.Cxid, sub.Zxid, sub.TimeMs, sub.Op = t.Session, t.Cxid, t.Zxid, t.TimeMs, r.Int()
		rec := jute.NewReader(r.Buffer())
		if r.Err() != nil {
			return r.Err()
		}
		if sub.Op == jute.OpMulti {
			return fmt.Errorf("tree: a multi within a multi")
		}
		if err := sub.parseRecord(&rec); err != nil {
			return err
		}
	}
	return nil
}

// clone copies b and keeps the difference between null and empty.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}
