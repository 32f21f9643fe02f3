package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nsqrelayer/relayer/relayer"
)

// routes shows the counts and the throttle of each route.
type routes struct {
	all []Route

	deliveries, waiting, inFlight, breaker *prometheus.Desc
}

func newRoutes(all []Route) *routes {
	route := []string{"route"}
	return &routes{
		all: all,
		deliveries: prometheus.NewDesc("relayer_deliveries_total",
			"Deliveries by what they came to: sent (accepted or done, and written), retry (left for another look), abandoned (cut by the drain), panics. Those that changed nothing count in none.",
			[]string{"route", "result"}, nil),
		waiting:  prometheus.NewDesc("relayer_throttle_waiting", "Deliveries that wait for a permit; they have written nothing.", route, nil),
		inFlight: prometheus.NewDesc("relayer_throttle_in_flight", "Sends that have a permit and have not returned.", route, nil),
		breaker: prometheus.NewDesc("relayer_breaker_open",
			"1 while the breaker holds sends back, after five results in a row that were unknown or not sent; one probe at a time goes out.", route, nil),
	}
}

// Describe lists what Collect shows.
func (c *routes) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.deliveries, c.waiting, c.inFlight, c.breaker} {
		out <- d
	}
}

// Collect reads each route.
func (c *routes) Collect(out chan<- prometheus.Metric) {
	for _, r := range c.all {
		s := r.Worker.Stats()
		counter(out, c.deliveries, float64(s.Sent), r.Name, "sent")
		counter(out, c.deliveries, float64(s.Retry), r.Name, "retry")
		counter(out, c.deliveries, float64(s.Abandoned), r.Name, "abandoned")
		counter(out, c.deliveries, float64(s.Panics), r.Name, "panics")
		t := r.Throttle.State()
		gauge(out, c.waiting, float64(t.Waiting), r.Name)
		gauge(out, c.inFlight, float64(t.InFlight), r.Name)
		gauge(out, c.breaker, flag(t.Breaker.Gate != relayer.GateOpen), r.Name) // an open gate is a breaker that has not tripped
	}
}
