//go:build !lean

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/benchdb"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/internal/devstack/nsq"
	"github.com/nsqrelayer/relayer/internal/devstack/sink"
	"github.com/nsqrelayer/relayer/internal/postgres"
)

// The bench's one route.
const (
	benchRoute   = "bench"
	benchChannel = "relayer"
	benchLevel   = slog.LevelWarn // a line for each move of an intent would be measured, too
)

// benchParts is where the parts are.
type benchParts struct {
	dir      string // of relayer.toml and keystore
	topic    string
	nsqdTCP  string
	nsqdHTTP string
	db       *benchdb.DB
	target   string // the route's settings of its sender
}

// startParts starts what was not given, and makes topic and database.
func (b *bench) startParts(ctx context.Context) error {
	for _, start := range []func(context.Context) error{b.startDir, b.startNSQ, b.makeTopic, b.startPostgres, b.startTarget, b.configure} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (b *bench) startDir(context.Context) error {
	dir, err := os.MkdirTemp("", "relayer-bench-")
	if err != nil {
		return err
	}
	b.parts.dir = dir
	b.stops = append(b.stops, func() error { return os.RemoveAll(dir) })
	return nil
}

func (b *bench) startNSQ(ctx context.Context) error {
	given := b.given.NSQ
	if len(given.NSQDTCPAddress) == 0 {
		n, err := nsq.Start(ctx, nsq.Config{})
		if err != nil {
			return err
		}
		b.stops = append(b.stops, n.Stop)
		b.parts.nsqdTCP, b.parts.nsqdHTTP = n.NSQDTCP, n.NSQDHTTP
		return nil
	}
	b.parts.nsqdTCP = given.NSQDTCPAddress[0]
	if len(given.NSQDHTTPAddress) > 0 {
		b.parts.nsqdHTTP = given.NSQDHTTPAddress[0]
		return nil
	}
	host, port, err := net.SplitHostPort(b.parts.nsqdTCP)
	if err != nil {
		return err
	}
	n, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	b.parts.nsqdHTTP = net.JoinHostPort(host, strconv.Itoa(n+1)) // as nsqd's defaults have it
	return err
}

// makeTopic makes a topic and its channel: what is published before anybody listens waits in the channel then.
func (b *bench) makeTopic(ctx context.Context) error {
	b.parts.topic = "bench." + b.tag
	if err := b.askNSQD(ctx, "/topic/create", nil); err != nil {
		return err
	}
	b.stops = append(b.stops, func() error { return b.askNSQD(context.WithoutCancel(ctx), "/topic/delete", nil) })
	return b.askNSQD(ctx, "/channel/create", url.Values{"channel": {benchChannel}})
}

func (b *bench) askNSQD(ctx context.Context, path string, q url.Values) error {
	if q == nil {
		q = url.Values{}
	}
	q.Set("topic", b.parts.topic)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.parts.nsqdHTTP+path+"?"+q.Encode(), nil)
	if err != nil {
		return usagef("nsq.nsqd-http-address: %w", err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: benchPatience}
	resp, err := client.Do(req)
	if err != nil {
		return &codedError{exitDown, fmt.Errorf("nsqd's HTTP API (--set nsq.nsqd-http-address=HOST:PORT says where it is): %w", err)}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("nsqd answers %s with %s", path, resp.Status)
	}
	return nil
}

func (b *bench) startPostgres(ctx context.Context) error {
	dsn := b.given.DatabaseURL.Reveal()
	if dsn == "" {
		bin, err := postgres.Find(b.cmd.PGBin)
		if err != nil {
			return err
		}
		s, err := postgres.Start(ctx, postgres.Config{Binaries: bin, Logger: b.log})
		if err != nil {
			return err
		}
		b.stops = append(b.stops, s.Stop)
		dsn = s.DSN("postgres")
	}
	db, err := benchdb.Create(ctx, dsn)
	if err != nil {
		return &codedError{exitDown, err}
	}
	b.stops = append(b.stops, func() error { return db.Drop(context.WithoutCancel(ctx)) })
	b.parts.db = db
	_, err = pgstore.Migrate(ctx, db.DSN, b.log)
	return err
}

// startTarget starts the other side.
func (b *bench) startTarget(ctx context.Context) error {
	switch b.cmd.Sender {
	case "evm":
		return b.startChain(ctx)
	case "webhook":
		s, err := sink.Start(ctx, sink.Config{})
		if err != nil {
			return err
		}
		b.stops = append(b.stops, s.Stop)
		b.parts.target = fmt.Sprintf(benchWebhook, s.URL, s.URL)
	default:
		b.parts.target = fmt.Sprintf(benchWebhook, "http://127.0.0.1:9", "http://127.0.0.1:9") // never dialed: see idleWay
	}
	return nil
}

func (b *bench) startChain(ctx context.Context) error {
	c, err := chain.Start(ctx, chain.Config{PoolSlots: uint64(4 * max(b.count, devWindow))})
	if err != nil {
		return err
	}
	b.stops = append(b.stops, c.Close)
	key, err := chain.WriteKeystore(b.parts.dir, chain.DevKey(), devPassphrase)
	b.parts.target = fmt.Sprintf(benchEVM, c.URL, chain.ID, key, devPassphrase, devWindow)
	return err
}

const benchConfig = `database-url = %q
[nsq]
nsqd-tcp-address = [%q]
nsqd-http-address = [%q]
[routes.bench]
topic = %q
channel = %q
concurrency = %d
output-buffer-timeout = %q
throttle = { in-flight = %d, per-second = "unlimited" }
`

const benchWebhook = `sender = "webhook"
url = "%s/payments"
lookup = "%s/lookup/{id}"
idempotent = true
key-retention = "24h"
allow = ["127.0.0.0/8"]
`

const benchEVM = `sender = "evm"
rpc-url = %q
chain-id = %d
keystore = %q
passphrase = %q
confirmations = 2
window = %d
`

// configure writes the relayers' settings.
func (b *bench) configure(context.Context) error {
	p, buffer := b.parts, "25ms"
	if b.cmd.Latency {
		buffer = config.Unbuffered.String()
	}
	text := fmt.Sprintf(benchConfig, p.db.DSN, p.nsqdTCP, p.nsqdHTTP, p.topic, benchChannel, b.cmd.Concurrency, buffer, b.cmd.Concurrency) + p.target
	return os.WriteFile(b.configPath(), []byte(text), 0o600)
}

func (b *bench) configPath() string { return filepath.Join(b.parts.dir, config.DefaultPath) }

// benchEnv is the environment without settings of a relayer.
func benchEnv() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "RELAYER_") {
			env = append(env, kv)
		}
	}
	return env
}
