package ensemble

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
)

// A link goes one way, from the member that dialed. Both ends prove that they know the ensemble's key, each over the other's nonce and
// both numbers, so that nothing can be replayed or be taken to another member; every frame afterwards carries a code of a key
// that holds for this link alone, over its place in it.
const (
	linkHello  = "PELTON-ENSEMBLE1"
	nonceSize  = 32
	proofSize  = sha256.Size
	helloSize  = len(linkHello) + nonceSize
	answerSize = 8 + 8 + nonceSize + proofSize
	codeSize   = 16
	maxFrame   = 256 << 20
	minKey     = 16
)

func proof(key []byte, what string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(what))
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

func numbers(from, to uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, from), to)
}

// dialHandshake is the dialing end. It returns the link's key.
func dialHandshake(rw io.ReadWriter, key []byte, from, to uint64, random io.Reader) ([]byte, error) {
	hello := make([]byte, helloSize)
	if _, err := io.ReadFull(rw, hello); err != nil {
		return nil, err
	}
	if string(hello[:len(linkHello)]) != linkHello {
		return nil, fmt.Errorf("%w: no member of a Pelton ensemble answers", ErrStranger)
	}
	theirs := hello[len(linkHello):]
	mine := make([]byte, nonceSize)
	if _, err := io.ReadFull(random, mine); err != nil {
		return nil, err
	}
	who := numbers(from, to)
	answer := append(append(append([]byte(nil), who...), mine...), proof(key, "dial", theirs, mine, who)...)
	if _, err := rw.Write(answer); err != nil {
		return nil, err
	}
	back := make([]byte, proofSize)
	if _, err := io.ReadFull(rw, back); err != nil {
		return nil, fmt.Errorf("%w: refused: the keys differ, or it does not know this server: %w", ErrStranger, err)
	}
	if !hmac.Equal(back, proof(key, "accept", theirs, mine, who)) {
		return nil, fmt.Errorf("%w: the member does not know the key", ErrStranger)
	}
	return proof(key, "link", theirs, mine, who), nil
}

// acceptHandshake is the listening end. known says whether a number may speak to this member.
func acceptHandshake(rw io.ReadWriter, key []byte, me uint64, random io.Reader, known func(uint64) bool) (from uint64, link []byte, err error) {
	mine := make([]byte, nonceSize)
	if _, err := io.ReadFull(random, mine); err != nil {
		return 0, nil, err
	}
	if _, err := rw.Write(append([]byte(linkHello), mine...)); err != nil {
		return 0, nil, err
	}
	answer := make([]byte, answerSize)
	if _, err := io.ReadFull(rw, answer); err != nil {
		return 0, nil, err
	}
	who, theirs := answer[:16], answer[16:16+nonceSize]
	from, to := binary.BigEndian.Uint64(who), binary.BigEndian.Uint64(who[8:])
	if !hmac.Equal(answer[16+nonceSize:], proof(key, "dial", mine, theirs, who)) {
		return 0, nil, fmt.Errorf("%w: the key is not proven", ErrStranger)
	}
	if to != me || from == me || !known(from) {
		return 0, nil, fmt.Errorf("%w: server %d for server %d", ErrStranger, int64(from)-1, int64(to)-1)
	}
	_, err = rw.Write(proof(key, "accept", mine, theirs, who))
	return from, proof(key, "link", mine, theirs, who), err
}

// appendFrame writes one frame of a link: length, body, code.
func appendFrame(dst, link []byte, n uint64, body []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(body)))
	dst = append(dst, body...)
	return append(dst, frameCode(link, n, body)...)
}

func frameCode(link []byte, n uint64, body []byte) []byte {
	return proof(link, "", binary.BigEndian.AppendUint64(nil, n), body)[:codeSize]
}

// readFrame reads the frame with place n.
func readFrame(r io.Reader, link []byte, n uint64) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(head[:]))
	if size == 0 || size > maxFrame {
		return nil, fmt.Errorf("%w: a frame of %d bytes", ErrMessage, size)
	}
	b, err := readBounded(r, size+codeSize)
	if err != nil {
		return nil, err
	}
	body, code := b[:size], b[size:]
	if !hmac.Equal(code, frameCode(link, n, body)) {
		return nil, fmt.Errorf("%w: a frame with a wrong code", ErrStranger)
	}
	return body, nil
}

// readBounded reads n bytes and allocates only as they come.
func readBounded(r io.Reader, n int) ([]byte, error) {
	const step = 1 << 20
	b := make([]byte, 0, min(n, step))
	for len(b) < n {
		at := len(b)
		b = append(b, make([]byte, min(step, n-at))...)
		if _, err := io.ReadFull(r, b[at:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}
