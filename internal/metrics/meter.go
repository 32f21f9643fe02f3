package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// stageBuckets are seconds, from a send on the same network to a chain that stood still for half a day.
var stageBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 12 * 3600}

// callBuckets are seconds of one call.
var callBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// Meter counts what the routes of a process tell. Make it before the routes, hand it to each, and register it with them.
type Meter struct {
	intents, attempts, letters, calls *prometheus.CounterVec
	stages, took                      *prometheus.HistogramVec
}

// NewMeter makes a meter that has counted nothing.
func NewMeter() *Meter {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Meter{
		intents: counter("relayer_intents_total",
			"Intents that workers and observers of this process moved into a state. What a person or the sweeper moves is not in it.", "route", "state"),
		attempts: counter("relayer_attempts_total", "Calls of the sender by what they came to.", "route", "verdict"),
		letters:  counter("relayer_dead_letters_total", "Messages that could not become intents, by why.", "route", "reason"),
		calls:    counter("relayer_rpc_requests_total", "HTTP calls to nodes; a batch is one, named by its first method. Code error: there was no answer.", "host", "method", "code"),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "relayer_stage_duration_seconds", Buckets: stageBuckets,
			Help: "How long a stage took: queue (from publishing until a worker looks), throttle (wait for a permit), send (one call), confirm (from acceptance to the end)."},
			[]string{"route", "stage"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "relayer_rpc_request_duration_seconds", Buckets: callBuckets,
			Help: "How long HTTP calls to nodes took until the answer began."}, []string{"host", "method"}),
	}
}

func (m *Meter) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.intents, m.attempts, m.letters, m.calls, m.stages, m.took}
}

// Called tells of one HTTP call to a node.
func (m *Meter) Called(host, method, code string, took time.Duration) {
	m.calls.WithLabelValues(host, method, code).Inc()
	m.took.WithLabelValues(host, method).Observe(took.Seconds())
}

// Route is the meter of one route. Every state, verdict and stage is shown from the start, as 0: a rate needs a first value.
func (m *Meter) Route(name string) relayer.Meter {
	r := &routeMeter{m: m, route: name, stages: map[relayer.Stage]prometheus.Observer{},
		states: map[intents.State]prometheus.Counter{}, verdicts: map[intents.Verdict]prometheus.Counter{}}
	for _, s := range relayer.Stages() {
		r.stages[s] = m.stages.WithLabelValues(name, string(s))
	}
	for _, s := range intents.States() {
		if s != intents.Created { // nothing is moved there
			r.states[s] = m.intents.WithLabelValues(name, s.String())
		}
	}
	for v := intents.Unknown; v <= intents.Declined; v++ {
		r.verdicts[v] = m.attempts.WithLabelValues(name, v.String())
	}
	return r
}

// routeMeter has its counters at hand: looking one up by labels costs more than counting. The maps are only read.
type routeMeter struct {
	m        *Meter
	route    string
	stages   map[relayer.Stage]prometheus.Observer
	states   map[intents.State]prometheus.Counter
	verdicts map[intents.Verdict]prometheus.Counter
}

// Took counts one stage. The clocks of nsqd and ours may differ: nothing takes less than no time.
func (r *routeMeter) Took(_ context.Context, s relayer.Stage, d time.Duration) {
	if o := r.stages[s]; o != nil {
		o.Observe(max(d, 0).Seconds())
	}
}

func (r *routeMeter) Attempted(v intents.Verdict) { inc(r.verdicts[v]) }
func (r *routeMeter) Moved(to intents.State)      { inc(r.states[to]) }
func (r *routeMeter) Buried(reason string)        { r.m.letters.WithLabelValues(r.route, reason).Inc() }

func inc(c prometheus.Counter) {
	if c != nil {
		c.Inc()
	}
}
