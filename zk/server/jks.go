package server

import (
	"crypto/sha1"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

// errJKS is a key store that cannot be read.
var errJKS = errors.New("not a sound JKS key store")

// errJKSPassword is a store whose digest the password does not make.
var errJKSPassword = errors.New("the password of the key store is wrong")

const (
	jksMagic = 0xFEEDFEED
	// Kinds of entries.
	jksKey  = 1
	jksCert = 2
)

func isJKS(b []byte) bool { return len(b) >= 4 && binary.BigEndian.Uint32(b) == jksMagic }

// jksReader reads Java's key store: numbers and texts with a length before them, a SHA-1 of all of it at the end.
type jksReader struct {
	b   []byte
	bad bool
}

func (r *jksReader) bytes(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *jksReader) number(size int) int {
	n := 0
	for _, c := range r.bytes(size) {
		n = n<<8 | int(c)
	}
	return n
}

func (r *jksReader) blob() []byte { return r.bytes(r.number(4)) }

func (r *jksReader) cert(version int) (*x509.Certificate, error) {
	if version == 2 {
		r.bytes(r.number(2)) // "X.509"
	}
	der := r.blob()
	if r.bad {
		return nil, errJKS
	}
	return x509.ParseCertificate(der)
}

// jksPassword is a password as Java digests it: two bytes for each character.
func jksPassword(password string) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune(password)) {
		out = binary.BigEndian.AppendUint16(out, u)
	}
	return out
}

func parseJKS(b []byte, password string) (*store, error) {
	if !isJKS(b) || len(b) < 12+sha1.Size {
		return nil, errJKS
	}
	body := b[:len(b)-sha1.Size]
	secret := jksPassword(password)
	if password != "" { // without one the store is read unchecked, as Java does
		h := sha1.New()
		h.Write(secret)
		h.Write([]byte("Mighty Aphrodite"))
		h.Write(body)
		if subtle.ConstantTimeCompare(h.Sum(nil), b[len(body):]) != 1 {
			return nil, errJKSPassword
		}
	}
	r := &jksReader{b: body[4:]}
	version, count := r.number(4), r.number(4)
	s := &store{}
	for range count {
		kind := r.number(4)
		r.bytes(r.number(2)) // the alias
		r.bytes(8)           // its time
		var err error
		switch {
		case r.bad:
			return nil, errJKS
		case kind == jksKey:
			err = s.jksKey(r, version, secret)
		case kind == jksCert:
			var cert *x509.Certificate
			if cert, err = r.cert(version); err == nil {
				s.certs = append(s.certs, cert)
			}
		default:
			err = errJKS
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *store) jksKey(r *jksReader, version int, secret []byte) error {
	sealed := r.blob()
	var chain [][]byte
	var leaf *x509.Certificate
	n := r.number(4)
	for i := 0; i < n && !r.bad; i++ {
		cert, err := r.cert(version)
		if err != nil {
			return err
		}
		if leaf == nil {
			leaf = cert
		}
		chain = append(chain, cert.Raw)
	}
	if r.bad || leaf == nil {
		return errJKS
	}
	der, err := jksOpen(sealed, secret)
	if err != nil {
		return err
	}
	key, err := parseKey(der)
	if err != nil {
		return err
	}
	s.keys = append(s.keys, tls.Certificate{Certificate: chain, PrivateKey: key, Leaf: leaf})
	return nil
}

// jksOpen takes Java's own seal off a private key: a key stream of SHA-1 over the password and the block before, and a SHA-1 to check it.
func jksOpen(sealed, secret []byte) ([]byte, error) {
	var info struct {
		Algorithm struct {
			OID    asn1.ObjectIdentifier
			Params asn1.RawValue `asn1:"optional"`
		}
		Data []byte
	}
	if _, err := asn1.Unmarshal(sealed, &info); err != nil || len(info.Data) < 2*sha1.Size {
		return nil, errors.Join(errJKS, err)
	}
	block, text, check := info.Data[:sha1.Size], info.Data[sha1.Size:len(info.Data)-sha1.Size], info.Data[len(info.Data)-sha1.Size:]
	out := make([]byte, len(text))
	for i := range text {
		if i%sha1.Size == 0 {
			sum := sha1.Sum(append(append([]byte(nil), secret...), block...))
			block = sum[:]
		}
		out[i] = text[i] ^ block[i%sha1.Size]
	}
	sum := sha1.Sum(append(append([]byte(nil), secret...), out...))
	if subtle.ConstantTimeCompare(sum[:], check) != 1 {
		return nil, errJKSPassword
	}
	return out, nil
}
