package meta

import (
	"encoding/base64"
	"errors"
)

// ErrBadID is returned by ParseID for text that is not 16 bytes in Kafka's base64.
var ErrBadID = errors.New("meta: an id is 16 bytes in unpadded URL base64")

// ID names a topic for ever, also after another one has taken its name. The zero ID means "none".
type ID [16]byte

// String is the id as Kafka writes it: base64url without padding, 22 letters.
func (id ID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// IsZero tells an absent id.
func (id ID) IsZero() bool { return id == ID{} }

// ParseID reads what String wrote.
func ParseID(s string) (ID, error) {
	var id ID
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return ID{}, ErrBadID
	}
	copy(id[:], b)
	return id, nil
}

// UUID turns 16 random bytes into a version 4 UUID, as Kafka makes its topic and cluster ids.
func UUID(random [16]byte) ID {
	random[6] = random[6]&0x0f | 0x40
	random[8] = random[8]&0x3f | 0x80
	return ID(random)
}
