package config

import (
	"log/slog"
	"strconv"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
)

// Endpoints is a list of secret URLs, each with a weight. In the file it is a list of strings; as text they stand one a
// line or, on a single line, between commas. A weight stands behind its URL: "https://rpc.example/KEY 3".
type Endpoints struct {
	all []Endpoint
	bad string // what is no weight; empty: all are
}

// Endpoint is one of them.
type Endpoint struct {
	URL    Secret
	Weight int // at least 1
}

// All gives them in their order.
func (e Endpoints) All() []Endpoint { return e.all }

const endpointsWant = `a list of URLs, each with a weight or none: "https://rpc.example/KEY 3"`

// parseEndpoints reads text. What is no weight is kept for Validate, unless it could be part of a URL.
func parseEndpoints(text string) Endpoints {
	var e Endpoints
	between := ","
	if strings.Contains(text, "\n") {
		between = "\n"
	}
	for line := range strings.SplitSeq(text, between) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		url, weight, weighted := strings.Cut(line, " ")
		one := Endpoint{URL: NewSecret(url), Weight: 1}
		if weighted {
			n, err := strconv.Atoi(strings.TrimSpace(weight))
			if one.Weight = n; err != nil || n < 1 {
				e.bad = hidden
			}
		}
		e.all = append(e.all, one)
	}
	return e
}

// String shows where they lead, without what is secret.
func (e Endpoints) String() string {
	var shown []string
	for _, one := range e.all {
		shown = append(shown, one.URL.String())
	}
	return strings.Join(shown, ", ")
}

// GoString is String, for %#v.
func (e Endpoints) GoString() string { return e.String() }

// MarshalText is String, for JSON and TOML.
func (e Endpoints) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// LogValue is String, for slog.
func (e Endpoints) LogValue() slog.Value { return slog.StringValue(e.String()) }

func (e Endpoints) needles() []string {
	var all []string
	for _, one := range e.all {
		all = append(all, one.URL.needles()...)
	}
	return all
}

// endpoints wants rpc-url or rpc-urls, not both, of URLs and weights.
func (v *validator) endpoints(at string, e EVM) {
	urls := at + "rpc-urls"
	unread := v.unread(urls)
	if len(e.RPCURLs.all) == 0 && !unread {
		v.url(at+"rpc-url", e.RPCURL, "http", "https")
		return
	}
	if e.RPCURL.Reveal() != "" {
		v.add(urls, &intents.InvalidError{Field: urls, Value: hidden, Want: "only one of it and rpc-url"})
	}
	v.check(e.RPCURLs.bad == "", urls, e.RPCURLs.bad, endpointsWant)
	for _, one := range e.RPCURLs.all {
		v.url(urls, one.URL, "http", "https")
	}
}
