package server

import (
	"net"
	"net/http"
	"net/netip"
	"time"
)

// page is one HTTP server.
type page struct {
	listener net.Listener
	http     *http.Server
}

// Bounds of a request: these pages are asked by people and scrapers, each answer is small.
const (
	pageHeaderWithin = 5 * time.Second
	pageAnswerWithin = 30 * time.Second
	pageHeaderMax    = 16 << 10
)

func openPage(addr string, h http.Handler) (*page, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &page{listener: l, http: &http.Server{Handler: h, ReadHeaderTimeout: pageHeaderWithin, ReadTimeout: pageAnswerWithin,
		WriteTimeout: pageAnswerWithin, IdleTimeout: pageAnswerWithin, MaxHeaderBytes: pageHeaderMax}}, nil
}

func (p *page) serve() { _ = p.http.Serve(p.listener) }

func (p *page) close() {
	_ = p.http.Close()
	_ = p.listener.Close()
}

func (p *page) addr() netip.AddrPort {
	if p == nil {
		return netip.AddrPort{}
	}
	return p.listener.Addr().(*net.TCPAddr).AddrPort()
}
