// Package metrics shows Prometheus how a process stands. It only reads; nothing waits for it. Labels are bounded: routes,
// chains and signers of the process, never an id of an intent.
package metrics

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// Config says what is shown.
type Config struct {
	Version, Commit, GoVersion string // of the program

	Routes  []Route       // those that this process runs
	Signers Signers       // asked only where a route has scopes
	Ledger  Ledger        // nil: nothing is shown of what waits
	Meter   *Meter        // what the routes tell. Nil: nothing of it is shown
	Fresh   time.Duration // how long what was read of signers is shown before it is read again. Default 5s
	Stale   time.Duration // the same for what waits. Default 15s
	Timeout time.Duration // of one read. Default 2s
}

// Route is one route of the process.
type Route struct {
	Name     string
	Scopes   []string // of its counter slots, as "evm:<chain>:<address>"; empty: it has none
	Worker   Worker
	Throttle Throttle
	Purse    Purse         // nil: the sender knows no balance
	Nodes    func() []Node // nil: the sender has no endpoints to choose from
	Consumer Consumer      // nil: not shown, as are the loops
	Sweeper  Loop
	Observer Loop
}

// Worker counts deliveries, as *relayer.Worker does.
type Worker interface{ Stats() relayer.Stats }

// Throttle tells how it stands, as *relayer.Throttle does.
type Throttle interface{ State() relayer.ThrottleState }

// Signers is where counter scopes are kept.
type Signers interface {
	// Signers reads every counter scope. Errors: intents.ErrUnavailable, the context's.
	Signers(ctx context.Context) ([]intents.Signer, error)
}

// Purse is a sender that has seen what its signers hold.
type Purse interface {
	// Balances tells what was last seen of each scope, in wei. It asks nobody and does not block. What was never seen is
	// left out.
	Balances() map[string]*big.Int
}

// Register puts everything there is into a registry: the build, routes, signers, the Go runtime and the process.
// Errors: those of prometheus.Registerer, when something of these names is in it already.
func Register(reg prometheus.Registerer, cfg Config) error {
	cfg.Fresh, cfg.Timeout = cmp.Or(cfg.Fresh, 5*time.Second), cmp.Or(cfg.Timeout, 2*time.Second)
	cfg.Stale = cmp.Or(cfg.Stale, 15*time.Second)
	all := []prometheus.Collector{
		newBuild(cfg), newRoutes(cfg.Routes), newQueue(cfg.Routes), newSigners(cfg), newBalances(cfg.Routes), newNodes(cfg.Routes), newLedger(cfg),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}
	if cfg.Meter != nil {
		all = append(all, cfg.Meter.collectors()...)
	}
	for _, c := range all {
		if err := reg.Register(c); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	return nil
}

// Handler answers scrapes of a registry. What cannot be read is left out, logged, and counted in
// promhttp_metric_handler_errors_total; the rest is shown all the same.
func Handler(reg *prometheus.Registry, log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError, Registry: reg,
	})
}

func newBuild(cfg Config) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "relayer_build_info", Help: "What is running; always 1.",
		ConstLabels: prometheus.Labels{"version": cfg.Version, "commit": cfg.Commit, "go_version": cfg.GoVersion},
	}, func() float64 { return 1 })
}

// gauge is a metric's description and its value at one moment.
func gauge(out chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func counter(out chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
}

// flag is 1 for true.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
