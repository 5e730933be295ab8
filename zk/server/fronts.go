package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// fronts are the ways into the server beside its plain port.
type fronts struct {
	secure         *secure
	admin, metrics *page
}

// openFronts reads the JAAS file and binds the ports, so that a start fails before anything runs.
func (s *Server) openFronts() (err error) {
	if err := s.o.loadUsers(); err != nil {
		return err
	}
	if s.o.TLS.Addr != "" {
		if s.fronts.secure, err = openSecure(s); err != nil {
			return err
		}
	}
	a := &s.o.Admin
	if a.Enabled {
		if s.fronts.admin, err = openPage(a.Addr(), s.adminHandler()); err != nil {
			return fmt.Errorf("zk/server: admin server: %w", err)
		}
	}
	if a.Metrics {
		if s.fronts.metrics, err = openPage(a.MetricsAddr(), s.metricsHandler()); err != nil {
			return fmt.Errorf("zk/server: page of metrics: %w", err)
		}
	}
	return nil
}

// loadUsers reads the users that SASL knows.
func (o *Options) loadUsers() error {
	if o.JAASFile == "" || len(o.SASLUsers) > 0 {
		return nil
	}
	b, err := o.FS.ReadFile(o.JAASFile)
	if err != nil {
		return fmt.Errorf("zk/server: JAAS file: %w", err)
	}
	section := o.JAASSection
	if section == "" {
		section = "Server"
	}
	users, _, err := ParseJAAS(string(b), section)
	if err != nil {
		return fmt.Errorf("%s: %w", o.JAASFile, err)
	}
	o.SASLUsers = users
	return nil
}

func (s *Server) startFronts() {
	f := &s.fronts
	if f.secure != nil {
		s.group.Go("zk-accept-tls", f.secure.accept)
	}
	for name, p := range map[string]*page{"zk-admin": f.admin, "zk-metrics": f.metrics} {
		if p != nil {
			s.group.Go(name, func(context.Context) { p.serve() })
		}
	}
}

func (s *Server) closeFronts() {
	if s.fronts.secure != nil {
		_ = s.fronts.secure.listener.Close()
	}
	for _, p := range []*page{s.fronts.admin, s.fronts.metrics} {
		if p != nil {
			p.close()
		}
	}
}

// SecureAddr is where clients connect with TLS; the zero value when they cannot.
func (s *Server) SecureAddr() netip.AddrPort {
	if s.fronts.secure == nil {
		return netip.AddrPort{}
	}
	return s.fronts.secure.listener.Addr().(*net.TCPAddr).AddrPort()
}

// AdminAddr is where the admin server listens, MetricsAddr where the page of metrics is; the zero value when they are off.
func (s *Server) AdminAddr() netip.AddrPort { return s.fronts.admin.addr() }

// MetricsAddr is the address of the page of metrics.
func (s *Server) MetricsAddr() netip.AddrPort { return s.fronts.metrics.addr() }

// adoptSecure takes the plain end of a connection whose client came by TLS as subject.
func (l *loop) adoptSecure(fd int, remote netip.AddrPort, subject string) {
	l.arriving = arrival{secure: true, subject: subject}
	l.net.Adopt(fd, remote)
	l.arriving = arrival{}
}

// arrival is what is known of a connection before its first byte.
type arrival struct {
	secure  bool
	subject string // of the client's certificate
}

// errEnded is what a question to the loop gets when it has ended.
var errEnded = errors.New("zk/server: the server has ended")

// ask has fn run by the loop.
func ask[T any](s *Server, fn func(*loop) T) (out T, err error) {
	c := make(chan T, 1)
	if !s.mail.put(func(l *loop) { c <- fn(l) }) {
		return out, errEnded
	}
	select {
	case out = <-c:
		return out, nil
	case <-s.done:
		return out, errEnded
	}
}
