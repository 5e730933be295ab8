package server

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/zk/ensemble"
)

// TestSecurePortReadsItsStoresAgain changes the certificate under a running server.
func TestSecurePortReadsItsStoresAgain(t *testing.T) {
	p := newPKI(t)
	s := start(t, t.TempDir(), func(o *Options) { p.options(o); o.TLS.Reload = true })
	defer stop(t, s)
	serial := func() int64 {
		t.Helper()
		c, err := tls.Dial("tcp", s.SecureAddr().String(), &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{p.client}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != 2 {
		t.Fatalf("certificate %d", got)
	}
	caKey, caDER := p.make(t, 1, pkix.Name{CommonName: "authority"}, nil, nil)
	ca, err := x509.ParseCertificate(caDER)
	if err != nil {
		t.Fatal(err)
	}
	key, der := p.make(t, 77, pkix.Name{CommonName: "localhost", Organization: []string{"renewed"}}, ca, caKey)
	p.write(t, "server.pem", der, key)
	if got := serial(); got != 77 {
		t.Fatalf("certificate %d after it was renewed", got)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "server.pem"), []byte("half a fi"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 77 {
		t.Fatalf("certificate %d after the file was broken", got)
	}
}

// TestEnsembleTalksByTLS has sslQuorum on, from the words of zoo.cfg.
func TestEnsembleTalksByTLS(t *testing.T) {
	p := newPKI(t)
	r := newRig(t, []uint64{1, 2, 3}, nil)
	r.tune = func(_ int, o *Options) {
		for _, kv := range [][2]string{{"sslQuorum", "true"}, {"ssl.quorum.keyStore.location", filepath.Join(p.dir, "server.pem")}, {"ssl.quorum.trustStore.location", filepath.Join(p.dir, "trust.pem")}} {
			if known, err := o.Property(kv[0], kv[1]); !known || err != nil {
				t.Errorf("%s: %v %v", kv[0], known, err)
			}
		}
	}
	r.start(0, 1, 2)
	lead := r.leader(0, 1, 2)
	c := r.dial((lead + 1) % 3)
	again(t, func() (string, error) { return c.Create("/a", nil, 0, zk.WorldACL(zk.PermAll)) })
	conn, err := tls.Dial("tcp", r.configs[lead].Me().PeerAddr(), &tls.Config{RootCAs: p.pool, ServerName: "localhost", Certificates: []tls.Certificate{p.client}})
	if err != nil {
		t.Fatalf("the peer port does not speak TLS: %v", err)
	}
	_ = conn.Close()
}

// TestEnsembleWithoutAKey has certificates alone. A session goes on at every server, and after all of them were away, since what its password is made
// with was agreed on and is kept.
func TestEnsembleWithoutAKey(t *testing.T) {
	p := newPKI(t)
	r := newRig(t, []uint64{1, 2, 3}, nil)
	r.tune = func(_ int, o *Options) {
		o.Ensemble.Key, o.Ensemble.Mutual, o.SSLQuorum = nil, true, true
		o.MinSessionTimeoutMs, o.MaxSessionTimeoutMs = 60_000, 60_000 // it outlives a slow machine
		o.QuorumTLS = TLSOptions{KeyStore: filepath.Join(p.dir, "server.pem"), TrustStore: filepath.Join(p.dir, "trust.pem")}
	}
	for i := range r.configs {
		r.configs[i].KeepEntries = 5 // what the lost disk is told is the state, not the log
	}
	r.start(0, 1, 2)
	r.leader(0, 1, 2)
	c := r.dial(0, 1)
	for i := range 20 {
		again(t, func() (*zk.Stat, error) { return c.Set("/", []byte{byte(i)}, -1) })
	}
	c.Close()
	// A server that loses its leader for a moment closes its connections: then again.
	ask := func(i int, of *rawSession) *rawSession {
		t.Helper()
		for until := time.Now().Add(20 * time.Second); ; {
			r.role(i)
			s, err := connectRaw(t, r.servers[i], of)
			if err == nil {
				return s
			}
			if time.Now().After(until) {
				t.Fatal(err)
			}
		}
	}
	first := ask(0, nil)
	for round := range 2 {
		for i := range 3 {
			s := ask(i, first)
			if s.id != first.id || !bytes.Equal(s.pass, first.pass) {
				t.Fatalf("round %d: server %d answers session %x with %x", round, i, first.id, s.id)
			}
			_ = s.c.Close()
		}
		guess := *first
		guess.pass = password(make([]byte, secretSize), first.id)
		if s := ask(round, &guess); s.id != 0 {
			t.Fatalf("round %d: a password of another secret opens session %x", round, s.id)
		}
		for i := range 3 {
			r.stop(i)
		}
		if round == 0 {
			r.loseDisk(2) // it is told everything, the secret included
			r.start(0, 1)
			r.leader(0, 1)
			r.start(2)
		}
	}
}

// TestTLSSettingsThatCannotBe are refused in words.
func TestTLSSettingsThatCannotBe(t *testing.T) {
	p := newPKI(t)
	p12 := filepath.Join(p.dir, "store.p12")
	if err := os.WriteFile(p12, []byte{0x30, 0x82, 0x01, 0x02, 0x02, 0x01, 0x03}, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]TLSOptions{
		"keyStore.location must be set":                                     {TrustStore: filepath.Join(p.dir, "trust.pem")},
		"is neither PEM nor JKS":                                            {KeyStore: p12, TrustStore: filepath.Join(p.dir, "trust.pem")},
		"PKCS12 stores are not read; convert it: openssl pkcs12 -in " + p12: {KeyStore: p12, KeyStoreType: "PKCS12", TrustStore: filepath.Join(p.dir, "trust.pem")},
		"trustStore.location must be set":                                   {KeyStore: filepath.Join(p.dir, "server.pem")},
		"holds no private key":                                              {KeyStore: filepath.Join(p.dir, "trust.pem"), TrustStore: filepath.Join(p.dir, "trust.pem")},
		"no such file":                                                      {KeyStore: filepath.Join(p.dir, "none.pem")},
		"unknown cipher suite TLS_OF_MY_OWN_MAKE":                           {KeyStore: filepath.Join(p.dir, "server.pem"), ClientAuth: "none", Suites: []string{"TLS_OF_MY_OWN_MAKE"}},
	} {
		opts := Options{SSLQuorum: true, QuorumTLS: o}
		opts.setDefaults()
		if _, err := opts.peerTLS(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	stores := TLSOptions{KeyStore: filepath.Join(p.dir, "server.pem"), TrustStore: filepath.Join(p.dir, "trust.pem")}
	loose, want := stores, stores
	loose.NoHostNames, want.ClientAuth = true, "want"
	for name, q := range map[string]TLSOptions{"any host": loose, "any client": want} {
		opts := Options{SSLQuorum: true, QuorumTLS: q, Ensemble: &ensemble.Config{Mutual: true}}
		opts.setDefaults()
		if _, err := opts.peerTLS(); !errors.Is(err, ErrTLS) || !strings.Contains(err.Error(), "keyFile") {
			t.Errorf("%s and no key: %v", name, err)
		}
		opts.Ensemble.Mutual = false
		if _, err := opts.peerTLS(); err != nil {
			t.Errorf("%s with a key: %v", name, err)
		}
	}
	var o Options
	if _, err := o.Property("portUnification", "true"); err == nil {
		t.Error("portUnification is taken")
	}
}
