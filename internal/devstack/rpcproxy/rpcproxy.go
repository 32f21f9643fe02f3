// Package rpcproxy stands before a node and lies on demand: answers are lost, cut, refused and wrong, as those of real
// gateways are. It is for development and tests.
package rpcproxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// Config says how the proxy behaves. Node is required.
type Config struct {
	Node      string       // URL of the node's JSON-RPC
	Addr      string       // where the proxy listens, default 127.0.0.1:0
	Faults    Faults       // default none, see [ParseFaults]
	MaxFaults int          // faults in a row that one transaction may meet, default 3
	Seed      uint64       // of the faults; the same seed meets the same faults
	Logger    *slog.Logger // hears of every fault at debug level, default none

	// DropPool empties the node's pool, where the faults want that. Default: none, the word does nothing.
	DropPool func(context.Context) error
}

// Proxy is a running proxy.
type Proxy struct {
	URL string // http://host:port

	cfg      Config
	ledger   *ledger
	client   *http.Client
	server   *http.Server
	stopping chan struct{}
	loops    sync.WaitGroup
	stop     sync.Once
}

// Start listens and serves until Stop.
func Start(ctx context.Context, cfg Config) (*Proxy, error) {
	cfg.MaxFaults = cmp.Or(cfg.MaxFaults, 3)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", cmp.Or(cfg.Addr, "127.0.0.1:0"))
	if err != nil {
		return nil, fmt.Errorf("rpcproxy: %w", err)
	}
	p := &Proxy{
		URL: "http://" + l.Addr().String(), cfg: cfg, ledger: newLedger(cfg.Faults), stopping: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug)}
	p.loops.Go(func() { _ = p.server.Serve(l) }) // ends with ErrServerClosed
	if every, share := cfg.Faults.DropPool(); share > 0 && cfg.DropPool != nil {
		p.loops.Go(func() { p.dropPools(every, share) })
	}
	return p, nil
}

// Turn has other faults from now on; drop-pool stays as it was at the start.
func (p *Proxy) Turn(f Faults) { p.ledger.turn(f) }

// Calls is how often each method was called, by its name.
func (p *Proxy) Calls() map[string]int {
	calls, _ := p.ledger.counts()
	return calls
}

// Hits is how often each fault happened, by its word.
func (p *Proxy) Hits() map[string]int {
	_, hits := p.ledger.counts()
	return hits
}

// Stop lets answers under way out for up to 5 s, ends those that wait and closes. It may be called twice.
func (p *Proxy) Stop() (err error) {
	p.stop.Do(func() {
		close(p.stopping)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err = p.server.Shutdown(ctx); err != nil {
			err = errors.Join(err, p.server.Close())
		}
		p.loops.Wait()
		p.client.CloseIdleConnections()
	})
	return err
}

// dropPools empties the node's pool now and then.
func (p *Proxy) dropPools(every time.Duration, share float64) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dice := rand.New(rand.NewPCG(p.cfg.Seed, 0))
	for p.wait(ctx, every) {
		if dice.Float64() >= share {
			continue
		}
		if err := p.cfg.DropPool(ctx); err != nil {
			p.cfg.Logger.WarnContext(ctx, "pool not emptied", "err", err)
			continue
		}
		p.ledger.hit(dropPool)
		p.cfg.Logger.DebugContext(ctx, "pool emptied")
	}
}

// wait reports whether d passed before ctx ended or the proxy stopped.
func (p *Proxy) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-p.stopping:
	}
	return false
}
