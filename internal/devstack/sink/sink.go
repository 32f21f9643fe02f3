// Package sink is an HTTP payment provider for development and tests. It counts effects by idempotency key, so that
// "once" can be seen from outside, and it can be told to misbehave.
//
//	POST /any/path        a payment, JSON, with header Idempotency-Key: 200 {"id": key, "status": "done", "reference": "pay_…"}
//	GET /lookup/{key}     that payment, or 404; also /lookup?id=key
//	GET /effects          {"total": 2, "twice": 0, "effects": {"pi_1": 1, "pi_2": 1}}
//
// The same key with the same body is answered as before, with header Idempotent-Replayed: true, and does nothing; with
// another body it is 422. Without a key every call is an effect, counted under the body's "id".
package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Config says how the sink behaves. The zero value is a provider without faults on a free port.
type Config struct {
	Addr      string        // default 127.0.0.1:0
	Faults    Faults        // default none, see [ParseFaults]
	MaxFaults int           // faults in a row that one payment may meet, default 3
	Seed      uint64        // of the faults; the same seed meets the same faults
	Latency   time.Duration // of every answer to a POST, default 0
	Logger    *slog.Logger  // hears of every call at debug level, default none
}

// Sink is a running provider.
type Sink struct {
	URL string // http://host:port, without a slash

	cfg      Config
	ledger   *ledger
	server   *http.Server
	stopping chan struct{}
	served   chan struct{}
	stop     sync.Once
}

// Start listens and serves until Stop.
func Start(ctx context.Context, cfg Config) (*Sink, error) {
	cfg.Addr = cmp.Or(cfg.Addr, "127.0.0.1:0")
	cfg.MaxFaults = cmp.Or(cfg.MaxFaults, 3)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	s := &Sink{
		URL: "http://" + l.Addr().String(), cfg: cfg, ledger: newLedger(),
		stopping: make(chan struct{}), served: make(chan struct{}),
	}
	s.server = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug)}
	go func() {
		defer close(s.served)
		_ = s.server.Serve(l) // ends with ErrServerClosed
	}()
	return s, nil
}

// Effects counts what was done, by idempotency key: 1 each, if all is well.
func (s *Sink) Effects() map[string]int { return s.ledger.counts() }

// Calls counts the calls that came, by idempotency key, whatever became of them.
func (s *Sink) Calls() map[string]int { return s.ledger.called() }

// Stop lets answers under way out for up to 5 s, ends those that wait and closes. It may be called twice.
func (s *Sink) Stop() (err error) {
	s.stop.Do(func() {
		close(s.stopping)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err = s.server.Shutdown(ctx); err != nil {
			err = errors.Join(err, s.server.Close())
		}
		<-s.served
	})
	return err
}
