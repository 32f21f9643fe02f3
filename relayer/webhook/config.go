package webhook

import (
	"cmp"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Config configures a [Sender]. URL is required.
type Config struct {
	// URL takes the POSTs: http or https, without user info. It may hold secrets in path or query; only its host is
	// ever shown.
	URL string
	// Idempotent says that the provider makes one effect of many calls with one key. Without it nothing is sent twice.
	Idempotent bool
	// KeyRetention is how long the provider remembers a key. Required where Idempotent, and above an hour: the same
	// bytes are sent until an hour before it ends.
	KeyRetention time.Duration
	// Lookup is the URL that answers for an id, with {id} in path or query. Empty: outcomes cannot be observed.
	Lookup string
	// Secret signs the body (HMAC-SHA256) once, in Prepare. Empty: unsigned.
	Secret string
	// Headers are added to every call when it is made, lookups too. They are never stored and never shown.
	Headers map[string]string
	// Timeout ends one call, its answer's body included. Default 10 s.
	Timeout time.Duration
	// MaxConns bounds the connections of this sender. Default 64.
	MaxConns int
	// Lookups bounds the lookups of one Observe that run at once. Default 8.
	Lookups int
	// Allow lists what may be dialed although it is loopback, private or otherwise not public: networks
	// ("127.0.0.0/8"), addresses and host names. Default: none.
	Allow []string
	// ProxyFromEnvironment sends calls through HTTPS_PROXY and HTTP_PROXY. The check of Allow then sees the proxy's
	// address and no longer the provider's.
	ProxyFromEnvironment bool
	// TLS is used for https. Nil: Go's defaults.
	TLS *tls.Config
	// Clock stamps signatures and reads Retry-After dates. Default time.Now.
	Clock func() time.Time
	// Logger hears of alarms: refused credentials, clashing keys, blocked addresses. Nil: nobody does.
	Logger *slog.Logger
}

// retentionMargin is how long before the provider forgets a key the same bytes are sent for the last time.
const retentionMargin = time.Hour

// maxURL is the longest URL. Request line and host then fit into the buffer of net/http, see wire.Watch.
const maxURL = 2 << 10

// Validate returns all fields that make no sense, each as an *intents.InvalidError, joined. Secrets are not in them.
func (c Config) Validate() error {
	_, allowErr := newGuard(c.Allow)
	errs := []error{allowErr, c.checkURL("url", c.URL), c.checkLookup(), c.checkRetention()}
	for name, value := range c.Headers {
		errs = append(errs, checkHeader(name, value))
	}
	for field, n := range map[string]int64{"timeout": int64(c.Timeout), "max-conns": int64(c.MaxConns), "lookups": int64(c.Lookups)} {
		if n < 0 {
			errs = append(errs, &intents.InvalidError{Field: field, Want: "at least 1, or 0 for the default"})
		}
	}
	return errors.Join(errs...)
}

func (c Config) checkRetention() error {
	if c.Idempotent && c.KeyRetention <= retentionMargin {
		return &intents.InvalidError{Field: "key-retention", Value: c.KeyRetention.String(),
			Want: "how long the provider remembers a key, above 1h, where idempotent is set"}
	}
	if !c.Idempotent && c.KeyRetention != 0 {
		return &intents.InvalidError{Field: "key-retention", Value: c.KeyRetention.String(), Want: "idempotent = true beside it"}
	}
	return nil
}

func (c Config) checkLookup() error {
	if c.Lookup == "" {
		return nil
	}
	if !strings.Contains(c.Lookup, idMark) {
		return &intents.InvalidError{Field: "lookup", Want: "a URL with {id} in it"}
	}
	with, err := url.Parse(strings.ReplaceAll(c.Lookup, idMark, "id-1"))
	without, err2 := url.Parse(strings.ReplaceAll(c.Lookup, idMark, "id-2"))
	if err == nil && err2 == nil && with.Host != without.Host {
		return &intents.InvalidError{Field: "lookup", Want: "{id} in path or query, not in the host"}
	}
	return c.checkURL("lookup", strings.ReplaceAll(c.Lookup, idMark, "id-1"))
}

// checkURL never shows the URL it judges, only its host.
func (c Config) checkURL(field, raw string) error {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return &intents.InvalidError{Field: field, Want: "an http or https URL"}
	case err != nil || len(raw) > maxURL:
		return &intents.InvalidError{Field: field, Want: "an http or https URL of at most 2048 bytes"}
	case u.Scheme != "http" && u.Scheme != "https":
		return &intents.InvalidError{Field: field, Value: u.Scheme, Want: "the scheme http or https"}
	case u.Hostname() == "":
		return &intents.InvalidError{Field: field, Want: "a host"}
	case u.User != nil:
		return &intents.InvalidError{Field: field, Value: u.Host, Want: "no user info; credentials belong into headers"}
	case u.Fragment != "":
		return &intents.InvalidError{Field: field, Value: u.Host, Want: "no fragment"}
	}
	g, err := newGuard(c.Allow)
	if ip, perr := netip.ParseAddr(u.Hostname()); err == nil && perr == nil && !c.ProxyFromEnvironment && !g.named(u.Hostname()) && !g.permits(ip) {
		return &intents.InvalidError{Field: field, Value: u.Host, Want: "a public address, or one that allow lists"}
	}
	return nil
}

func checkHeader(name, value string) error {
	const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if name == "" || strings.Trim(name, token) != "" {
		return &intents.InvalidError{Field: "headers", Value: name, Want: "a header's name"}
	}
	switch http.CanonicalHeaderKey(name) {
	case headerKey, headerSignature, "Content-Type", "Content-Length", "Transfer-Encoding", "Host", "Connection", "Expect", "Trailer":
		return &intents.InvalidError{Field: "headers", Value: name, Want: "a header that is not the sender's own"}
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return &intents.InvalidError{Field: "headers", Value: name, Want: "a value without control characters"}
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.MaxConns = cmp.Or(c.MaxConns, 64)
	c.Lookups = cmp.Or(c.Lookups, 8)
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}
