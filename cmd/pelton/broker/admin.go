package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// admin serves /metrics, /healthz and /debug/pprof on a listener of its own, off the shards.
type admin struct {
	listener net.Listener
	server   *http.Server
}

func (b *Broker) serveAdmin() error {
	addr := b.config.Str("admin.listener")
	if addr == "" {
		return nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("admin.listener %s: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		if _, err := b.perf.WriteTo(w); err != nil {
			b.log.Debug("metrics page", "err", err.Error())
		}
	})
	mux.HandleFunc("GET /healthz", b.healthz)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	b.admin = &admin{listener: l, server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}}
	b.group.Go("admin", func(context.Context) {
		if err := b.admin.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			b.log.Error("admin listener", "err", err.Error())
		}
	})
	return nil
}

// healthz is 200 while the broker is registered and every log directory is online.
func (b *Broker) healthz(w http.ResponseWriter, _ *http.Request) {
	for _, d := range b.logs.Dirs() {
		if d.Offline != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, "log directory %s is offline: %v\n", d.Path, d.Offline)
			return
		}
	}
	img := b.api.Image()
	if img.Brokers[b.id()] == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "not registered with coordination")
		return
	}
	if _, err := io.WriteString(w, "ok\n"); err != nil {
		b.log.Debug("health page", "err", err.Error())
	}
}

func (a *admin) addr() string { return a.listener.Addr().String() }

func (a *admin) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = a.server.Shutdown(ctx) // what is left of a page is cut off with the process
}
