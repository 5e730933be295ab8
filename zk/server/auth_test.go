package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/zk/jute"
)

// wire is a connection with a session that speaks raw frames.
type wire struct {
	t *testing.T
	c net.Conn
}

func dialWire(t *testing.T, s *Server) *wire {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	w := &wire{t, c}
	b := jute.AppendLong(jute.AppendInt(jute.AppendLong(jute.AppendInt(nil, 0), 0), 10000), 0)
	w.frame(jute.AppendBool(jute.AppendBuffer(b, make([]byte, 16)), false))
	w.read()
	return w
}

func (w *wire) frame(b []byte) {
	w.t.Helper()
	if _, err := w.c.Write(append(jute.AppendInt(nil, int32(len(b))), b...)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) read() []byte {
	w.t.Helper()
	var head [4]byte
	if _, err := io.ReadFull(w.c, head[:]); err != nil {
		w.t.Fatal(err)
	}
	r := jute.NewReader(head[:])
	b := make([]byte, r.Int())
	if _, err := io.ReadFull(w.c, b); err != nil {
		w.t.Fatal(err)
	}
	return b
}

// sasl sends a token and returns the code and the token of the answer.
func (w *wire) sasl(token string) (jute.Code, string) {
	w.t.Helper()
	w.frame(jute.AppendBuffer(jute.AppendInt(jute.AppendInt(nil, 7), jute.OpSASL), []byte(token)))
	b := w.read()
	r := jute.NewReader(b)
	xid, _, code := r.Int(), r.Long(), jute.Code(r.Int())
	if xid != 7 {
		w.t.Fatalf("xid %d", xid)
	}
	return code, string(r.Buffer())
}

func (w *wire) ended() {
	w.t.Helper()
	_ = w.c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := w.c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		w.t.Fatalf("the connection goes on: %d %v", n, err)
	}
}

// answer is what an honest client of RFC 2831 says to a challenge.
func answer(t *testing.T, challenge, user, password string) (token string, rspauth string) {
	t.Helper()
	f, ok := digestFields(challenge)
	if !ok || f["realm"] != "zk-sasl-md5" || f["algorithm"] != "md5-sess" || f["charset"] != "utf-8" || len(f["nonce"]) < 20 {
		t.Fatalf("challenge %q", challenge)
	}
	r := map[string]string{"username": user, "realm": f["realm"], "nonce": f["nonce"], "cnonce": "abc", "nc": "00000001", "digest-uri": "zookeeper/zk-sasl-md5", "charset": "utf-8", "qop": "auth"}
	return `charset=utf-8,username="` + user + `",realm="zk-sasl-md5",nonce="` + f["nonce"] + `",nc=00000001,cnonce="abc",digest-uri="zookeeper/zk-sasl-md5",maxbuf=65536,response=` +
		digestResponse(r, password, "AUTHENTICATE:") + `,qop=auth`, "rspauth=" + digestResponse(r, password, ":")
}

func TestDigestResponseIsThatOfTheRFC(t *testing.T) {
	// The example of RFC 2831, section 4.
	f := map[string]string{"username": "chris", "realm": "elwood.innosoft.com", "nonce": "OA6MG9tEQGm2hh", "nc": "00000001", "cnonce": "OA6MHXh6VqTrRk",
		"digest-uri": "imap/elwood.innosoft.com", "qop": "auth", "charset": "utf-8"}
	if got := digestResponse(f, "secret", "AUTHENTICATE:"); got != "d388dad90d4bbd760a152321f2143af7" {
		t.Fatalf("response %s", got)
	}
	if got := digestResponse(f, "secret", ":"); got != "ea40f60335c427b5527b84dbabcdfffd" {
		t.Fatalf("rspauth %s", got)
	}
}

func saslOptions(o *Options) {
	o.Schemes = []string{"sasl"}
	o.SASLUsers = map[string]string{"kafka": "kafka-secret", "boss": "b"}
	o.SuperUser = "boss"
}

func TestSASLProvesAName(t *testing.T) {
	s := start(t, t.TempDir(), saslOptions)
	defer stop(t, s)
	w := dialWire(t, s)
	code, challenge := w.sasl("")
	token, rspauth := answer(t, challenge, "kafka", "kafka-secret")
	if code != jute.OK {
		t.Fatalf("challenge: %v", code)
	}
	if code, got := w.sasl(token); code != jute.OK || got != rspauth {
		t.Fatalf("%v %q, want %q", code, got, rspauth)
	}
	acl := []jute.ACL{{Perms: jute.PermAll, ID: jute.ID{Scheme: "auth"}}}
	w.frame(jute.AppendInt(jute.AppendACL(jute.AppendBuffer(jute.AppendText(jute.AppendInt(jute.AppendInt(nil, 8), jute.OpCreate), "/mine"), []byte("x")), acl), 0))
	r := jute.NewReader(w.read())
	r.Int()
	r.Long()
	if code := jute.Code(r.Int()); code != jute.OK {
		t.Fatalf("create with the own name: %v", code)
	}
	c, _ := dial(t, s)
	defer c.Close()
	if _, _, err := c.Get("/mine"); !errors.Is(err, zk.ErrNoAuth) {
		t.Fatalf("read by nobody: %v", err)
	}
	if list, _, err := c.GetACL("/"); err != nil || len(list) == 0 {
		t.Fatalf("%v %v", list, err)
	}
	boss := dialWire(t, s)
	_, challenge = boss.sasl("")
	token, _ = answer(t, challenge, "boss", "b")
	if code, _ := boss.sasl(token); code != jute.OK {
		t.Fatalf("boss: %v", code)
	}
	boss.frame(jute.AppendBool(jute.AppendText(jute.AppendInt(jute.AppendInt(nil, 9), jute.OpGetData), "/mine"), false))
	r = jute.NewReader(boss.read())
	r.Int()
	r.Long()
	if code := jute.Code(r.Int()); code != jute.OK {
		t.Fatalf("read by the superuser: %v", code)
	}
}

func TestSASLRefuses(t *testing.T) {
	s := start(t, t.TempDir(), saslOptions)
	defer stop(t, s)
	for name, change := range map[string]func(string) string{
		"wrong password": func(c string) string { token, _ := answer(t, c, "kafka", "wrong"); return token },
		"unknown user":   func(c string) string { token, _ := answer(t, c, "nobody", ""); return token },
		"nonsense":       func(string) string { return "junk=" },
		"old nonce": func(c string) string {
			token, _ := answer(t, c, "kafka", "kafka-secret")
			return strings.Replace(token, `nonce="`, `nonce="x`, 1)
		},
		"other service": func(c string) string {
			token, _ := answer(t, c, "kafka", "kafka-secret")
			return strings.Replace(token, "zookeeper/", "ldap/", 1)
		},
		"too long": func(string) string { return strings.Repeat("a", saslTokenMax+1) },
	} {
		t.Run(name, func(t *testing.T) {
			w := dialWire(t, s)
			_, challenge := w.sasl("")
			if code, _ := w.sasl(change(challenge)); code != jute.AuthFailed {
				t.Fatalf("code %v", code)
			}
			w.ended()
		})
	}
}

func TestRequiredSchemesComeFirst(t *testing.T) {
	s := start(t, t.TempDir(), func(o *Options) { saslOptions(o); o.RequiredSchemes = []string{"sasl"} })
	defer stop(t, s)
	w := dialWire(t, s)
	w.frame(jute.AppendInt(jute.AppendInt(nil, 3), jute.OpPing))
	r := jute.NewReader(w.read())
	r.Int()
	r.Long()
	if code := jute.Code(r.Int()); code != jute.SessionClosedRequireSASL {
		t.Fatalf("code %v", code)
	}
	w.ended()
}

func TestParseJAAS(t *testing.T) {
	text := `// comment
Client { a.B required username="x" password="y"; };
/* more */ Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required
  user_super="admin;}secret" user_kafka='k' debug=true;
};`
	users, found, err := ParseJAAS(text, "Server")
	if err != nil || !found || len(users) != 2 || users["super"] != "admin;}secret" || users["kafka"] != "k" {
		t.Fatalf("%v %v %v", users, found, err)
	}
	if _, found, err := ParseJAAS(text, "Other"); found || err != nil {
		t.Fatalf("%v %v", found, err)
	}
	for _, bad := range []string{`Server {`, `Server`, `Server { x "`} {
		if _, _, err := ParseJAAS(bad, "Server"); !errors.Is(err, ErrJAAS) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// pki is an authority with a server's and a client's certificate, as PEM files.
type pki struct {
	dir    string
	pool   *x509.CertPool
	client tls.Certificate
}

func newPKI(t *testing.T) *pki {
	t.Helper()
	p := &pki{dir: t.TempDir(), pool: x509.NewCertPool()}
	caKey, caDER := p.make(t, 1, pkix.Name{CommonName: "authority"}, nil, nil)
	ca, _ := x509.ParseCertificate(caDER)
	p.pool.AddCert(ca)
	p.write(t, "trust.pem", caDER, nil)
	key, der := p.make(t, 2, pkix.Name{CommonName: "localhost"}, ca, caKey)
	p.write(t, "server.pem", der, key)
	key, der = p.make(t, 3, pkix.Name{CommonName: "joe", OrganizationalUnit: []string{"dev"}, Country: []string{"DE"}}, ca, caKey)
	p.client = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return p
}

func (p *pki) make(t *testing.T, n int64, name pkix.Name, ca *x509.Certificate, caKey *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(n), Subject: name, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: ca == nil,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	if ca == nil {
		ca, caKey = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, ca, &key.PublicKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	return key, der
}

func (p *pki) write(t *testing.T, name string, der []byte, key *ecdsa.PrivateKey) {
	t.Helper()
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if key != nil {
		k, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: k})...)
	}
	if err := os.WriteFile(filepath.Join(p.dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *pki) options(o *Options) {
	o.Schemes = []string{"x509"}
	o.TLS = TLSOptions{Addr: "127.0.0.1:0", KeyStore: filepath.Join(p.dir, "server.pem"), TrustStore: filepath.Join(p.dir, "trust.pem")}
}

func TestTLSClientsAreTheirCertificates(t *testing.T) {
	p := newPKI(t)
	s := start(t, t.TempDir(), p.options)
	defer stop(t, s)
	config := &tls.Config{RootCAs: p.pool, Certificates: []tls.Certificate{p.client}, ServerName: "localhost"}
	c, _, err := zk.Connect([]string{s.SecureAddr().String()}, 10*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(func(network, addr string, d time.Duration) (net.Conn, error) {
		return tls.Dial(network, addr, config)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	big := strings.Repeat("x", 1<<20-200)
	if _, err := c.Create("/mine", []byte(big), 0, zk.AuthACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	list, _, err := c.GetACL("/mine")
	if err != nil || len(list) != 1 || list[0].Scheme != "x509" || list[0].ID != "CN=joe,OU=dev,C=DE" {
		t.Fatalf("%v %v", list, err)
	}
	if data, _, err := c.Get("/mine"); err != nil || string(data) != big {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	plain, _ := dial(t, s)
	defer plain.Close()
	if _, _, err := plain.Get("/mine"); !errors.Is(err, zk.ErrNoAuth) {
		t.Fatalf("read by nobody: %v", err)
	}
}

func TestTLSRefusesStrangers(t *testing.T) {
	p := newPKI(t)
	s := start(t, t.TempDir(), p.options)
	defer stop(t, s)
	c, err := tls.Dial("tcp", s.SecureAddr().String(), &tls.Config{RootCAs: p.pool, ServerName: "localhost"})
	if err == nil { // TLS 1.3 tells the client with its first read
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err = c.Read(make([]byte, 1))
	}
	if err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Fatalf("a client without a certificate: %v", err)
	}
}

func TestKeyStoresOfJava(t *testing.T) {
	b, err := os.ReadFile("testdata/server.jks")
	if err != nil {
		t.Fatal(err)
	}
	s, err := parseJKS(b, "changeit")
	if err != nil || len(s.keys) != 1 || s.keys[0].Leaf.Subject.CommonName != "localhost" {
		t.Fatalf("%+v %v", s, err)
	}
	if _, err := parseJKS(b, "wrong"); !errors.Is(err, errJKSPassword) {
		t.Fatalf("a wrong password: %v", err)
	}
	trust, err := os.ReadFile("testdata/trust.jks")
	if err != nil {
		t.Fatal(err)
	}
	if s, err = parseJKS(trust, ""); err != nil || len(s.certs) != 1 {
		t.Fatalf("%+v %v", s, err)
	}
}

func FuzzJKS(f *testing.F) {
	for _, name := range []string{"testdata/server.jks", "testdata/trust.jks"} {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "changeit")
		f.Add(b, "")
	}
	f.Fuzz(func(t *testing.T, b []byte, password string) {
		s, err := parseJKS(b, password)
		if (s == nil) == (err == nil) {
			t.Fatalf("%v %v", s, err)
		}
	})
}

func FuzzDigestFields(f *testing.F) {
	f.Add(`realm="a\"b",nonce=x, qop=auth`)
	f.Fuzz(func(t *testing.T, s string) {
		if m, ok := digestFields(s); ok && len(m) == 0 {
			t.Fatal("fields of nothing")
		}
	})
}

func fetch(t *testing.T, url string) (string, *http.Response) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), r
}
