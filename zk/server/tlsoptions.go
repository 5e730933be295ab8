package server

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/pelton-broker/pelton/internal/disk"
)

// ErrTLS is wrapped by Start's error when the settings of the secure port cannot be carried out.
var ErrTLS = errors.New("zk/server: TLS settings")

// TLSOptions are the settings of the secure client port, ssl.* in zoo.cfg.
type TLSOptions struct {
	Addr string // secureClientPortAddress:secureClientPort; empty: no such port

	KeyStore, KeyStoreType, KeyStorePassword, KeyStorePasswordPath         string
	TrustStore, TrustStoreType, TrustStorePassword, TrustStorePasswordPath string
	ClientAuth                                                             string   // need (as when empty), want or none
	Protocol                                                               string   // ssl.protocol
	Protocols                                                              []string // ssl.enabledProtocols
	Suites                                                                 []string // ssl.ciphersuites
	// Reload reads the stores again when their files change: client.certReload, sslQuorumReloadCertFiles.
	Reload bool
	// NoHostNames is ssl.quorum.hostnameVerification=false: a member's certificate need not be for its host.
	NoHostNames bool
}

// property takes a name without "ssl.".
func (t *TLSOptions) property(name, value string) (known bool, err error) {
	words := map[string]*string{
		"keyStore.location": &t.KeyStore, "keyStore.type": &t.KeyStoreType, "keyStore.password": &t.KeyStorePassword, "keyStore.passwordPath": &t.KeyStorePasswordPath,
		"trustStore.location": &t.TrustStore, "trustStore.type": &t.TrustStoreType, "trustStore.password": &t.TrustStorePassword,
		"trustStore.passwordPath": &t.TrustStorePasswordPath, "protocol": &t.Protocol,
	}
	switch {
	case words[name] != nil:
		*words[name] = value
	case name == "clientAuth":
		switch t.ClientAuth = strings.ToLower(value); t.ClientAuth {
		case "need", "want", "none":
		default:
			return true, errors.New("must be need, want or none")
		}
	case name == "enabledProtocols":
		t.Protocols = splitList(value)
	case name == "ciphersuites":
		t.Suites = splitList(value)
	case name == "authProvider":
		if value != "x509" {
			return true, errors.New("must be x509")
		}
	case name == "crl" || name == "ocsp":
		if value == "true" {
			return true, errors.New("revocation is not checked here")
		}
	case name == "hostnameVerification":
		t.NoHostNames = value == "false"
	case name == "clientHostnameVerification" || name == "handshakeDetectionTimeoutMillis":
		// names of clients are not looked up, as by default in Apache's
	default:
		return false, nil
	}
	return true, nil
}

func splitList(s string) []string {
	var out []string
	for _, w := range strings.Split(s, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// config loads the stores and makes what crypto/tls wants.
func (t *TLSOptions) config(fs disk.FS) (*tls.Config, error) {
	if t.KeyStore == "" {
		return nil, fmt.Errorf("%w: ssl.keyStore.location must be set for the secure port", ErrTLS)
	}
	key, err := readStore(fs, t.KeyStore, t.KeyStoreType, t.KeyStorePassword, t.KeyStorePasswordPath)
	if err != nil {
		return nil, err
	}
	if len(key.keys) == 0 {
		return nil, fmt.Errorf("%w: %s holds no private key", ErrTLS, t.KeyStore)
	}
	c := &tls.Config{Certificates: key.keys, MinVersion: tls.VersionTLS12}
	switch t.ClientAuth {
	case "none":
	case "want":
		c.ClientAuth = tls.VerifyClientCertIfGiven
	default:
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if c.ClientAuth != tls.NoClientCert {
		if t.TrustStore == "" {
			return nil, fmt.Errorf("%w: ssl.trustStore.location must be set, or ssl.clientAuth=none", ErrTLS)
		}
		trust, err := readStore(fs, t.TrustStore, t.TrustStoreType, t.TrustStorePassword, t.TrustStorePasswordPath)
		if err != nil {
			return nil, err
		}
		c.ClientCAs = x509.NewCertPool()
		for _, cert := range trust.certs {
			c.ClientCAs.AddCert(cert)
		}
		c.RootCAs = c.ClientCAs // members are clients of each other
	}
	return c, t.versions(c)
}

func (t *TLSOptions) versions(c *tls.Config) error {
	numbers := map[string]uint16{"TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13, "TLS": 0}
	list := t.Protocols
	if len(list) == 0 && t.Protocol != "" {
		list = []string{t.Protocol}
	}
	for i, name := range list {
		v, ok := numbers[name]
		if !ok {
			return fmt.Errorf("%w: unknown protocol %s", ErrTLS, name)
		}
		if v == 0 {
			continue
		}
		if i == 0 {
			c.MinVersion, c.MaxVersion = v, v
		}
		c.MinVersion, c.MaxVersion = min(c.MinVersion, v), max(c.MaxVersion, v)
	}
	for _, name := range t.Suites {
		found := false
		for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
			if s.Name == name {
				c.CipherSuites, found = append(c.CipherSuites, s.ID), true
			}
		}
		if !found {
			return fmt.Errorf("%w: unknown cipher suite %s", ErrTLS, name)
		}
	}
	return nil
}

// store is what a key or trust store holds.
type store struct {
	keys  []tls.Certificate
	certs []*x509.Certificate
}

// readStore reads a PEM or JKS file; which one it is says kind, else its bytes do.
func readStore(fs disk.FS, path, kind, password, passwordPath string) (*store, error) {
	b, err := fs.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTLS, err)
	}
	if passwordPath != "" {
		p, err := fs.ReadFile(passwordPath)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTLS, err)
		}
		password = strings.TrimRight(string(p), "\r\n")
	}
	var s *store
	switch {
	case strings.EqualFold(kind, "JKS") || kind == "" && isJKS(b):
		s, err = parseJKS(b, password)
	case strings.EqualFold(kind, "PEM") || kind == "" && strings.Contains(string(b), "-----BEGIN "):
		s, err = parsePEM(b)
	case strings.EqualFold(kind, "PKCS12"):
		err = fmt.Errorf("PKCS12 stores are not read; %s", toPEM(path))
	default:
		err = fmt.Errorf("is neither PEM nor JKS; %s", toPEM(path))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrTLS, path, err)
	}
	return s, nil
}

// toPEM says how a store becomes one that is read here.
func toPEM(path string) string {
	return fmt.Sprintf("convert it: openssl pkcs12 -in %s -nodes -out STORE.pem, and name that file", path)
}

func parsePEM(b []byte) (*store, error) {
	s := &store{}
	var key *pem.Block
	var chain [][]byte
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			break
		}
		switch {
		case block.Type == "CERTIFICATE":
			cert, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, err
			}
			s.certs, chain = append(s.certs, cert), append(chain, block.Bytes)
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			key = block
		}
	}
	if key == nil {
		return s, nil
	}
	private, err := parseKey(key.Bytes)
	if err != nil || len(chain) == 0 {
		return nil, errors.Join(errors.New("the private key cannot be used: it is encrypted, or no certificate stands beside it"), err)
	}
	s.keys = []tls.Certificate{{Certificate: chain, PrivateKey: private, Leaf: s.certs[0]}}
	return s, nil
}

func parseKey(der []byte) (any, error) {
	if k, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return k, nil
	}
	if k, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return k, nil
	}
	return x509.ParseECPrivateKey(der)
}
