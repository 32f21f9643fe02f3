// Package nsq runs nsqlookupd, nsqd and nsqadmin in this process, from the library packages of NSQ 1.3.0.
package nsq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/nsqio/nsq/nsqadmin"
	"github.com/nsqio/nsq/nsqd"
	"github.com/nsqio/nsq/nsqlookupd"
)

// Config says where the daemons listen. Each address defaults to 127.0.0.1:0, any free port.
type Config struct {
	LookupdTCPAddress  string
	LookupdHTTPAddress string
	NSQDTCPAddress     string
	NSQDHTTPAddress    string
	AdminHTTPAddress   string

	// DataPath is where nsqd keeps what does not fit in memory and what is left at its end. One that was used before
	// is used again. Empty means a temporary one, which Stop removes.
	DataPath string

	// Options, if not nil, may change nsqd's options last.
	Options func(*nsqd.Options)

	// StopTimeout bounds the end of each daemon. Default 10 s.
	StopTimeout time.Duration

	// Logger hears the daemons' lines at debug level. Default is none.
	Logger *slog.Logger
}

// NSQ is the three daemons, running. Its fields are the addresses they listen on, as host:port.
type NSQ struct {
	LookupdTCP, LookupdHTTP string
	NSQDTCP, NSQDHTTP       string
	AdminHTTP               string

	cfg     Config
	temp    string // data path to remove
	daemons []daemon
	stop    sync.Once
}

// daemon is one of the three. Main runs until exit.
type daemon struct {
	name string
	exit func()
	done chan struct{}
}

// Start runs the daemons and returns when all answer and nsqlookupd knows nsqd.
//
// After an error about nsqd's address the data path stays locked until this process ends: nsqd takes the lock before
// it listens and lets go of it in Exit only.
func Start(ctx context.Context, cfg Config) (*NSQ, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.StopTimeout = cmp.Or(cfg.StopTimeout, 10*time.Second)
	for _, addr := range []*string{&cfg.LookupdTCPAddress, &cfg.LookupdHTTPAddress, &cfg.NSQDTCPAddress,
		&cfg.NSQDHTTPAddress, &cfg.AdminHTTPAddress} {
		*addr = cmp.Or(*addr, "127.0.0.1:0")
	}
	n := &NSQ{cfg: cfg}
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(err, n.Stop())
	}
	return n, nil
}

// start brings up one after the other. Each must be up before another can fail: an Exit while Main still starts its
// loops is a race in nsqd.
func (n *NSQ) start(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	steps := []struct {
		start func() error
		up    func(context.Context, *http.Client) error
	}{{n.startLookupd, n.lookupdUp}, {n.startNSQD, n.nsqdUp}, {n.startAdmin, n.adminUp}}
	for _, step := range steps {
		if err := step.start(); err != nil {
			return err
		}
		if err := retry(ctx, func(ctx context.Context) error { return step.up(ctx, client) }); err != nil {
			return err
		}
	}
	return nil
}

func (n *NSQ) startLookupd() error {
	opts := nsqlookupd.NewOptions()
	opts.TCPAddress, opts.HTTPAddress = n.cfg.LookupdTCPAddress, n.cfg.LookupdHTTPAddress
	opts.BroadcastAddress = "127.0.0.1"
	opts.Logger = logger{n.cfg.Logger, "nsqlookupd"}
	d, err := nsqlookupd.New(opts)
	if err != nil {
		return fmt.Errorf("nsqlookupd: %w", err)
	}
	n.LookupdTCP, n.LookupdHTTP = d.RealTCPAddr().String(), d.RealHTTPAddr().String()
	n.run("nsqlookupd", d.Main, d.Exit)
	return nil
}

func (n *NSQ) startNSQD() error {
	opts, err := n.nsqdOptions()
	if err != nil {
		return fmt.Errorf("nsqd: %w", err)
	}
	d, err := nsqd.New(opts)
	if err != nil {
		return fmt.Errorf("nsqd: %w", err)
	}
	// As the daemon's own main does it: what was there is read, and written back before anything changes.
	if err := errors.Join(d.LoadMetadata(), d.PersistMetadata()); err != nil {
		d.Exit()
		return fmt.Errorf("nsqd: %w", err)
	}
	n.NSQDTCP, n.NSQDHTTP = d.RealTCPAddr().String(), d.RealHTTPAddr().String()
	n.run("nsqd", d.Main, d.Exit)
	return nil
}

// nsqdOptions sets the broadcast address, which clients are sent to: its default, the host's name, often resolves to
// nothing.
func (n *NSQ) nsqdOptions() (*nsqd.Options, error) {
	if n.cfg.DataPath == "" {
		dir, err := os.MkdirTemp("", "relayer-nsqd-")
		if err != nil {
			return nil, err
		}
		n.cfg.DataPath, n.temp = dir, dir
	}
	if err := os.MkdirAll(n.cfg.DataPath, 0o700); err != nil {
		return nil, err
	}
	opts := nsqd.NewOptions()
	opts.TCPAddress, opts.HTTPAddress, opts.HTTPSAddress = n.cfg.NSQDTCPAddress, n.cfg.NSQDHTTPAddress, ""
	opts.BroadcastAddress = "127.0.0.1"
	opts.NSQLookupdTCPAddresses = []string{n.LookupdTCP}
	opts.DataPath = n.cfg.DataPath
	opts.Logger = logger{n.cfg.Logger, "nsqd"}
	if n.cfg.Options != nil {
		n.cfg.Options(opts)
	}
	return opts, nil
}

func (n *NSQ) startAdmin() error {
	opts := nsqadmin.NewOptions()
	opts.HTTPAddress = n.cfg.AdminHTTPAddress
	opts.NSQLookupdHTTPAddresses = []string{n.LookupdHTTP}
	opts.Logger = logger{n.cfg.Logger, "nsqadmin"}
	d, err := nsqadmin.New(opts)
	if err != nil {
		return fmt.Errorf("nsqadmin: %w", err)
	}
	n.AdminHTTP = d.RealHTTPAddr().String()
	n.run("nsqadmin", d.Main, d.Exit)
	return nil
}

// run puts a daemon's main loop to work. Its error is in the log already.
func (n *NSQ) run(name string, loop func() error, exit func()) {
	d := daemon{name: name, exit: exit, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		_ = loop()
	}()
	n.daemons = append(n.daemons, d)
}

// Stop ends nsqadmin, nsqd and nsqlookupd in this order; nsqd writes what it holds to its data path. A daemon that
// does not end in time is left behind and named in the error. Stop may be called twice.
func (n *NSQ) Stop() (err error) {
	n.stop.Do(func() {
		for i := len(n.daemons) - 1; i >= 0; i-- {
			err = errors.Join(err, n.daemons[i].end(n.cfg.StopTimeout))
		}
		if n.temp != "" {
			err = errors.Join(err, os.RemoveAll(n.temp))
		}
	})
	return err
}

func (d daemon) end(timeout time.Duration) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.exit()
		<-d.done
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(timeout):
		return fmt.Errorf("%s does not end", d.name)
	}
}
