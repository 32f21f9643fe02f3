package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	minMsgTimeout = time.Second      // nsqd refuses less
	maxMsgTimeout = 15 * time.Minute // nsqd's default
	perConnection = 4                // below so many in flight for each nsqd, go-nsq hands readiness around
)

// Validate says everything that makes no sense, joined, each wrapping an *intents.InvalidError with its path and, where
// it was set, its source. Secrets are not shown.
func (c Config) Validate() error {
	v := &validator{cfg: c}
	_, err := c.DSN()
	v.add("database-url", err)
	v.nsq()
	if c.HTTPAddress != "" {
		v.addresses("http-address", []string{c.HTTPAddress})
	}
	v.check(!c.HTTPPprof || c.HTTPAddress != "", "http-pprof", true, "false, or an http-address to serve profiles at")
	v.check(c.HTTPRate > 0, "http-rate", c.HTTPRate, "at least 1")
	v.check(c.HTTPBurst > 0, "http-burst", c.HTTPBurst, "at least 1")
	v.check(c.LogLevel == "" || slices.Contains([]string{"debug", "info", "warn", "error"}, c.LogLevel),
		"log-level", c.LogLevel, "debug, info, warn or error")
	v.check(slices.Contains([]string{"auto", "text", "json"}, c.LogFormat), "log-format", c.LogFormat, "auto, text or json")
	v.check(len(c.Routes) > 0, "routes", "", "at least one route")
	for _, name := range slices.Sorted(maps.Keys(c.Routes)) {
		v.route(name, c.Routes[name])
	}
	v.sharedChannels()
	return errors.Join(v.errs...)
}

// DSN gives the database's connection string. It is empty when only libpq's own variables (PGHOST, PGDATABASE, PGSERVICE)
// say where the database is. Errors: *intents.InvalidError when there is none or it is none.
func (c Config) DSN() (string, error) {
	if err := c.broken["database-url-file"]; err != nil {
		return "", err
	}
	dsn := c.DatabaseURL.Reveal()
	if dsn == "" && c.libpq {
		return "", nil
	}
	if !regexp.MustCompile(`^postgres(ql)?://|^\s*\w+\s*=`).MatchString(dsn) {
		return "", &intents.InvalidError{Field: "database-url", Value: c.DatabaseURL.String(),
			Want: "postgres://user@host/database (flag --database-url, variable RELAYER_DATABASE_URL, or relayer.toml)"}
	}
	return dsn, nil
}

// Route gives a route by name. Errors: *intents.InvalidError.
func (c Config) Route(name string) (*Route, error) {
	if r := c.Routes[name]; r != nil {
		return r, nil
	}
	want := "one of " + strings.Join(slices.Sorted(maps.Keys(c.Routes)), ", ")
	if len(c.Routes) == 0 {
		want = "a route of relayer.toml, which has none"
	}
	return nil, &intents.InvalidError{Field: "route", Value: name, Want: want}
}

// Warnings says what works but is likely not meant.
func (c Config) Warnings() []string {
	all := slices.Clone(c.warn)
	least := perConnection * len(c.NSQ.NSQDTCPAddress)
	for _, name := range slices.Sorted(maps.Keys(c.Routes)) {
		if n := c.Routes[name].Concurrency; n < least {
			all = append(all, fmt.Sprintf("routes.%s.concurrency: %d is under %d for each of %d nsqds: they take turns, and some messages wait for seconds",
				name, n, perConnection, len(c.NSQ.NSQDTCPAddress)))
		}
	}
	return all
}

type validator struct {
	cfg  Config
	errs []error
}

// add keeps an error about a path, with the source of its value.
func (v *validator) add(path string, err error) {
	if err == nil {
		return
	}
	if from := v.cfg.from[path]; from != "" {
		err = fmt.Errorf("%s: %w", from, err)
	}
	v.errs = append(v.errs, err)
}

func (v *validator) check(ok bool, path string, value any, want string) {
	if ok {
		return
	}
	if v.cfg.from[path] == "" && (value == "" || value == 0 || value == uint64(0)) {
		value, want = "", want+" (not set)"
	}
	v.add(path, &intents.InvalidError{Field: path, Value: fmt.Sprint(value), Want: want})
}

func (v *validator) nsq() {
	n := v.cfg.NSQ
	v.check(len(n.NSQLookupdHTTPAddress)+len(n.NSQDTCPAddress) > 0, "nsq.nsqlookupd-http-address", "",
		"at least one address, or one of nsq.nsqd-tcp-address")
	v.check(len(n.NSQDHTTPAddress) == 0 || len(n.NSQDHTTPAddress) == len(n.NSQDTCPAddress), "nsq.nsqd-http-address",
		strings.Join(n.NSQDHTTPAddress, ", "), fmt.Sprintf("none, or one for each of the %d nsq.nsqd-tcp-address", len(n.NSQDTCPAddress)))
	v.addresses("nsq.nsqlookupd-http-address", n.NSQLookupdHTTPAddress)
	v.addresses("nsq.nsqd-tcp-address", n.NSQDTCPAddress)
	v.addresses("nsq.nsqd-http-address", n.NSQDHTTPAddress)
}

func (v *validator) addresses(path string, all []string) {
	for _, a := range all {
		_, port, err := net.SplitHostPort(a)
		v.check(err == nil && port != "", path, a, "host:port")
	}
}

// sharedChannels refuses two routes that would take each other's messages.
func (v *validator) sharedChannels() {
	taken := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(v.cfg.Routes)) {
		topic := v.cfg.Routes[name].Topic
		if other := taken[topic]; other != "" && topic != "" {
			v.check(false, "routes."+name+".topic", topic, "a topic of its own; routes."+other+" has this one")
		}
		taken[topic] = cmp.Or(taken[topic], name)
	}
}
