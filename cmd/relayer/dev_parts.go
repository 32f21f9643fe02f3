//go:build !lean

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/devstack"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/internal/devstack/nsq"
	"github.com/nsqrelayer/relayer/internal/devstack/rpcproxy"
	"github.com/nsqrelayer/relayer/internal/devstack/sink"
	"github.com/nsqrelayer/relayer/internal/httpd"
	"github.com/nsqrelayer/relayer/internal/postgres"
)

// devParts is where the parts are.
type devParts struct {
	ports devstack.Ports
	dir   string // of keystore and relayer.toml
	nsq   *nsq.NSQ
	pg    *postgres.Server
	chain *chain.Chain
	proxy *rpcproxy.Proxy // nil without faults
	sink  *sink.Sink
	web   *httpd.Server

	rpc      string // URL of the chain, or of what stands before it
	dsn      string
	nsqdTCP  string
	nsqdHTTP string // empty when nsqd is not ours
	keystore string
}

func (d *dev) startParts(ctx context.Context) error {
	for _, start := range []func(context.Context) error{d.startDir, d.startNSQ, d.startPostgres, d.migrate, d.startChain, d.startProxy, d.startSink, d.startHTTP} {
		if err := untilListening(ctx, start); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (d *dev) startDir(context.Context) error {
	dir, err := os.MkdirTemp("", "relayer-dev-")
	if err != nil {
		return err
	}
	d.parts.dir = dir
	d.stops = append(d.stops, func() error { return os.RemoveAll(dir) })
	return nil
}

// port picks a port: the default or the next free one, or exactly the one that was given.
func (d *dev) port(flag string, given, fallback int) (string, error) {
	addr, err := d.parts.ports.Pick(flag, net.JoinHostPort("127.0.0.1", strconv.Itoa(orPort(given, fallback))), given != 0)
	if err == nil && given == 0 && !strings.HasSuffix(addr, ":"+strconv.Itoa(fallback)) {
		d.warn(strings.TrimSuffix(flag, "-port"), "port %d is taken, using %s", fallback, addr[strings.LastIndex(addr, ":")+1:])
	}
	return addr, err
}

func orPort(given, fallback int) int {
	if given != 0 {
		return given
	}
	return fallback
}

func (d *dev) startNSQ(ctx context.Context) error {
	if given := d.given.NSQ.NSQDTCPAddress; len(given) > 0 {
		d.parts.nsqdTCP = given[0]
		d.say("nsqd", "%s, already running", given[0])
		return nil
	}
	var cfg nsq.Config
	for _, p := range []struct {
		addr            *string
		flag            string
		given, fallback int
	}{
		{&cfg.LookupdTCPAddress, "nsqlookupd-tcp-port", d.cmd.LookupdTCPPort, 4160},
		{&cfg.LookupdHTTPAddress, "nsqlookupd-http-port", d.cmd.LookupdHTTPPort, 4161},
		{&cfg.NSQDTCPAddress, "nsqd-tcp-port", d.cmd.NSQDTCPPort, 4150},
		{&cfg.NSQDHTTPAddress, "nsqd-http-port", d.cmd.NSQDHTTPPort, 4151},
		{&cfg.AdminHTTPAddress, "nsqadmin-port", d.cmd.AdminPort, 4171},
	} {
		addr, err := d.port(p.flag, p.given, p.fallback)
		if err != nil {
			return err
		}
		*p.addr = addr
	}
	began := time.Now()
	n, err := nsq.Start(ctx, cfg)
	if err != nil { // its daemons tell of a taken port in words only
		return errors.Join(err, inUse(cfg.LookupdTCPAddress, cfg.LookupdHTTPAddress, cfg.NSQDTCPAddress, cfg.NSQDHTTPAddress, cfg.AdminHTTPAddress))
	}
	d.stops = append(d.stops, n.Stop)
	d.parts.nsq, d.parts.nsqdTCP, d.parts.nsqdHTTP = n, n.NSQDTCP, n.NSQDHTTP
	d.say("nsqlookupd", "%s  http %s", n.LookupdTCP, n.LookupdHTTP)
	d.say("nsqd", "%s  http %s  %s", n.NSQDTCP, n.NSQDHTTP, took(began))
	d.say("nsqadmin", "http://%s", n.AdminHTTP)
	return nil
}

func (d *dev) startPostgres(ctx context.Context) error {
	if dsn, err := d.given.DSN(); err == nil {
		d.parts.dsn = dsn
		where := "where PGHOST and its like say"
		if dsn != "" {
			where = config.NewSecret(dsn).String()
		}
		d.say("postgres", "%s, already running", where)
		return nil
	}
	began := time.Now()
	bin, err := postgres.Find(d.cmd.PGBin)
	if err != nil {
		return err
	}
	s, err := postgres.Start(ctx, postgres.Config{Binaries: bin, Logger: d.log})
	if err != nil {
		return err
	}
	d.stops = append(d.stops, s.Stop)
	if err := s.CreateDatabase(ctx, "relayer"); err != nil {
		return err
	}
	d.parts.pg, d.parts.dsn = s, s.DSN("relayer")
	as := ""
	if s.User() != "" {
		as = fmt.Sprintf(", as user %q (it refuses root)", s.User())
	}
	d.say("postgres", "%s, private%s  %s", s.Version(), as, took(began))
	return nil
}

func (d *dev) migrate(ctx context.Context) error {
	began := time.Now()
	applied, err := pgstore.Migrate(ctx, d.parts.dsn, d.log)
	if err != nil {
		return err
	}
	d.say("migrations", "%d applied  %s", len(applied), took(began))
	return nil
}

// devPassphrase opens the dev key's keystore: everybody knows both.
const devPassphrase = "dev"

func (d *dev) startChain(ctx context.Context) error {
	addr, err := d.port("chain-port", d.cmd.ChainPort, 8545)
	if err != nil {
		return err
	}
	began := time.Now()
	c, err := chain.Start(ctx, chain.Config{HTTPAddr: addr, BlockTime: d.cmd.BlockTime})
	if err != nil {
		return err
	}
	d.stops = append(d.stops, c.Close)
	d.parts.chain = c
	d.parts.keystore, err = chain.WriteKeystore(d.parts.dir, chain.DevKey(), devPassphrase)
	d.say("chain", "%s  id %d, a block every %s  %s", c.URL, chain.ID, d.cmd.BlockTime, took(began))
	return err
}

func (d *dev) startSink(ctx context.Context) error {
	addr, err := d.port("sink-port", d.cmd.SinkPort, 8089)
	if err != nil {
		return err
	}
	s, err := sink.Start(ctx, sink.Config{Addr: addr, Faults: d.faults})
	if err != nil {
		return err
	}
	d.stops = append(d.stops, s.Stop)
	d.parts.sink = s
	faults := "no faults"
	if d.cmd.SinkFaults != "" {
		faults = d.cmd.SinkFaults
	}
	d.say("http sink", "%s  %s", s.URL, faults)
	return nil
}

func took(began time.Time) string { return time.Since(began).Round(time.Millisecond).String() }

// devConfig is the dev stack's relayer.toml.
const devConfig = `# the running dev stack, thrown away with it
database-url = %q
[nsq]
nsqd-tcp-address = [%q]
[routes.payouts]
sender = "evm"
topic = "intents.payouts"
accept = "full"
assets = ["ETH"]
concurrency = 32
rpc-url = %q
chain-id = %d
keystore = %q
passphrase = %q
confirmations = 2
window = %d
resend-after = "3s"
throttle = { in-flight = 16, per-second = 500, burst = 50 }
[routes.webhooks]
sender = "webhook"
topic = "intents.webhooks"
accept = "full"
concurrency = 64
submit-timeout = "5s"
url = "%s/payments"
lookup = "%s/lookup/{id}"
idempotent = true
key-retention = "24h"
allow = ["127.0.0.0/8"]
throttle = { in-flight = 32, per-second = "unlimited" }
`

// configure writes the stack's relayer.toml, which other terminals can use, and reads it.
func (d *dev) configure() (config.Config, error) {
	p := d.parts
	text := fmt.Sprintf(devConfig, p.dsn, p.nsqdTCP, p.rpc, chain.ID, p.keystore, devPassphrase, d.window(), p.sink.URL, p.sink.URL)
	if err := os.WriteFile(d.configPath(), []byte(text), 0o600); err != nil {
		return config.Config{}, err
	}
	d.leaveLink()
	pg := slices.DeleteFunc(os.Environ(), func(kv string) bool { return !strings.HasPrefix(kv, "PG") })
	return config.Load(d.configPath(), pg)
}

// leaveLink lets the operator's commands find the stack. Without a cache directory they need --config.
func (d *dev) leaveLink() {
	link := devLink()
	if link == "" || os.MkdirAll(filepath.Dir(link), 0o700) != nil {
		return
	}
	if os.WriteFile(link, []byte(d.configPath()+"\n"), 0o600) == nil {
		d.stops = append(d.stops, func() error { _ = os.Remove(link); return nil }) // another stack may have taken it
	}
}

func (d *dev) configPath() string { return filepath.Join(d.parts.dir, config.DefaultPath) }

// devError gives an error of the start its exit code.
func devError(err error) error {
	if blamed[*devstack.PortTakenError](err) {
		return usage(err)
	}
	for _, down := range []bool{blamed[*postgres.SwitchUserError](err), blamed[*postgres.ClosedDirError](err)} {
		if down {
			return &codedError{exitDown, err}
		}
	}
	return settingError(err)
}
