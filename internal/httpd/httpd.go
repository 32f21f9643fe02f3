// Package httpd serves HTTP beside a process's work: a listener that is had at the start, timeouts, and an end that lets
// answers be finished.
package httpd

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout = 5 * time.Second  // to send a request's headers
	readTimeout   = 30 * time.Second // to send a request
	writeTimeout  = 30 * time.Second // from a request's headers to the end of its answer
	idleTimeout   = 2 * time.Minute  // between two requests on a connection
	maxHeader     = 64 << 10         // bytes
)

// Config says where and how to serve.
type Config struct {
	Addr   string        // host:port; without a host every interface, port 0 is any free one. Required
	Grace  time.Duration // how long begun answers may go on after the end. Default 3s
	Logger *slog.Logger  // hears of broken connections and panics. Default none
}

// Server listens from its making on and serves while it runs.
type Server struct {
	cfg      Config
	listener net.Listener
}

// Listen takes the address. Who connects before Run waits. Errors: those of net.ListenConfig.Listen; a taken port is
// syscall.EADDRINUSE.
func Listen(ctx context.Context, cfg Config) (*Server, error) {
	cfg.Grace = cmp.Or(cfg.Grace, 3*time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, err
	}
	return &Server{cfg: cfg, listener: l}, nil
}

// Addr is where the server listens, with the port it has.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Run serves until ctx ends, lets begun answers finish for as long as Grace, then cuts them. It can be called once.
// Errors: what ended it before ctx did.
func (s *Server) Run(ctx context.Context, h http.Handler) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelWarn),
	}
	defer server.Close()
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Grace)
		defer cancel()
		_ = server.Shutdown(grace) // what is left then is cut by Close
	})
	err := server.Serve(s.listener)
	if stop() {
		return err
	}
	<-stopped
	return nil
}

// Close gives the address back without having served. After Run it does nothing.
func (s *Server) Close() { _ = s.listener.Close() }

// Live answers 200 while the process serves at all. It asks nothing of Postgres, NSQ or nodes: an outage of these must
// not have every process restarted.
func Live(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, "ok\n") // who asked has gone
}
