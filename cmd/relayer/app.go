package main

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/nsqrelayer/relayer/internal/config"
)

// globals are the flags every command has.
type globals struct {
	Config   string            `placeholder:"FILE" env:"RELAYER_CONFIG" group:"settings" help:"Settings; ./relayer.toml where it exists."`
	Database string            `name:"database-url" placeholder:"URL" group:"settings" help:"Postgres, as libpq reads it ($$RELAYER_DATABASE_URL, or $$RELAYER_DATABASE_URL_FILE to keep the password out of sight)."`
	NSQDs    []string          `name:"nsqd-tcp-address" placeholder:"HOST:PORT" group:"settings" help:"nsqd, may be repeated ($$RELAYER_NSQD_TCP_ADDRESS)."`
	Lookupds []string          `name:"nsqlookupd-http-address" placeholder:"HOST:PORT" group:"settings" help:"nsqlookupd, may be repeated ($$RELAYER_NSQLOOKUPD_HTTP_ADDRESS)."`
	HTTP     string            `name:"http-address" placeholder:"HOST:PORT" group:"settings" help:"Where run, api and dev serve the API, /metrics and /livez, such as 127.0.0.1:4480; run serves nothing without ($$RELAYER_HTTP_ADDRESS)."`
	Drain    string            `name:"drain-timeout" placeholder:"45s" group:"settings" help:"How long begun sends may go on after a stop ($$RELAYER_DRAIN_TIMEOUT)."`
	Level    string            `name:"log-level" placeholder:"LEVEL" group:"settings" help:"debug, info, warn or error ($$RELAYER_LOG_LEVEL)."`
	Format   string            `name:"log-format" placeholder:"FORMAT" group:"settings" help:"auto, text or json ($$RELAYER_LOG_FORMAT)."`
	Set      map[string]string `placeholder:"PATH=VALUE" mapsep:"none" group:"settings" help:"Any setting of relayer.toml, such as routes.payouts.concurrency=8; may be repeated."`
	As       string            `placeholder:"NAME" env:"RELAYER_AS,USER" group:"settings" help:"Who stands in timelines for what is done here."`
}

// settings are the flags that were given, as settings.
func (g globals) settings() []config.Setting {
	var all []config.Setting
	add := func(path, flag, value string) {
		if value != "" {
			all = append(all, config.Setting{Path: path, Value: value, From: flag})
		}
	}
	for path, value := range g.Set {
		add(path, "--set", value)
	}
	slices.SortFunc(all, func(a, b config.Setting) int { return cmp.Compare(a.Path, b.Path) })
	add("database-url", "--database-url", g.Database)
	add("nsq.nsqd-tcp-address", "--nsqd-tcp-address", strings.Join(g.NSQDs, ","))
	add("nsq.nsqlookupd-http-address", "--nsqlookupd-http-address", strings.Join(g.Lookupds, ","))
	add("http-address", "--http-address", g.HTTP)
	add("drain-timeout", "--drain-timeout", g.Drain)
	add("log-level", "--log-level", g.Level)
	add("log-format", "--log-format", g.Format)
	return all
}

// app is what a command stands on.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	globals        globals
	parts          parts

	cfg config.Config // as far as it was read: its secrets are kept out of errors
}

// config reads the settings. Errors are usage errors. What makes no sense together is not looked at: see
// config.Config.Validate.
func (a *app) config() (config.Config, error) {
	path := a.globals.Config
	if _, err := os.Stat(config.DefaultPath); path == "" && err == nil {
		path = config.DefaultPath
	}
	var err error
	a.cfg, err = config.Load(path, os.Environ(), a.globals.settings()...)
	return a.cfg, usage(err)
}

// configOrDev reads the settings; where nothing says which database is meant, those of the dev stack that this user
// runs, if there is one.
func (a *app) configOrDev() (config.Config, error) {
	cfg, err := a.config()
	if err != nil || a.globals.Config != "" {
		return cfg, err
	}
	if _, missing := cfg.DSN(); missing == nil || cfg.From("database-url") != "default" {
		return cfg, nil
	}
	link, err := os.ReadFile(devLink())
	path := strings.TrimSpace(string(link))
	if _, gone := os.Stat(path); err != nil || gone != nil {
		return cfg, nil
	}
	a.complain("using the dev stack, " + path)
	a.globals.Config = path
	return a.config()
}

// context ends with the first SIGINT or SIGTERM, once a second one would end the process: whoever sees it end may be signaled
// again at once.
func (a *app) context() (ctx context.Context, stop func()) {
	signaled, ignore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	stop = func() { ignore(); cancel() }
	context.AfterFunc(signaled, stop)
	return ctx, stop
}

// actor is who does what is done here.
func (a *app) actor() string { return cmp.Or(a.globals.As, "unknown") }

// logger logs to stderr, from the configured level on; without one from the given.
func (a *app) logger(level slog.Level) *slog.Logger {
	_ = level.UnmarshalText([]byte(cmp.Or(a.cfg.LogLevel, level.String()))) // an unknown level is refused by Validate
	o := &slog.HandlerOptions{Level: level}
	if a.cfg.LogFormat == "json" || a.cfg.LogFormat == "auto" && !isTerminal(a.stderr) {
		return slog.New(slog.NewJSONHandler(a.stderr, o))
	}
	return slog.New(slog.NewTextHandler(a.stderr, o))
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// open reads the settings and opens the store.
func (a *app) open(ctx context.Context) (store, error) {
	cfg, err := a.configOrDev()
	if err != nil {
		return nil, err
	}
	dsn, err := cfg.DSN()
	if err != nil {
		return nil, usage(err)
	}
	s, err := a.parts.open(ctx, dsn, a.actor(), a.logger(slog.LevelWarn))
	return s, settingError(err)
}

// devLink is the file in which the dev stack of this user says where its settings are: in the user's own cache, since
// anybody may write to the machine's temporary directory. Empty when the user has none.
func devLink() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "relayer", "dev")
}
