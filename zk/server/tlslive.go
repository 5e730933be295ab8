package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/ensemble"
)

// liveTLS gives out the settings of a port. With Reload they are read again when one of the files has changed, for the connections that come
// then; files that cannot be read leave the old settings in place.
type liveTLS struct {
	fs  disk.FS
	o   *TLSOptions
	log *slog.Logger
	mu  struct {
		sync.Mutex
		config *tls.Config
		stamp  string
	}
}

func newLiveTLS(fs disk.FS, o *TLSOptions, log *slog.Logger) (*liveTLS, error) {
	l := &liveTLS{fs: fs, o: o, log: log}
	l.mu.stamp = l.stamp()
	var err error
	l.mu.config, err = o.config(fs)
	return l, err
}

// stamp changes when a file was written.
func (l *liveTLS) stamp() string {
	out := ""
	for _, path := range []string{l.o.KeyStore, l.o.TrustStore, l.o.KeyStorePasswordPath, l.o.TrustStorePasswordPath} {
		if path == "" {
			continue
		}
		if info, err := l.fs.Stat(path); err == nil {
			out += fmt.Sprintf("%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
	}
	return out
}

// current is what a new connection gets.
func (l *liveTLS) current() *tls.Config {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.o.Reload {
		return l.mu.config
	}
	if stamp := l.stamp(); stamp != l.mu.stamp {
		l.mu.stamp = stamp
		config, err := l.o.config(l.fs)
		if err != nil {
			l.log.Warn("zk TLS: the stores have changed and cannot be used; those read before stay", "err", err)
			return l.mu.config
		}
		l.log.Info("zk TLS: the stores were read again", "keyStore", l.o.KeyStore)
		l.mu.config = config
	}
	return l.mu.config
}

// peerTLS is how the members of an ensemble talk: as their settings say when sslQuorum is on, else in the clear, proven by the key alone. Without a
// key it is the certificates that must say which member is which.
func (o *Options) peerTLS() (*ensemble.PeerTLS, error) {
	if !o.SSLQuorum {
		return nil, nil
	}
	mutual := o.Ensemble != nil && o.Ensemble.Mutual
	if mutual && (o.QuorumTLS.NoHostNames || o.QuorumTLS.ClientAuth != "" && o.QuorumTLS.ClientAuth != "need") {
		return nil, fmt.Errorf("sslQuorum: %w: with ssl.quorum.hostnameVerification=false, or a ssl.quorum.clientAuth other than need, a certificate does not say which server it is for: pelton.ensemble.keyFile is needed as well", ErrTLS)
	}
	live, err := newLiveTLS(o.FS, &o.QuorumTLS, o.Log)
	if err != nil {
		return nil, fmt.Errorf("sslQuorum: %w", err)
	}
	return &ensemble.PeerTLS{Config: live.current, Names: !o.QuorumTLS.NoHostNames, Mutual: mutual}, nil
}
