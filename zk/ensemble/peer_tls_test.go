package ensemble

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// authority issues certificates for hosts.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	a.key, a.cert = a.issue(t, "")
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) issue(t *testing.T, host string) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "a member"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: a.cert == nil, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(host); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{host}
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert
}

// cover is the setting of a member whose certificate is for host, by the authority by, and which trusts a.
func (a *authority) cover(t *testing.T, by *authority, host string) *PeerTLS {
	t.Helper()
	key, cert := by.issue(t, host)
	c := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool, RootCAs: a.pool, MinVersion: tls.VersionTLS12}
	return &PeerTLS{Config: func() *tls.Config { return c }, Names: true}
}

const coverKey = "the key of the ensemble"

func TestCoveredLinksCarryMessages(t *testing.T) {
	ca := newAuthority(t)
	a, b := newCoveredEnd(t, 1, coverKey, ca.cover(t, ca, "127.0.0.1")), newCoveredEnd(t, 2, coverKey, ca.cover(t, ca, "127.0.0.1"))
	a.SetPeers(map[uint64]string{2: b.addr})
	b.SetPeers(map[uint64]string{1: a.addr})
	a.up(t, 2)
	b.up(t, 1)
	big := bytes.Repeat([]byte{7}, 3<<20)
	a.Send(Packet{To: 2, Body: big})
	if in := b.next(t); in.From != 1 || !bytes.Equal(in.Body, big) {
		t.Fatalf("%d bytes of %d", len(in.Body), in.From)
	}
	b.Send(Packet{To: 1, Body: []byte("back")})
	if in := a.next(t); string(in.Body) != "back" {
		t.Fatalf("%q", in.Body)
	}
}

// TestCoveredPortTakesNothingFromStrangers has somebody who knows the key, but has no certificate, one of another authority, or one of another host.
func TestCoveredPortTakesNothingFromStrangers(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	for name, stranger := range map[string]*PeerTLS{"in the clear": nil, "another authority": ca.cover(t, other, "127.0.0.1"), "another host": ca.cover(t, ca, "elsewhere.example"),
		"no certificate": {Config: func() *tls.Config { return &tls.Config{RootCAs: ca.pool} }}} {
		t.Run(name, func(t *testing.T) {
			e := newCoveredEnd(t, 1, coverKey, ca.cover(t, ca, "127.0.0.1"))
			friend := newCoveredEnd(t, 3, coverKey, ca.cover(t, ca, "127.0.0.1"))
			e.SetPeers(map[uint64]string{2: "127.0.0.1:1", 3: friend.addr})
			friend.SetPeers(map[uint64]string{1: e.addr})
			raw, err := net.Dial("tcp", e.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			_ = raw.SetDeadline(time.Now().Add(10 * time.Second))
			c, err := stranger.dial(t.Context(), raw, "127.0.0.1")
			if err == nil {
				var link []byte
				if link, err = dialHandshake(c, []byte(coverKey), 2, 1, rand.Reader); err == nil {
					_, _ = c.Write(appendFrame(nil, link, 0, []byte("injected")))
				}
			}
			if err == nil {
				t.Error("the stranger is let in")
			}
			friend.up(t, 1)
			friend.Send(Packet{To: 1, Body: []byte("of a member")})
			if in := e.next(t); in.From != 3 || string(in.Body) != "of a member" {
				t.Fatalf("%d %q came first", in.From, in.Body)
			}
		})
	}
}

// TestCoveredDialerTrustsNoStranger: whoever took a member's address gets no message either.
func TestCoveredDialerTrustsNoStranger(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	me := ca.cover(t, ca, "127.0.0.1")
	loose := *me
	loose.Names = false
	for name, c := range map[string]struct {
		me, far *PeerTLS
		wants   string
	}{
		"another authority":               {me, other.cover(t, other, "127.0.0.1"), "unknown authority"},
		"another host":                    {me, ca.cover(t, ca, "elsewhere.example"), "127.0.0.1"},
		"another authority, names loose":  {&loose, other.cover(t, other, "127.0.0.1"), "unknown authority"},
		"another host, and names do not":  {&loose, ca.cover(t, ca, "elsewhere.example"), ""},
		"the right one, and names matter": {me, ca.cover(t, ca, "127.0.0.1"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			lis, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer lis.Close()
			done := make(chan struct{})
			go func() {
				defer close(done)
				if far, err := lis.Accept(); err == nil {
					_, _ = c.far.accept(t.Context(), far)
					_ = far.Close()
				}
			}()
			near, err := net.Dial("tcp", lis.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer near.Close()
			_, err = c.me.dial(t.Context(), near, "127.0.0.1")
			_ = near.Close()
			<-done
			if c.wants == "" && err != nil || c.wants != "" && (err == nil || !strings.Contains(err.Error(), c.wants)) {
				t.Fatalf("%v, want %q", err, c.wants)
			}
		})
	}
}

// mutual is a's cover for a member that shares no key with the others.
func (a *authority) mutual(t *testing.T, by *authority, host string) *PeerTLS {
	p := a.cover(t, by, host)
	p.Mutual = true
	return p
}

// TestCertificatesAloneMakeMembers: without a key, what a member may say is what its certificate is for.
func TestCertificatesAloneMakeMembers(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	e, friend := newCoveredEnd(t, 1, "", ca.mutual(t, ca, "127.0.0.1")), newCoveredEnd(t, 3, "", ca.mutual(t, ca, "127.0.0.1"))
	e.SetPeers(map[uint64]string{2: "elsewhere.example:1", 3: friend.addr})
	friend.SetPeers(map[uint64]string{1: e.addr})
	type try struct {
		cover *PeerTLS
		from  uint64
	}
	no := &PeerTLS{Mutual: true, Names: true, Config: func() *tls.Config { return &tls.Config{RootCAs: ca.pool} }}
	for name, s := range map[string]try{"in the clear": {nil, 3}, "no certificate": {no, 3}, "another authority": {ca.mutual(t, other, "127.0.0.1"), 3},
		"another host's certificate": {ca.mutual(t, ca, "127.0.0.1"), 2}, "no member's host": {ca.mutual(t, ca, "other.example"), 3}, "an unknown number": {ca.mutual(t, ca, "127.0.0.1"), 9},
		"a guessed key": {ca.cover(t, ca, "127.0.0.1"), 3}} {
		t.Run(name, func(t *testing.T) {
			raw, err := net.Dial("tcp", e.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			_ = raw.SetDeadline(time.Now().Add(10 * time.Second))
			c, err := s.cover.dial(t.Context(), raw, "127.0.0.1")
			var key, link []byte
			if err == nil {
				key, err = s.cover.key(c, nil)
			}
			if err == nil {
				if link, err = dialHandshake(c, key, s.from, 1, rand.Reader); err == nil {
					_, _ = c.Write(appendFrame(nil, link, 0, []byte("injected")))
				}
			}
			if err == nil {
				t.Error("the stranger is let in")
			}
		})
	}
	friend.up(t, 1)
	friend.Send(Packet{To: 1, Body: []byte("of a member")})
	if in := e.next(t); in.From != 3 || string(in.Body) != "of a member" {
		t.Fatalf("%d %q came first", in.From, in.Body)
	}
}

// TestNoCertificateIsNoMember: a port that asked for no certificate, which the settings exclude, would still let nobody in.
func TestNoCertificateIsNoMember(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	if err := (&PeerTLS{Names: true, Mutual: true}).named(tls.Server(near, &tls.Config{}), "127.0.0.1"); !errors.Is(err, ErrStranger) {
		t.Fatalf("without a certificate: %v", err)
	}
	if _, err := (&PeerTLS{Mutual: true}).key(near, []byte(coverKey)); !errors.Is(err, ErrStranger) {
		t.Fatalf("without TLS: %v", err)
	}
}
