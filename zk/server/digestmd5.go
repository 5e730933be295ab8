package server

import (
	"crypto/md5"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"strings"
)

const (
	// saslRealm and saslURI are what ZooKeeper's clients and servers name each other by.
	saslRealm = "zk-sasl-md5"
	saslURI   = "zookeeper/" + saslRealm
	// saslTokenMax bounds a client's token: a response is some 300 bytes.
	saslTokenMax = 4096
)

// errSASL is the end of an exchange that proves nothing.
var errSASL = errors.New("zk/server: SASL exchange refused")

// digestMD5 is the server's side of one DIGEST-MD5 exchange (RFC 2831), quality of protection auth alone.
type digestMD5 struct {
	users map[string]string
	nonce string
	user  string // proven, once done
	done  bool
}

// step takes the client's token and returns the server's next one.
func (d *digestMD5) step(token []byte, random io.Reader) ([]byte, error) {
	switch {
	case d.done || len(token) > saslTokenMax:
		return nil, errSASL
	case d.nonce == "":
		if len(token) > 0 {
			return nil, errSASL
		}
		raw := make([]byte, 30)
		if _, err := io.ReadFull(random, raw); err != nil {
			return nil, err
		}
		d.nonce = base64.RawURLEncoding.EncodeToString(raw)
		return []byte(`realm="` + saslRealm + `",nonce="` + d.nonce + `",charset=utf-8,algorithm=md5-sess`), nil
	}
	return d.verify(token)
}

func (d *digestMD5) verify(token []byte) ([]byte, error) {
	f, ok := digestFields(string(token))
	if !ok || f["nonce"] != d.nonce || f["realm"] != saslRealm || f["nc"] != "00000001" || f["cnonce"] == "" ||
		!strings.EqualFold(f["digest-uri"], saslURI) || f["qop"] != "" && f["qop"] != "auth" {
		return nil, errSASL
	}
	password, known := d.users[f["username"]]
	want := digestResponse(f, password, "AUTHENTICATE:")
	if subtle.ConstantTimeCompare([]byte(want), []byte(f["response"])) != 1 || !known {
		return nil, errSASL
	}
	d.done, d.user = true, f["username"]
	return []byte("rspauth=" + digestResponse(f, password, ":")), nil
}

// digestResponse computes what either side must send: verb is empty but for a colon when the server answers.
func digestResponse(f map[string]string, password, verb string) string {
	text := latin1
	if f["charset"] == "" {
		text = func(s string) string { return s }
	}
	secret := md5.Sum([]byte(text(f["username"]) + ":" + text(f["realm"]) + ":" + text(password)))
	a1 := string(secret[:]) + ":" + f["nonce"] + ":" + f["cnonce"]
	if f["authzid"] != "" {
		a1 += ":" + f["authzid"]
	}
	qop := f["qop"]
	if qop == "" {
		qop = "auth"
	}
	return hexMD5(hexMD5(a1) + ":" + f["nonce"] + ":" + f["nc"] + ":" + f["cnonce"] + ":" + qop + ":" + hexMD5(verb+f["digest-uri"]))
}

func hexMD5(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// latin1 is the form that names and passwords are hashed in when all their characters are in ISO 8859-1, else UTF-8.
func latin1(s string) string {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xFF {
			return s
		}
		out = append(out, byte(r))
	}
	return string(out)
}

// digestFields parses name=value,name="value"; a name that comes twice is an error.
func digestFields(s string) (map[string]string, bool) {
	f := map[string]string{}
	for s = strings.TrimLeft(s, ", \t"); s != ""; s = strings.TrimLeft(s, ", \t") {
		name, rest, has := strings.Cut(s, "=")
		if name = strings.ToLower(strings.TrimSpace(name)); !has || name == "" {
			return nil, false
		}
		var value string
		if strings.HasPrefix(rest, `"`) {
			var ok bool
			if value, rest, ok = digestQuoted(rest[1:]); !ok {
				return nil, false
			}
		} else if i := strings.IndexByte(rest, ','); i >= 0 {
			value, rest = strings.TrimSpace(rest[:i]), rest[i:]
		} else {
			value, rest = strings.TrimSpace(rest), ""
		}
		if _, twice := f[name]; twice {
			return nil, false
		}
		f[name], s = value, rest
	}
	return f, len(f) > 0
}

func digestQuoted(s string) (value, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}
