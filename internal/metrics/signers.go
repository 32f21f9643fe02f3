package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nsqrelayer/relayer/intents"
)

// signers shows how the signers of the process stand in the store. All processes of a route show the same.
type signers struct {
	scopes map[string]bool // of the process
	cache  *cache[[]intents.Signer]

	nonce, window, open, ahead, frozen *prometheus.Desc
}

func newSigners(cfg Config) *signers {
	c := &signers{
		scopes: map[string]bool{},
		nonce: prometheus.NewDesc("relayer_signer_nonce",
			"Next nonce: db, the next to give out; chain, the chain's own count when last looked at. Chain above db: somebody else sends with the key.",
			[]string{"chain", "signer", "source"}, nil),
		window: signerDesc("relayer_signer_window", "How many nonces may be given out that the chain has not used yet."),
		open:   signerDesc("relayer_signer_open", "Nonces given out that are not final yet."),
		ahead:  signerDesc("relayer_signer_ahead", "Open nonces that the chain has not used yet; no more are given out at the window."),
		frozen: signerDesc("relayer_signer_frozen", "1 while the signer gives out no nonce, until a person lets it go on."),
	}
	if cfg.Signers != nil {
		c.cache = newCache(cfg.Fresh, cfg.Timeout, cfg.Signers.Signers)
	}
	for _, r := range cfg.Routes {
		for _, scope := range r.Scopes {
			c.scopes[scope] = true
		}
	}
	return c
}

func signerDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"chain", "signer"}, nil)
}

// Describe lists what Collect shows.
func (c *signers) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.nonce, c.window, c.open, c.ahead, c.frozen} {
		out <- d
	}
}

// Collect shows the signers as they stood a moment ago; none of them while the store cannot be read, since what they
// were would hide that.
func (c *signers) Collect(out chan<- prometheus.Metric) {
	if len(c.scopes) == 0 {
		return
	}
	all, err := c.cache.read()
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.nonce, fmt.Errorf("signers: %w", err))
		return
	}
	for _, s := range all {
		if c.scopes[s.Scope] {
			c.show(out, s)
		}
	}
}

func (c *signers) show(out chan<- prometheus.Metric, s intents.Signer) {
	chain, signer := labels(s.Scope)
	gauge(out, c.nonce, float64(s.Next), chain, signer, "db")
	gauge(out, c.nonce, float64(s.Seen), chain, signer, "chain")
	gauge(out, c.window, float64(s.Window), chain, signer)
	gauge(out, c.open, float64(s.Open), chain, signer)
	gauge(out, c.ahead, float64(s.Ahead), chain, signer)
	gauge(out, c.frozen, flag(s.Frozen != ""), chain, signer)
}
