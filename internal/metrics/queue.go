package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nsqrelayer/relayer/nsqworker"
	"github.com/nsqrelayer/relayer/relayer"
)

// Consumer tells how a route's consumer stands, as *nsqworker.Worker does.
type Consumer interface{ Stats() nsqworker.Stats }

// Loop tells how a sweeper or observer stands, as *relayer.Sweeper does.
type Loop interface{ Stats() relayer.LoopStats }

// queue shows the consumers and loops of routes.
type queue struct {
	all []Route

	messages, connections, known, inFlight, most, paused, draining, leads, swept, observed, round *prometheus.Desc
}

func newQueue(all []Route) *queue {
	of := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"route"}, more...), nil)
	}
	return &queue{
		all: all,
		messages: of("relayer_nsq_messages_total",
			"Messages by what was done: received, finished, requeued, refused (given back unseen), touched, left (not answered), lapsed (lease lost), redelivered, panics.", "action"),
		connections: of("relayer_nsq_connections", "nsqds that messages come from now."),
		known:       of("relayer_nsq_known", "nsqds that are known for the topic, connected or not."),
		inFlight:    of("relayer_nsq_in_flight", "Messages that nsqd has in flight with this process."),
		most:        of("relayer_nsq_max_in_flight", "Messages that nsqd may have in flight with this process."),
		paused:      of("relayer_paused", "1 while this process takes no messages because Postgres cannot be reached."),
		draining:    of("relayer_draining", "1 while the process ends what it has begun and takes nothing more."),
		leads:       of("relayer_leads", "1 where this process works the loop for all.", "loop"),
		swept:       of("relayer_swept_total", "Messages that the sweeper of this process published."),
		observed:    of("relayer_observed_total", "Slots that the observer of this process looked at."),
		round:       of("relayer_loop_success_timestamp_seconds", "When a round of the loop last ended without an error.", "loop"),
	}
}

// Describe lists what Collect shows.
func (c *queue) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.messages, c.connections, c.known, c.inFlight, c.most, c.paused, c.draining, c.leads, c.swept, c.observed, c.round} {
		out <- d
	}
}

// Collect reads each route.
func (c *queue) Collect(out chan<- prometheus.Metric) {
	for _, r := range c.all {
		if r.Consumer != nil {
			c.consumer(out, r.Name, r.Consumer.Stats())
		}
		if r.Sweeper != nil {
			c.loop(out, r.Name, "sweeper", c.swept, r.Sweeper.Stats())
		}
		if r.Observer != nil {
			c.loop(out, r.Name, "observer", c.observed, r.Observer.Stats())
		}
	}
}

func (c *queue) consumer(out chan<- prometheus.Metric, route string, s nsqworker.Stats) {
	for action, n := range map[string]uint64{
		"received": s.Received, "finished": s.Finished, "requeued": s.Requeued, "refused": s.Refused, "touched": s.Touched,
		"left": s.Left, "lapsed": s.Lapsed, "redelivered": s.Redelivered, "panics": s.Panics,
	} {
		counter(out, c.messages, float64(n), route, action)
	}
	gauge(out, c.connections, float64(s.Connections()), route)
	gauge(out, c.known, float64(len(s.NSQDs)), route)
	gauge(out, c.inFlight, float64(s.InFlight), route)
	gauge(out, c.most, float64(s.MaxInFlight), route)
	gauge(out, c.paused, flag(s.Paused != ""), route)
	gauge(out, c.draining, flag(s.Draining), route)
}

func (c *queue) loop(out chan<- prometheus.Metric, route, loop string, done *prometheus.Desc, s relayer.LoopStats) {
	gauge(out, c.leads, flag(s.Leads), route, loop)
	counter(out, done, float64(s.Done), route)
	if !s.At.IsZero() {
		gauge(out, c.round, float64(s.At.UnixMilli())/1000, route, loop)
	}
}
