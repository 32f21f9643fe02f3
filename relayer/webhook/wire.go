package webhook

import (
	"net/http"
	"time"
)

// newClient makes a client that makes one call when asked for one: no redirects, no compression, HTTP/1.1, and a pool
// of its own. The deadline is the request's, so that it covers a dripping body too.
func newClient(cfg Config, g *guard) *http.Client {
	t := &http.Transport{
		DialContext:            g.dial,
		TLSClientConfig:        cfg.TLS,
		TLSHandshakeTimeout:    cfg.Timeout,
		MaxConnsPerHost:        cfg.MaxConns,
		MaxIdleConnsPerHost:    cfg.MaxConns,
		IdleConnTimeout:        30 * time.Second, // under what servers and balancers commonly wait before they hang up
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	if cfg.ProxyFromEnvironment {
		t.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
