package ensemble

import (
	"encoding/binary"

	pb "go.etcd.io/raft/v3/raftpb"
)

// secretFrom stands in an entry where the number of the member that asked would: the entry is the ensemble's secret and no transaction.
const secretFrom = ^uint64(0)

// secretSize is the size of a secret, proposed or agreed on.
const secretSize = 32

// Secret is what session passwords are made with in an ensemble without a shared key. It is nil until one was agreed on, which the first leader
// sees to before it orders anything, so that no session is older.
func (c *Core) Secret() []byte { return c.secret }

// agreeOnSecret puts this member's proposal into the order, in front of everything else in its lead.
func (c *Core) agreeOnSecret() {
	if c.secret == nil && len(c.o.Secret) == secretSize {
		c.batch = append(c.batch, &pb.Entry{Data: append(binary.BigEndian.AppendUint64(nil, secretFrom), c.o.Secret...)})
	}
}

// secretIn reads the secret that an entry holds; nil when it is a transaction.
func secretIn(data []byte) []byte {
	if len(data) != 8+secretSize || binary.BigEndian.Uint64(data) != secretFrom {
		return nil
	}
	return data[8:]
}

// takeSecret keeps the first one that was ordered: a leader whose entry was late in coming through may have been followed by another's.
func (c *Core) takeSecret(secret []byte) {
	if len(secret) == secretSize && c.secret == nil {
		c.secret = append([]byte(nil), secret...)
		c.sink.Secret(c.secret)
	}
}
