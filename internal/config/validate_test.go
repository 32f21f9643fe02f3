package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
)

// TestNonsense: each setting that makes no sense is refused by its path, with its value and what would be right.
func TestNonsense(t *testing.T) {
	tests := []struct{ name, old, text, want string }{
		{"drain-timeout within submit and store", "[nsq]", "drain-timeout = \"15s\"\n[nsq]",
			`relayer.toml:3: drain-timeout: "15s" is invalid, want more than submit-timeout and store-timeout together (15s) of routes.payouts`},
		{"review-after within a claim's term", `review-after = "5m"`, `review-after = "35s"`,
			`relayer.toml:15: routes.payouts.review-after: "35s" is invalid, want more than a claim's term (35s)`},
		{"msg-timeout below nsqd's", `msg-timeout = "60s"`, `msg-timeout = "999ms"`,
			`relayer.toml:12: routes.payouts.msg-timeout: "999ms" is invalid, want 1s to 15m0s, nsqd's --max-msg-timeout`},
		{"msg-timeout above nsqd's", `msg-timeout = "60s"`, `msg-timeout = "16m"`, `routes.payouts.msg-timeout: "16m0s" is invalid, want 1s to 15m0s`},
		{"msg-timeout above a configured nsqd's", "[nsq]", "[nsq]\nmax-msg-timeout = \"59s\"", `routes.payouts.msg-timeout: "1m0s" is invalid, want 1s to 59s`},
		{"no rate", "per-second = 25.0, ", "", `routes.payouts.throttle.per-second: "" is invalid, want a number above 0, or "unlimited" (not set)`},
		{"rate zero", "per-second = 25.0", "per-second = 0", `relayer.toml:13: routes.payouts.throttle.per-second: "0" is invalid, want a number above 0, or "unlimited"`},
		{"rate negative", "per-second = 25.0", "per-second = -1.5", `throttle.per-second: "-1.5" is invalid`},
		{"rate infinite", "per-second = 25.0", "per-second = inf", `throttle.per-second: "+Inf" is invalid, want a number above 0, or "unlimited"`},
		{"rate no number", "per-second = 25.0", "per-second = nan", `throttle.per-second: "NaN" is invalid`},
		{"cost above burst", "burst = 5", "burst = 5, cost = 6", `routes.payouts.throttle.cost: "6" is invalid, want 1 to the burst of 5, or it can never pass`},
		{"read-share of everything", "burst = 5", "burst = 5, read-share = 1.0", `routes.payouts.throttle.read-share: "1" is invalid, want from 0 to below 1`},
		{"key-retention missing", `key-retention = "24h"`, "", `routes.webhooks.key-retention: "" is invalid, want how long the other side remembers a key`},
		{"no topic", `topic = "intents.payouts"`, "", `routes.payouts.topic: "" is invalid, want the topic of the route's messages (not set)`},
		{"bad topic", `topic = "intents.payouts"`, `topic = "intents/payouts"`, `relayer.toml:7: routes.payouts.topic: "intents/payouts" is invalid`},
		{"one topic for two", `topic = "intents.webhooks"`, `topic = "intents.payouts"`, `routes.webhooks.topic: "intents.payouts" is invalid, want a topic of its own; routes.payouts has this one`},
		{"bad channel", `channel = "relayer"`, `channel = "a b"`, `routes.payouts.channel: "a b" is invalid`},
		{"unknown sender", `sender = "evm"`, `sender = "tron"`, `relayer.toml:6: routes.payouts.sender: "tron" is invalid, want evm or webhook`},
		{"unknown accept", `accept = "reference"`, `accept = "any"`, `routes.payouts.accept: "any" is invalid, want reference or full`},
		{"unknown insufficient-funds", `"fail"`, `"borrow"`, `routes.payouts.insufficient-funds: "borrow" is invalid, want fail or wait`},
		{"no rpc-url", `rpc-url = "http://127.0.0.1:8545"`, "", `routes.payouts.rpc-url: "" is invalid, want a URL of http, https (not set)`},
		{"no chain-id", "chain-id = 1337", "", `routes.payouts.chain-id: "" is invalid, want the chain's id (not set)`},
		{"finality", "chain-id = 1337", "chain-id = 1337\nfinality = \"latest\"", `routes.payouts.finality: "latest" is invalid, want depth, safe or finalized`},
		{"fee-percentile", "chain-id = 1337", "chain-id = 1337\nfee-percentile = 100.5", `routes.payouts.fee-percentile: "100.5" is invalid, want above 0, at most 100`},
		{"bump-percent", "chain-id = 1337", "chain-id = 1337\nbump-percent = 9", `routes.payouts.bump-percent: "9" is invalid, want 10, which pools ask for, to 1000`},
		{"no keystore", `keystore = "key.json"`, "", `routes.payouts.keystore: "" is invalid`},
		{"passphrases of other keystores", `keystore = "key.json"`, "keystore = [\"a.json\", \"b.json\", \"c.json\"]\npassphrase = \"secret one\\nsecret two\"",
			`routes.payouts.passphrase: "***" is invalid, want one of all keystores, or a line for each in their order`},
		{"two signers", `keystore = "key.json"`, "keystore = \"key.json\"\n" + remoteSigner, `relayer.toml:20: routes.payouts.keystore: "key.json" is invalid, want nothing beside signer-url`},
		{"a signer of another kind", `keystore = "key.json"`, strings.Replace(remoteSigner, "clef", "ledger", 1), `signer-kind: "ledger" is invalid, want clef or web3signer`},
		{"a signer without address", `keystore = "key.json"`, strings.Replace(remoteSigner, "0x5", "5", 1), `signer-address: "52908400098527886E0F7030069857D2E4169EE7" is invalid, want an address`},
		{"a signer's kind without URL", `keystore = "key.json"`, "keystore = \"key.json\"\nsigner-kind = \"clef\"", `signer-kind: "clef" is invalid, want nothing without signer-url`},
		{"no url", `url = "https://pay.example/v1"`, "", `routes.webhooks.url: "" is invalid, want a URL of http, https (not set)`},
		{"a setting of the other sender", "chain-id = 1337", "chain-id = 1337\nidempotent = true", `routes.payouts.idempotent: "***" is invalid, want nothing: a route of sender evm has no such setting`},
		{"no NSQ", `nsqlookupd-http-address = ["127.0.0.1:4161"]`, "", `nsq.nsqlookupd-http-address: "" is invalid, want at least one address, or one of nsq.nsqd-tcp-address (not set)`},
		{"an address without port", "127.0.0.1:4161", "127.0.0.1", `relayer.toml:4: nsq.nsqlookupd-http-address: "127.0.0.1" is invalid, want host:port`},
		{"half the HTTP addresses", "[nsq]", "[nsq]\nnsqd-tcp-address = [\"a:1\", \"b:1\"]\nnsqd-http-address = [\"a:2\"]", `nsq.nsqd-http-address: "a:2" is invalid, want none, or one for each of the 2 nsq.nsqd-tcp-address`},
		{"no database", `database-url = "postgres://relayer@localhost/relayer?sslmode=disable"`, "", `database-url: "" is invalid, want postgres://user@host/database`},
		{"another database", "postgres://", "mysql://", `relayer.toml:2: database-url: "mysql://localhost/***" is invalid`},
		{"an address to serve without port", "[nsq]", "http-address = \"127.0.0.1\"\n[nsq]", `relayer.toml:3: http-address: "127.0.0.1" is invalid, want host:port`},
		{"profiles served nowhere", "[nsq]", "http-pprof = true\n[nsq]", `http-pprof: "true" is invalid, want false, or an http-address to serve profiles at`},
		{"log-level", "[nsq]", "log-level = \"loud\"\n[nsq]", `log-level: "loud" is invalid, want debug, info, warn or error`},
		{"log-format", "[nsq]", "log-format = \"xml\"\n[nsq]", `log-format: "xml" is invalid, want auto, text or json`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(plain, tt.old) {
				t.Fatalf("the file has no %q", tt.old)
			}
			err := load(t, strings.Replace(plain, tt.old, tt.text, 1), nil).Validate()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
			if _, ok := errors.AsType[*intents.InvalidError](err); !ok {
				t.Errorf("got %T, want an InvalidError inside", err)
			}
			if n := len(strings.Split(err.Error(), "\n")); n > 2 || n > 1 && tt.old != "[nsq]" {
				t.Errorf("one slip is told as %d:\n%v", n, err)
			}
		})
	}
}

func TestValidateSaysAllAtOnce(t *testing.T) {
	cfg := load(t, "[routes.a]\nsender = \"evm\"\n[routes.b]\nsender = \"webhook\"\n", nil)
	err := cfg.Validate()
	for _, path := range []string{"database-url", "nsq.nsqlookupd-http-address", "routes.a.topic", "routes.a.rpc-url", "routes.b.topic", "routes.b.url", "routes.b.throttle.per-second"} {
		if err == nil || !strings.Contains(err.Error(), path+": ") {
			t.Errorf("%s is missing in %v", path, err)
		}
	}
}

func TestNoRoutes(t *testing.T) {
	cfg := load(t, "", nil)
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), `routes: "" is invalid, want at least one route`) {
		t.Errorf("got %v", err)
	}
	if _, err := cfg.Route("payouts"); err == nil || !strings.Contains(err.Error(), "relayer.toml, which has none") {
		t.Errorf("got %v", err)
	}
}

func TestUnlimitedNeedsNoBurst(t *testing.T) {
	cfg := load(t, strings.Replace(plain, "per-second = 25.0, burst = 5", `per-second = "unlimited", cost = 9`, 1), nil)
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
}

func TestRouteByName(t *testing.T) {
	cfg := load(t, plain, nil)
	if r, err := cfg.Route("payouts"); err != nil || r.Topic != "intents.payouts" {
		t.Errorf("got %v, %v", r, err)
	}
	_, err := cfg.Route("payout")
	if err == nil || err.Error() != `route: "payout" is invalid, want one of payouts, webhooks` {
		t.Errorf("got %v", err)
	}
}

// TestFewInFlightOnlyWarns: go-nsq hands readiness around where there are fewer than 4 in flight for each nsqd.
func TestFewInFlightOnlyWarns(t *testing.T) {
	cfg := load(t, plain, []string{"RELAYER_NSQD_TCP_ADDRESS=a:1,b:1", "RELAYER_ROUTES_PAYOUTS_CONCURRENCY=7"})
	if err := cfg.Validate(); err != nil {
		t.Errorf("validate: %v", err)
	}
	w := cfg.Warnings()
	if len(w) != 1 || !strings.HasPrefix(w[0], "routes.payouts.concurrency: 7 is under 4 for each of 2 nsqds") {
		t.Errorf("warnings: got %q", w)
	}
	cfg = load(t, plain, []string{"RELAYER_NSQD_TCP_ADDRESS=a:1,b:1", "RELAYER_ROUTES_PAYOUTS_CONCURRENCY=8"})
	if w := cfg.Warnings(); len(w) != 0 {
		t.Errorf("warnings of 8: got %q", w)
	}
}

func TestLibpqVariablesCanNameTheDatabase(t *testing.T) {
	cfg := load(t, "", []string{"PGHOST=/var/run/postgresql"})
	if dsn, err := cfg.DSN(); dsn != "" || err != nil {
		t.Errorf("got %q, %v", dsn, err)
	}
	if dsn, err := load(t, `database-url = "host=db user=relayer"`, nil).DSN(); dsn != "host=db user=relayer" || err != nil {
		t.Errorf("key=value: got %q, %v", dsn, err)
	}
}

func TestSecretTwins(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "url")
	if err := os.WriteFile(file, []byte("http://from-file:8545\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const was = `rpc-url = "http://127.0.0.1:8545"`
	tests := []struct {
		name, setting string
		environ       []string
		want, wrong   string
	}{
		{"a file", `rpc-url-file = "` + file + `"`, nil, "http://from-file:8545", ""},
		{"a variable", `rpc-url-env = "MY_RPC"`, []string{"MY_RPC=http://from-env:8545"}, "http://from-env:8545", ""},
		{"our variable beats the file's twin", `rpc-url-file = "` + file + `"`, []string{"RELAYER_ROUTES_PAYOUTS_RPC_URL=http://ours:1"}, "http://ours:1", ""},
		{"our variable's twin beats the file", was, []string{"RELAYER_ROUTES_PAYOUTS_RPC_URL_FILE=" + file}, "http://from-file:8545", ""},
		{"no file", `rpc-url-file = "/nowhere/url"`, nil, "", `routes.payouts.rpc-url-file: "/nowhere/url" is invalid, want a file that can be read (no such file or directory)`},
		{"an empty file", `rpc-url-file = "` + empty + `"`, nil, "", `is invalid, want a file that is not empty`},
		{"no variable", `rpc-url-env = "MY_RPC"`, nil, "", `routes.payouts.rpc-url-env: "MY_RPC" is invalid, want the name of a variable that is set`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := load(t, strings.Replace(plain, was, tt.setting, 1), tt.environ)
			if got := cfg.Routes["payouts"].EVM.RPCURL.Reveal(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			err := cfg.Validate()
			if tt.wrong == "" && err != nil || tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) {
				t.Errorf("validate: got %v, want %q", err, tt.wrong)
			}
		})
	}
	t.Run("both", func(t *testing.T) {
		_, err := config.Load(write(t, strings.Replace(plain, was, was+"\nrpc-url-file = \"x\"", 1)), nil)
		if err == nil || !strings.Contains(err.Error(), "routes.payouts.rpc-url-file: \"***\" is invalid, want only one of it and routes.payouts.rpc-url") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("on the command line", func(t *testing.T) {
		_, err := config.Load("", nil, config.Setting{Path: "routes.webhooks.secret", Value: "SECRETKEY", From: "--set"})
		if err == nil || strings.Contains(err.Error(), "SECRETKEY") || !strings.Contains(err.Error(), "RELAYER_ROUTES_WEBHOOKS_SECRET") {
			t.Errorf("got %v", err)
		}
	})
}

func TestHeadersFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "headers")
	set := strings.Replace(plain, "idempotent = true", "idempotent = true\nheaders-file = \""+file+"\"", 1)
	if err := os.WriteFile(file, []byte("# ours\nAuthorization: Bearer: SECRET2\n\nX-Team : pay\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := load(t, set, nil)
	h := cfg.Routes["webhooks"].Webhook.Headers()
	if len(h) != 2 || h["Authorization"] != "Bearer: SECRET2" || h["X-Team"] != "pay" {
		t.Errorf("got %d headers", len(h))
	}
	if err := os.WriteFile(file, []byte("X-Team: pay\nSECRET2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := load(t, set, nil).Validate()
	if err == nil || strings.Contains(err.Error(), "SECRET2") || !strings.Contains(err.Error(), `headers, line 2" is invalid, want Name: value`) &&
		!strings.Contains(err.Error(), `, line 2" is invalid, want Name: value`) {
		t.Errorf("got %v", err)
	}
}

const remoteSigner = `signer-url = "http://127.0.0.1:8550/SECRETKEY"
signer-kind = "clef"
signer-address = "0x52908400098527886E0F7030069857D2E4169EE7"`

// TestRemoteSigner stands in for the keystore, its URL is a secret with twins.
func TestRemoteSigner(t *testing.T) {
	cfg := load(t, strings.Replace(plain, `keystore = "key.json"`, remoteSigner, 1), nil)
	if err := cfg.Validate(); err != nil {
		t.Errorf("got %v", err)
	}
	if strings.Contains(cfg.String(), "SECRETKEY") || strings.Contains(cfg.Redact("at /SECRETKEY"), "SECRETKEY") {
		t.Errorf("case 111: shown: %s", cfg)
	}
	twin := strings.Replace(remoteSigner, `signer-url = "http://127.0.0.1:8550/SECRETKEY"`, `signer-url-env = "SIGNER"`, 1)
	cfg = load(t, strings.Replace(plain, `keystore = "key.json"`, twin, 1), []string{"SIGNER=http://127.0.0.1:9000"})
	if err := cfg.Validate(); err != nil || cfg.Routes["payouts"].EVM.SignerURL.Reveal() != "http://127.0.0.1:9000" {
		t.Errorf("the twin: %v", err)
	}
	err := load(t, strings.Replace(plain, `keystore = "key.json"`, twin, 1), nil).Validate()
	if err == nil || strings.Contains(err.Error(), "keystore") || !strings.Contains(err.Error(), "signer-url-env") {
		t.Errorf("a twin that leads nowhere: %v", err)
	}
}

// TestTokens are a table in the file and a text elsewhere; the later layer is the whole of it.
func TestTokens(t *testing.T) {
	const usdc, dai = "0x52908400098527886E0F7030069857D2E4169EE7", "0x8617E340B3D01FA5F11F306F4090FD50E238070D"
	for name, text := range map[string]string{
		"inline":  `tokens = { USDC = "` + usdc + `", "DAI.e" = "` + dai + `" }`,
		"a table": "[routes.payouts.tokens]\nUSDC = \"" + usdc + "\"\n\"DAI.e\" = \"" + dai + `"`,
		"text":    `tokens = "USDC=` + usdc + `, DAI.e=` + dai + `"`,
	} {
		cfg := load(t, strings.Replace(plain, "[routes.webhooks]", text+"\n[routes.webhooks]", 1), nil)
		if got := cfg.Routes["payouts"].EVM.Tokens; len(got) != 2 || got["USDC"] != usdc || got["DAI.e"] != dai {
			t.Errorf("%s: %v", name, got)
		}
		if err := cfg.Validate(); err != nil || !strings.Contains(cfg.String(), "routes.payouts.tokens = DAI.e="+dai+",USDC="+usdc) {
			t.Errorf("%s: %v, shown as %s", name, err, cfg)
		}
	}
	cfg := load(t, plain, []string{"RELAYER_ROUTES_PAYOUTS_TOKENS=USDC=" + dai})
	if got := cfg.Routes["payouts"].EVM.Tokens; len(got) != 1 || got["USDC"] != dai {
		t.Errorf("a variable: %v", got)
	}
	for _, bad := range []string{"USDC", "USDC=0x52", "=" + usdc, "USDC=" + usdc + ",USDC=" + dai, "US DC=" + usdc} {
		_, err := config.Load(write(t, plain), []string{"RELAYER_ROUTES_PAYOUTS_TOKENS=" + bad})
		if err == nil || !strings.Contains(err.Error(), "routes.payouts.tokens") || !strings.Contains(err.Error(), "assets with their contracts") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestAssetsAreNamed: an asset without a contract must not be taken for the chain's own coin.
func TestAssetsAreNamed(t *testing.T) {
	const usdc = "0x52908400098527886E0F7030069857D2E4169EE7"
	for _, tt := range []struct {
		env []string
		bad string
	}{
		{[]string{"ASSETS=ETH"}, ""},
		{[]string{"ASSETS=ETH,USDC", "TOKENS=USDC=" + usdc}, ""},
		{[]string{"ASSETS=MATIC", "COIN=MATIC"}, ""},
		{[]string{"ASSETS=USDC"}, `routes.payouts.assets: "USDC" is invalid, want the coin (ETH) or one of tokens`},
		{[]string{"ASSETS=USDT", "TOKENS=USDC=" + usdc}, `routes.payouts.assets: "USDT" is invalid`},
		{[]string{"ASSETS=ETH", "COIN=MATIC"}, `want the coin (MATIC) or one of tokens`},
	} {
		for i := range tt.env {
			tt.env[i] = "RELAYER_ROUTES_PAYOUTS_" + tt.env[i]
		}
		err := load(t, plain, tt.env).Validate()
		if tt.bad == "" && err != nil || tt.bad != "" && (err == nil || !strings.Contains(err.Error(), tt.bad)) {
			t.Errorf("%v: %v", tt.env, err)
		}
	}
}

// TestPassphrases: one line opens all keystores, more lines one each. None of them is ever shown.
func TestPassphrases(t *testing.T) {
	for _, tt := range []struct {
		files, text string
		want        []string
	}{
		{`"a.json"`, "one\\ntwo", []string{"one\ntwo"}},
		{`["a.json", "b.json"]`, "the one", []string{"the one", "the one"}},
		{`["a.json", "b.json"]`, "the first\\r\\nthe second", []string{"the first", "the second"}},
		{`"a.json, b.json"`, "the first\\nthe second", []string{"the first", "the second"}},
	} {
		cfg := load(t, strings.Replace(plain, `keystore = "key.json"`, "keystore = "+tt.files+"\npassphrase = \""+tt.text+"\"", 1), nil)
		if err := cfg.Validate(); err != nil {
			t.Errorf("%s: %v", tt.files, err)
		}
		if got := cfg.Routes["payouts"].EVM.Passphrases(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: passphrases %q, want %q", tt.files, got, tt.want)
		}
		if shown := cfg.Redact("wrong: " + tt.want[len(tt.want)-1]); shown != "wrong: ***" && len(tt.want[0]) > 3 {
			t.Errorf("shown: %s", shown)
		}
	}
}
