package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/relayer"
)

// plain is a file that makes sense.
const plain = `
database-url = "postgres://relayer@localhost/relayer?sslmode=disable"
[nsq]
nsqlookupd-http-address = ["127.0.0.1:4161"]
[routes.payouts]
sender = "evm"
topic = "intents.payouts"
channel = "relayer"
accept = "reference"
assets = ["ETH"]
concurrency = 64
msg-timeout = "60s"
throttle = { in-flight = 16, per-second = 25.0, burst = 5 }
plan-timeout = "10s"
review-after = "5m"
confirm-after = "1h"
insufficient-funds = "fail"
rpc-url = "http://127.0.0.1:8545"
chain-id = 1337
keystore = "key.json"
max-fee-per-gas = "100gwei"
[routes.webhooks]
sender = "webhook"
topic = "intents.webhooks"
throttle.per-second = "unlimited"
url = "https://pay.example/v1"
idempotent = true
key-retention = "24h"
`

// write makes a relayer.toml and gives its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "relayer.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, text string, environ []string, flags ...config.Setting) config.Config {
	t.Helper()
	cfg, err := config.Load(write(t, text), environ, flags...)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return cfg
}

func TestFileWithEverythingMakesSense(t *testing.T) {
	cfg := load(t, plain, nil)
	if err := cfg.Validate(); err != nil {
		t.Fatalf("validate: %v", err)
	}
	if w := cfg.Warnings(); len(w) > 0 {
		t.Errorf("warnings: %q", w)
	}
	payouts, webhooks := cfg.Routes["payouts"], cfg.Routes["webhooks"]
	want := relayer.Config{Route: "payouts", Topic: "intents.payouts", Concurrency: 64, Weight: 1, Assets: []string{"ETH"},
		PlanTimeout: 10 * time.Second, PrepareTimeout: 10 * time.Second, SubmitTimeout: 10 * time.Second, StoreTimeout: 5 * time.Second,
		DrainTimeout: 45 * time.Second, ReviewAfter: 5 * time.Minute, ConfirmAfter: time.Hour}
	if d := cmp.Diff(want, cfg.Engine("payouts")); d != "" {
		t.Errorf("engine (-want +got):\n%s", d)
	}
	limits := relayer.ThrottleConfig{PerSecond: 25, Burst: 5, InFlight: 16, ReadShare: 0.2}
	if d := cmp.Diff(limits, payouts.Throttle.Config()); d != "" {
		t.Errorf("throttle (-want +got):\n%s", d)
	}
	if got := payouts.EVM.MaxFeePerGas.String(); got != "100000000000" {
		t.Errorf("max-fee-per-gas: got %s wei", got)
	}
	if got := webhooks.Throttle.Config().PerSecond; got != relayer.Unlimited {
		t.Errorf("per-second: got %v", got)
	}
	if !webhooks.Webhook.Idempotent || webhooks.Webhook.KeyRetention != 24*time.Hour || webhooks.Channel != "relayer" || webhooks.MsgTimeout != time.Minute {
		t.Errorf("webhooks: got %+v", *webhooks)
	}
}

func TestFeesAndFinality(t *testing.T) {
	more := "finality = \"finalized\"\nfee-percentile = 60.0\nbump-after = 4\nbump-percent = 20\nmax-bumps = 5\nno-bump = true\nresend-after = \"45s\"\n"
	cfg := load(t, strings.Replace(plain, "chain-id", more+"chain-id", 1), nil)
	if err := cfg.Validate(); err != nil {
		t.Fatalf("validate: %v", err)
	}
	e := cfg.Routes["payouts"].EVM
	if e.Finality != "finalized" || e.FeePercentile != 60 || e.BumpAfter != 4 || e.BumpPercent != 20 || e.MaxBumps != 5 || !e.NoBump || e.ResendAfter != 45*time.Second {
		t.Errorf("got %+v", e)
	}
}

// TestOutputBufferTimeout is a time that nsqd takes, or -1 as NSQ has it, from wherever.
func TestOutputBufferTimeout(t *testing.T) {
	const path = "routes.payouts.output-buffer-timeout"
	with := func(value string) string {
		return strings.Replace(plain, "concurrency = 64", "concurrency = 64\noutput-buffer-timeout = "+value, 1)
	}
	if got := load(t, plain, nil).Routes["payouts"].OutputBufferTimeout; got != config.BufferTime(25*time.Millisecond) {
		t.Errorf("the default is %s, want 25ms", got)
	}
	for value, want := range map[string]config.BufferTime{
		`-1`: config.Unbuffered, `"-1"`: config.Unbuffered, `"25ms"`: config.BufferTime(25 * time.Millisecond), `"30s"`: config.BufferTime(30 * time.Second),
	} {
		cfg := load(t, with(value), nil)
		if got := cfg.Routes["payouts"].OutputBufferTimeout; got != want || !strings.Contains(cfg.String(), path+" = "+want.String()+" (") {
			t.Errorf("%s: %s, want %s, shown in %s", value, got, want, cfg)
		}
	}
	if got := load(t, plain, []string{"RELAYER_ROUTES_PAYOUTS_OUTPUT_BUFFER_TIMEOUT=-1"}).Routes["payouts"].OutputBufferTimeout; got != config.Unbuffered {
		t.Errorf("a variable: %s", got)
	}
	for _, bad := range []string{`0`, `"0s"`, `-2`, `"-1ms"`, `"24ms"`, `"31s"`, `250`, `true`, `"soon"`, `""`} {
		_, err := config.Load(write(t, with(bad)), nil)
		if err == nil || !strings.Contains(err.Error(), path+": ") || !strings.Contains(err.Error(), "want 25ms to 30s, or -1") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestDefaultsWithoutAnything(t *testing.T) {
	cfg, err := config.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.DrainTimeout != 45*time.Second || cfg.LogFormat != "auto" || len(cfg.Routes) != 0 || cfg.From("drain-timeout") != "default" {
		t.Errorf("got %+v", cfg)
	}
}

func TestPrecedence(t *testing.T) {
	const path, env = "routes.payouts.concurrency", "RELAYER_ROUTES_PAYOUTS_CONCURRENCY"
	flag := config.Setting{Path: path, Value: "4", From: "--set"}
	without := strings.Replace(plain, "concurrency = 64", "", 1)
	in := func(n string) string { return strings.Replace(plain, "concurrency = 64", "concurrency = "+n, 1) }
	tests := []struct {
		name, file string
		environ    []string
		flags      []config.Setting
		want       int
		from       string
	}{
		{"default", without, nil, nil, 64, "default"},
		{"file over default", in("2"), nil, nil, 2, "relayer.toml:11"},
		{"env over file", in("2"), []string{env + "=3"}, nil, 3, env},
		{"flag over env", in("2"), []string{env + "=3"}, []config.Setting{flag}, 4, "--set"},
		{"flag over file", in("2"), nil, []config.Setting{flag}, 4, "--set"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := load(t, tt.file, tt.environ, tt.flags...)
			if got := cfg.Routes["payouts"].Concurrency; got != tt.want || cfg.From(path) != tt.from {
				t.Errorf("got %d from %s, want %d from %s", got, cfg.From(path), tt.want, tt.from)
			}
		})
	}
}

func TestVariableNames(t *testing.T) {
	for path, want := range map[string]string{
		"database-url":                       "RELAYER_DATABASE_URL",
		"database-url-file":                  "RELAYER_DATABASE_URL_FILE",
		"nsq.nsqd-tcp-address":               "RELAYER_NSQD_TCP_ADDRESS",
		"routes.pay-outs.throttle.in-flight": "RELAYER_ROUTES_PAY_OUTS_THROTTLE_IN_FLIGHT",
	} {
		if got := config.Variable(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestListsFromVariablesStandBetweenCommas(t *testing.T) {
	cfg := load(t, plain, []string{"RELAYER_NSQD_TCP_ADDRESS=a:4150, b:4150", "RELAYER_ROUTES_PAYOUTS_ASSETS=ETH,WETH"})
	if !slices.Equal(cfg.NSQ.NSQDTCPAddress, []string{"a:4150", "b:4150"}) || !slices.Equal(cfg.Routes["payouts"].Assets, []string{"ETH", "WETH"}) {
		t.Errorf("got %q, %q", cfg.NSQ.NSQDTCPAddress, cfg.Routes["payouts"].Assets)
	}
}

func TestVariablesOfOthersAreLeftAlone(t *testing.T) {
	cfg := load(t, plain, []string{"RELAYER_PORT=tcp://10.0.0.1:80", "RELAYER_SERVICE_HOST=10.0.0.1", "RELAYER_ROUTES_PAYOUT_TOPIC=x"})
	if err := cfg.Validate(); err != nil {
		t.Errorf("validate: %v", err)
	}
	w := cfg.Warnings()
	if len(w) != 1 || !strings.Contains(w[0], "RELAYER_ROUTES_PAYOUT_TOPIC") {
		t.Errorf("warnings: got %q, want one about the mistyped route", w)
	}
}

// TestWrongValues: everything that is wrong with single values is said at once, each with its source and path.
func TestWrongValues(t *testing.T) {
	text := strings.NewReplacer(
		`msg-timeout = "60s"`, "msg-timeout = 60",
		"concurrency = 64", "concurrency = -1",
		"burst = 5", `bursts = 5`,
		`review-after = "5m"`, `review-after = "0s"`,
		`assets = ["ETH"]`, "assets = [1]",
		"idempotent = true", `idempotent = "perhaps"`,
		`max-fee-per-gas = "100gwei"`, `max-fee-per-gas = "1.5gwei"`,
		"chain-id = 1337", "chain-id = 1.5",
	).Replace(plain)
	_, err := config.Load(write(t, "colour = 7\n"+text), []string{"RELAYER_DRAIN_TIMEOUT=soon"},
		config.Setting{Path: "routes.payouts.topics", Value: "x", From: "--set"})
	lines := strings.Split(err.Error(), "\n")
	for _, want := range []string{
		`relayer.toml:1: settings: "colour" is invalid, want one of database-url, database-url-file, drain-timeout, http-address, http-api, http-burst, http-pprof, http-rate, log-format, log-level, nsq, routes`,
		`relayer.toml:13: routes.payouts.msg-timeout: "60" is invalid, want a time above zero, like "60s"`,
		`relayer.toml:12: routes.payouts.concurrency: "-1" is invalid, want a whole number, at least 1`,
		`relayer.toml:14: routes.payouts.throttle: "bursts" is invalid, want one of burst, cost, in-flight, per-second, read-share`,
		`relayer.toml:16: routes.payouts.review-after: "0s" is invalid, want a time above zero, like "60s"`,
		`relayer.toml:11: routes.payouts.assets: "1" is invalid, want a list of strings`,
		`relayer.toml:28: routes.webhooks.idempotent: "perhaps" is invalid, want true or false`,
		`relayer.toml:22: routes.payouts.max-fee-per-gas: "1.5gwei" is invalid, want a whole number of wei above 0, or one like "30gwei"`,
		`relayer.toml:20: routes.payouts.chain-id: "1.5" is invalid, want a whole number, at least 1`,
		`RELAYER_DRAIN_TIMEOUT: drain-timeout: "soon" is invalid, want a time above zero, like "60s"`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if !strings.Contains(err.Error(), `--set: routes.payouts: "topics" is invalid, want one of accept, `) {
		t.Errorf("the flag's error is missing")
	}
	if t.Failed() {
		t.Logf("got:\n%v", err)
	}
	if _, ok := errors.AsType[*intents.InvalidError](err); !ok {
		t.Errorf("got %T, want an InvalidError inside", err)
	}
}

func TestUnreadableFiles(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no TOML", "a = 1\nb = = 2\n", "relayer.toml:2: config: "},
		{"a key twice", "a = 1\na = 2\n", "relayer.toml:2: config: "},
		{"a route's name", "[routes.\"a b\"]\n", `relayer.toml: routes: "a b" is invalid, want a name`},
		{"routes is no table", "routes = 5\n", `relayer.toml:1: routes: "" is invalid, want a table`},
		{"a table for a value", "[database-url]\nx = 1\n", `relayer.toml:2: database-url: "x" is invalid, want nothing below it`},
		{"an unknown table", "[routes.a.b.c]\nx = 1\n", `relayer.toml:2: routes.a: "b" is invalid, want one of accept, `},
		{"an array of tables", "[[nsq]]\nx = 1\n", `relayer.toml:1: nsq: "" is invalid, want a table`},
		{"a value for a route", "[routes]\npayouts = 1\n", `relayer.toml:2: routes.payouts: "" is invalid, want a table`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Load(write(t, tt.text), nil)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s…", err, tt.want)
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		_, err := config.Load("nowhere.toml", nil)
		if err == nil || err.Error() != `config: "nowhere.toml" is invalid, want a file that can be read (no such file or directory)` {
			t.Errorf("got %v", err)
		}
	})
}
