package ensemble

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
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
