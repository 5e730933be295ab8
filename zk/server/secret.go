package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/pelton-broker/pelton/zk/txnlog"
)

// secretSize is the size of the key that session passwords are made with.
const secretSize = 32

// loadSecret reads the key, or makes it at the first start. It outlives restarts, as sessions do.
func loadSecret(o Options) ([]byte, error) {
	if o.Ensemble != nil && !o.Ensemble.Mutual {
		return o.Ensemble.SessionSecret(), nil
	}
	if o.Ensemble != nil {
		b := make([]byte, secretSize) // until the members have agreed on one, before which there are no sessions
		_, err := io.ReadFull(o.Random, b)
		return b, err
	}
	path := o.DataDir + "/" + txnlog.Sub + "/session.key"
	b, err := o.FS.ReadFile(path)
	if err == nil && len(b) == secretSize {
		return b, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	b = make([]byte, secretSize)
	if _, err := io.ReadFull(o.Random, b); err != nil {
		return nil, fmt.Errorf("zk/server: key for session passwords: %w", err)
	}
	return b, o.FS.WriteFileAtomic(path, b)
}

// password is what a client must know to take session id up again: 128 bits that cannot be told from the id,
// unlike Apache's, which come from a fixed number and the id.
func password(secret []byte, id int64) []byte {
	h := hmac.New(sha256.New, secret)
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(id))
	h.Write(b[:])
	return h.Sum(nil)[:16]
}

func rightPassword(secret []byte, id int64, given []byte) bool {
	return subtle.ConstantTimeCompare(password(secret, id), given) == 1
}
