package ensemble

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
)

// PeerTLS covers the links with TLS, each end with a certificate, beside the proof of the key, or in its place.
type PeerTLS struct {
	// Config is asked for every link; it is used at both ends.
	Config func() *tls.Config
	// Names says that a member's certificate must be for the host in its server line. No name is ever looked up.
	Names bool
	// Mutual says that no key is shared: both ends must have a certificate, and Names must be set, so that nobody speaks for another host.
	Mutual bool
}

// key is what the two ends of a connection prove to each other: the ensemble's, or one that TLS gives to them and to nobody else, so that the
// proof of the numbers is bound to the certificates.
func (p *PeerTLS) key(c net.Conn, shared []byte) ([]byte, error) {
	if p == nil || !p.Mutual {
		return shared, nil
	}
	covered, is := c.(*tls.Conn)
	if !is {
		return nil, fmt.Errorf("%w: TLS: none", ErrStranger)
	}
	st := covered.ConnectionState()
	key, err := st.ExportKeyingMaterial("EXPORTER-pelton-ensemble", nil, 32)
	if err != nil {
		return nil, fmt.Errorf("%w: TLS: %w", ErrStranger, err)
	}
	return key, nil
}

// dial covers a connection that goes to host.
func (p *PeerTLS) dial(ctx context.Context, c net.Conn, host string) (net.Conn, error) {
	if p == nil {
		return c, nil
	}
	config := p.Config().Clone()
	config.ServerName = host
	if !p.Names {
		roots := config.RootCAs
		config.InsecureSkipVerify = true // the name alone: the chain is checked below
		config.VerifyConnection = func(s tls.ConnectionState) error {
			more := x509.NewCertPool()
			for _, c := range s.PeerCertificates[1:] {
				more.AddCert(c)
			}
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: more})
			return err
		}
	}
	covered := tls.Client(c, config)
	if err := covered.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("%w: TLS: %w", ErrStranger, err)
	}
	return covered, nil
}

// accept covers a connection that came.
func (p *PeerTLS) accept(ctx context.Context, c net.Conn) (net.Conn, error) {
	if p == nil {
		return c, nil
	}
	covered := tls.Server(c, p.Config())
	if err := covered.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("%w: TLS: %w", ErrStranger, err)
	}
	return covered, nil
}

// named says whether the certificate of a connection that came is that of the member it speaks for, whose host is in its server line.
func (p *PeerTLS) named(c net.Conn, host string) error {
	covered, is := c.(*tls.Conn)
	if p == nil || !p.Names || !is {
		return nil
	}
	certs := covered.ConnectionState().PeerCertificates
	if len(certs) == 0 {
		if p.Mutual {
			return fmt.Errorf("%w: TLS: no certificate", ErrStranger)
		}
		return nil // ssl.quorum.clientAuth does not ask for one
	}
	if err := certs[0].VerifyHostname(host); err != nil {
		return fmt.Errorf("%w: TLS: %w", ErrStranger, err)
	}
	return nil
}
