package metrics

import "github.com/prometheus/client_golang/prometheus"

// Node is how an endpoint of a sender stands.
type Node struct {
	Host string // never with a path: that may be a secret
	Out  bool
	Head uint64 // 0: unknown
}

// nodes shows the endpoints of senders.
type nodes struct {
	all       []Route
	out, head *prometheus.Desc
}

func newNodes(all []Route) *nodes {
	labels := []string{"route", "host"}
	return &nodes{
		all:  all,
		out:  prometheus.NewDesc("relayer_rpc_endpoint_out", "1 while an endpoint is not used: it failed, asked for fewer calls, or is of another chain.", labels, nil),
		head: prometheus.NewDesc("relayer_rpc_endpoint_head", "The highest block that an endpoint showed.", labels, nil),
	}
}

// Describe lists what Collect shows.
func (c *nodes) Describe(out chan<- *prometheus.Desc) { out <- c.out; out <- c.head }

// Collect shows each host of a route once: two keys of one provider cannot be told apart without showing them.
func (c *nodes) Collect(out chan<- prometheus.Metric) {
	for _, r := range c.all {
		if r.Nodes == nil {
			continue
		}
		one := map[string]Node{}
		for _, n := range r.Nodes() {
			was, twice := one[n.Host]
			one[n.Host] = Node{Host: n.Host, Out: n.Out && (!twice || was.Out), Head: max(n.Head, was.Head)}
		}
		for host, n := range one {
			gauge(out, c.out, flag(n.Out), r.Name, host)
			gauge(out, c.head, float64(n.Head), r.Name, host)
		}
	}
}
