package jute

// Stat is what a client sees of a node besides its data.
type Stat struct {
	Czxid, Mzxid, Ctime, Mtime  int64
	Version, Cversion, Aversion int32
	EphemeralOwner              int64
	DataLength, NumChildren     int32
	Pzxid                       int64
}

// StatSize is the size of an encoded Stat.
const StatSize = 68

// AppendStat writes s.
func AppendStat(dst []byte, s *Stat) []byte {
	dst = AppendLong(dst, s.Czxid)
	dst = AppendLong(dst, s.Mzxid)
	dst = AppendLong(dst, s.Ctime)
	dst = AppendLong(dst, s.Mtime)
	dst = AppendInt(dst, s.Version)
	dst = AppendInt(dst, s.Cversion)
	dst = AppendInt(dst, s.Aversion)
	dst = AppendLong(dst, s.EphemeralOwner)
	dst = AppendInt(dst, s.DataLength)
	dst = AppendInt(dst, s.NumChildren)
	return AppendLong(dst, s.Pzxid)
}

// Stat reads a Stat.
func (r *Reader) Stat() Stat {
	return Stat{Czxid: r.Long(), Mzxid: r.Long(), Ctime: r.Long(), Mtime: r.Long(), Version: r.Int(), Cversion: r.Int(), Aversion: r.Int(),
		EphemeralOwner: r.Long(), DataLength: r.Int(), NumChildren: r.Int(), Pzxid: r.Long()}
}

// ID names somebody: a scheme and an identity within it.
type ID struct{ Scheme, ID string }

// ACL gives permissions to an identity.
type ACL struct {
	Perms int32
	ID
}

// AppendACL writes a vector of ACL entries.
func AppendACL(dst []byte, acl []ACL) []byte {
	dst = AppendInt(dst, int32(len(acl)))
	for i := range acl {
		dst = AppendInt(dst, acl[i].Perms)
		dst = AppendText(dst, acl[i].Scheme)
		dst = AppendText(dst, acl[i].ID.ID)
	}
	return dst
}

// ACL reads a vector of ACL entries; null yields nil.
func (r *Reader) ACL() []ACL {
	n := r.Count(12)
	if n < 0 || r.err != nil {
		return nil
	}
	out := make([]ACL, 0, n)
	for range n {
		out = append(out, ACL{Perms: r.Int(), ID: ID{Scheme: r.String(), ID: r.String()}})
		if r.err != nil {
			return nil
		}
	}
	return out
}

// ConnectRequest opens a session or takes one up again. Clients before 3.4 send no read-only flag.
type ConnectRequest struct {
	Protocol    int32
	LastZxid    int64
	TimeoutMs   int32
	SessionID   int64
	Password    []byte
	ReadOnly    bool
	HasReadOnly bool
}

// ConnectRequest reads the first frame of a connection. Password is a slice of the input.
func (r *Reader) ConnectRequest() ConnectRequest {
	c := ConnectRequest{Protocol: r.Int(), LastZxid: r.Long(), TimeoutMs: r.Int(), SessionID: r.Long(), Password: r.Buffer()}
	if r.err == nil && r.Len() > 0 {
		c.HasReadOnly = true
		c.ReadOnly = r.Bool()
	}
	return c
}

// AppendConnectResponse answers a ConnectRequest; readOnly is written when the client sent the flag.
func AppendConnectResponse(dst []byte, timeoutMs int32, id int64, password []byte, hasReadOnly, readOnly bool) []byte {
	dst = AppendInt(dst, 0)
	dst = AppendInt(dst, timeoutMs)
	dst = AppendLong(dst, id)
	dst = AppendBuffer(dst, password)
	if hasReadOnly {
		dst = AppendBool(dst, readOnly)
	}
	return dst
}

// AppendReplyHeader writes the header of every answer.
func AppendReplyHeader(dst []byte, xid int32, zxid int64, err Code) []byte {
	dst = AppendInt(dst, xid)
	dst = AppendLong(dst, zxid)
	return AppendInt(dst, int32(err))
}

// AppendMultiHeader writes the header of one result of a multi.
func AppendMultiHeader(dst []byte, op int32, done bool, err int32) []byte {
	dst = AppendInt(dst, op)
	dst = AppendBool(dst, done)
	return AppendInt(dst, err)
}

// MultiHeader reads the header of one operation of a multi.
func (r *Reader) MultiHeader() (op int32, done bool, err int32) { return r.Int(), r.Bool(), r.Int() }
