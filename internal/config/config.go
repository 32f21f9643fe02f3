// Package config reads the settings of the relayer: relayer.toml, RELAYER_… variables and flags.
//
// A setting has one path, such as routes.payouts.throttle.per-second, and every place that may give it a value uses it:
// the file as its keys, the environment as RELAYER_ROUTES_PAYOUTS_THROTTLE_PER_SECOND, the command line as
// --set routes.payouts.throttle.per-second=25. A flag beats the environment, that beats the file, that beats the default.
package config

import (
	"time"

	"github.com/nsqrelayer/relayer/relayer"
)

// DefaultPath is the file that is read when none is named and it exists.
const DefaultPath = "relayer.toml"

// Config is every setting. [Load] makes one; it holds defaults where nothing was set.
type Config struct {
	DatabaseURL     Secret `toml:"database-url"` // as libpq reads it; see DSN
	DatabaseURLFile string `toml:"database-url-file"`

	NSQ NSQ `toml:"nsq"`

	HTTPAddress  string        `toml:"http-address"`  // host:port of the API, /metrics and /livez. Default: empty, no server
	HTTPAPI      bool          `toml:"http-api"`      // serve the API there, under /v1/. Default true
	HTTPRate     int           `toml:"http-rate"`     // requests a second for each token. Default 50
	HTTPBurst    int           `toml:"http-burst"`    // requests of a token at once. Default 100
	HTTPPprof    bool          `toml:"http-pprof"`    // serve Go's profiles there, under /debug/pprof/. Default false
	DrainTimeout time.Duration `toml:"drain-timeout"` // how long begun sends may go on after a stop. Default 45s
	LogLevel     string        `toml:"log-level"`     // debug, info, warn or error. Default: empty, the command's own
	LogFormat    string        `toml:"log-format"`    // auto, text or json. Default auto: text on a terminal

	Routes map[string]*Route `toml:"routes"` // by name

	from   map[string]string // by path: what set it
	broken map[string]error  // by path: secrets that could not be read
	warn   []string
	libpq  bool // the environment says where the database is, as libpq reads it
}

// NSQ says where NSQ is, in NSQ's own spellings. Its variables and flags leave out the table's name:
// RELAYER_NSQD_TCP_ADDRESS.
type NSQ struct {
	NSQLookupdHTTPAddress []string `toml:"nsqlookupd-http-address"`
	NSQDTCPAddress        []string `toml:"nsqd-tcp-address"`
	NSQDHTTPAddress       []string `toml:"nsqd-http-address"` // of nsqd-tcp-address, in the same order. Default: none

	MaxMsgTimeout time.Duration `toml:"max-msg-timeout"` // nsqd's flag of that name. Default: 0, each nsqd is asked
	MaxReqTimeout time.Duration `toml:"max-req-timeout"` // nsqd's flag of that name. Default 1h
}

// Route is a named sender with its topic, limits and policies.
type Route struct {
	Sender      string        `toml:"sender"`      // evm or webhook; required
	Topic       string        `toml:"topic"`       // required
	Channel     string        `toml:"channel"`     // Default relayer
	Accept      string        `toml:"accept"`      // reference, or full: who can publish can create intents. Default reference
	Assets      []string      `toml:"assets"`      // what may be sent. Default: empty, whatever the sender knows
	Concurrency int           `toml:"concurrency"` // deliveries worked at once. Default 64
	MsgTimeout  time.Duration `toml:"msg-timeout"` // asked of nsqd for each lease. Default 60s

	OutputBufferTimeout BufferTime `toml:"output-buffer-timeout"` // how long nsqd may hold a message back to fill a packet; -1: not at all. Default 25ms

	Throttle Throttle `toml:"throttle"`

	PlanTimeout    time.Duration `toml:"plan-timeout"`    // Default 10s
	PrepareTimeout time.Duration `toml:"prepare-timeout"` // Default 10s
	SubmitTimeout  time.Duration `toml:"submit-timeout"`  // Default 10s
	StoreTimeout   time.Duration `toml:"store-timeout"`   // Default 5s

	ReviewAfter       time.Duration `toml:"review-after"`       // since the first claim. Default 5m
	ConfirmAfter      time.Duration `toml:"confirm-after"`      // confirming longer than that goes to a person. Default 1h
	InsufficientFunds string        `toml:"insufficient-funds"` // fail or wait. Default fail

	EVM     EVM     `toml:",inline"`
	Webhook Webhook `toml:",inline"`
}

// Throttle bounds what a route asks of the other side.
type Throttle struct {
	InFlight  int     `toml:"in-flight"`  // sends at a time. Default 16
	PerSecond Rate    `toml:"per-second"` // or "unlimited"; required
	Burst     int     `toml:"burst"`      // at once after a quiet time. Default 1
	Cost      int     `toml:"cost"`       // permits one send takes. Default 1
	ReadShare float64 `toml:"read-share"` // part of the rate kept for observers, from 0 to below 1. Default 0.2
}

// EVM is what a route of sender evm has besides. Zero numbers mean the sender's own default.
type EVM struct {
	RPCURL     Secret `toml:"rpc-url"` // it or rpc-urls is required; path and query may hold keys and are never shown
	RPCURLFile string `toml:"rpc-url-file"`
	RPCURLEnv  string `toml:"rpc-url-env"`

	RPCURLs     Endpoints `toml:"rpc-urls"` // instead of rpc-url: several, with weights for reads; see Endpoints
	RPCURLsFile string    `toml:"rpc-urls-file"`
	RPCURLsEnv  string    `toml:"rpc-urls-env"`

	ChainID        uint64   `toml:"chain-id"`   // required
	Keystore       []string `toml:"keystore"`   // go-ethereum keystore files, one of each signer; required, or signer-url
	Passphrase     Secret   `toml:"passphrase"` // of all of them, or a line for each in their order; see Passphrases
	PassphraseFile string   `toml:"passphrase-file"`
	PassphraseEnv  string   `toml:"passphrase-env"`
	Confirmations  int      `toml:"confirmations"`
	MaxFeePerGas   Wei      `toml:"max-fee-per-gas"`
	Window         int      `toml:"window"`      // nonces that may be given out and not used yet. Default 16
	LowBalance     Wei      `toml:"low-balance"` // of a signer, under which it is told. Default: never

	Finality      string        `toml:"finality"`       // depth (see confirmations), safe or finalized. Default depth
	FeePercentile float64       `toml:"fee-percentile"` // of the tips in a block, which one is paid. Default 50
	BumpAfter     int           `toml:"bump-after"`     // blocks that pass by the lowest open nonce before its fee is raised. Default 3
	BumpPercent   int           `toml:"bump-percent"`   // by how much, at least 10. Default 10
	MaxBumps      int           `toml:"max-bumps"`      // how often; then the same bytes go on. Default 10
	NoBump        bool          `toml:"no-bump"`        // for chains without a pool: fees are never raised
	ResendAfter   time.Duration `toml:"resend-after"`   // bytes out of sight for so long go out again, then at growing intervals. Default 30s
	SendBatch     int           `toml:"send-batch"`     // transactions in one call, at most 100: for nodes of your own under load. Default 1

	SignerURL     Secret   `toml:"signer-url"` // a remote signer in place of the keystore
	SignerURLFile string   `toml:"signer-url-file"`
	SignerURLEnv  string   `toml:"signer-url-env"`
	SignerKind    string   `toml:"signer-kind"`    // clef or web3signer
	SignerAddress []string `toml:"signer-address"` // the accounts it signs for

	Coin      string `toml:"coin"`          // what assets call the chain's own coin. Default ETH
	Tokens    Tokens `toml:"tokens"`        // ERC-20 contracts by asset
	Units     Units  `toml:"compute-units"` // what the provider counts for each method; throttle.per-second and burst are in them then. Default: a send is throttle.cost, reads count by the look
	AllowData bool   `toml:"allow-data"`    // intents may call contracts, with the data in metadata evm.data. Default false
}

// Webhook is what a route of sender webhook has besides.
type Webhook struct {
	URL          Secret        `toml:"url"` // required; path and query may hold keys and are never shown
	URLFile      string        `toml:"url-file"`
	URLEnv       string        `toml:"url-env"`
	Idempotent   bool          `toml:"idempotent"`    // the other side makes one effect of many calls with one key. Default false: never sent twice
	KeyRetention time.Duration `toml:"key-retention"` // how long it remembers a key; required where idempotent
	Lookup       Secret        `toml:"lookup"`        // URL with {id} that answers for an id. Default: none, nothing is observed
	Secret       Secret        `toml:"secret"`        // signs bodies. Default: none, unsigned
	SecretFile   string        `toml:"secret-file"`
	SecretEnv    string        `toml:"secret-env"`
	HeadersFile  string        `toml:"headers-file"` // lines "Name: value", added to every call, never stored. See Headers
	Allow        []string      `toml:"allow"`        // networks and hosts that may be dialed although they are not public

	headers map[string]string
}

// Headers is what headers-file holds.
func (w Webhook) Headers() map[string]string { return w.headers }

func defaults() Config {
	return Config{
		NSQ:          NSQ{MaxReqTimeout: time.Hour},
		HTTPAPI:      true,
		HTTPRate:     50,
		HTTPBurst:    100,
		DrainTimeout: relayer.DefaultDrainTimeout,
		LogFormat:    "auto",
		Routes:       map[string]*Route{},
		from:         map[string]string{},
		broken:       map[string]error{},
	}
}

func defaultRoute() *Route {
	return &Route{
		Channel: "relayer", Accept: "reference", Concurrency: 64, MsgTimeout: time.Minute, OutputBufferTimeout: BufferTime(leastBuffer),
		Throttle:    Throttle{InFlight: 16, Burst: 1, Cost: 1, ReadShare: 0.2},
		PlanTimeout: relayer.DefaultStepTimeout, PrepareTimeout: relayer.DefaultStepTimeout,
		SubmitTimeout: relayer.DefaultStepTimeout, StoreTimeout: relayer.DefaultStoreTimeout,
		ReviewAfter: relayer.DefaultReviewAfter, ConfirmAfter: relayer.DefaultConfirmAfter,
		InsufficientFunds: "fail",
		EVM:               EVM{Coin: "ETH"},
	}
}
