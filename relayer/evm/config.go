package evm

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nsqrelayer/relayer/intents"
)

// Config configures a [Sender]. RPCURL or Endpoints, ChainID and Signers are required.
type Config struct {
	// RPCURL is the node: http or https. It may hold secrets; only its host is ever shown.
	RPCURL string
	// Endpoints are further nodes. Reads go to all by turns. Sends go to the first that works, RPCURL before them, and
	// to the next where it does not take them.
	Endpoints []Endpoint
	// ProbeEvery is how often [Sender.Run] asks each node how it is. Default 5 s.
	ProbeEvery time.Duration
	// Weight is how many permits of the throttle one send takes. Default: what Units say, without them the route's.
	Weight int
	// Units is what the provider counts for each call; then Meter is charged for reads. Nil: they are not counted.
	Units Units
	// Meter is required with Units.
	Meter Meter
	// ChainID is what is signed for, always. A node of another chain is not used.
	ChainID uint64
	// Signers own the funds and sign, each for an address of its own. A payment is planned for all that can pay it, and the
	// claim picks one.
	Signers []Signer
	// Tokens are ERC-20 contracts by asset. An asset that is a token is not the native coin.
	Tokens map[string]Token
	// AllowData lets intents call contracts: see [DataKey]. Where everybody may publish intents, everybody may then have
	// the signer call anything.
	AllowData bool
	// Assets are the names of the chain's native coin in intents. Default: ETH.
	Assets []string
	// Confirmations is at which depth a receipt is final; the block itself counts as one. Default 12. Used with FinalDepth.
	Confirmations uint64
	// Finality says what makes a block final. Default FinalDepth. A tag that the node does not know makes nothing final.
	Finality Finality
	// GasLimit is used for every transfer. Default 0: what the node estimates, a fifth more where that is above 21,000.
	GasLimit uint64
	// MaxFeePerGas caps the fee, in wei, and prices the hold: gas × MaxFeePerGas. Default 100 gwei.
	MaxFeePerGas *big.Int
	// Tip is the priority fee, in wei. Nil: what got into the newest blocks, or where they were empty or the node does not
	// tell, what the node suggests.
	Tip *big.Int
	// FeePercentile is which tip of a block counts: of what its transactions paid, by gas. 0 to 100, default 50.
	FeePercentile float64
	// BumpAfter is for how many new blocks an attempt waits before a higher one is wanted. Default 3.
	BumpAfter uint64
	// BumpPercent is by how much each attempt raises both fees above the highest one before it. At least 10, which is what
	// pools ask for; default 10.
	BumpPercent uint64
	// MaxBumps is how many attempts a slot may have besides its first. Then the same bytes go on. Default 10.
	MaxBumps int
	// NoBump is for chains without a pool, where a sequencer takes what comes: no fee is raised, the same bytes go on.
	NoBump bool
	// ResendAfter is how long bytes must have been out of sight before the same bytes go out again. Default 30 s, doubling
	// with each time, at most intents.MostRetry.
	ResendAfter time.Duration
	// LowBalance is the balance of a signer, in wei, under which planning and probing warn. Nil: never.
	LowBalance *big.Int
	// SendBatch is how many transactions one call may carry, for nodes of your own under load: those that come up while
	// others are on their way go together. Providers count and limit each all the same, and some take no batch. At most 100.
	// Default 1: each goes in a call of its own.
	SendBatch int
	// AllowZero lets intents go to the zero address.
	AllowZero bool
	// Timeout ends one call to a node, its answer's body included; while other nodes are left to be asked, one gets half
	// of what is left of it. Default 10 s.
	Timeout time.Duration
	// MaxConns bounds the connections of this sender. Default 64.
	MaxConns int
	// Calls hears of each HTTP call to a node. Nil: nobody does.
	Calls Calls
	// Logger hears of alarms: wrong chain, foreign hashes, refused credentials. Nil: nobody does.
	Logger *slog.Logger
}

// Finality says what makes a block final.
type Finality string

// The ways to be final. The tags are what the node answers to the block of that name.
const (
	FinalDepth     Finality = "depth" // so many blocks on top of it, see Config.Confirmations
	FinalSafe      Finality = "safe"
	FinalFinalized Finality = "finalized"
)

// Validate returns all fields that make no sense, each as an *intents.InvalidError, joined. Secrets are not in them.
func (c Config) Validate() error {
	var errs []error
	if c.RPCURL != "" || len(c.Endpoints) == 0 {
		errs = append(errs, checkURL(c.RPCURL))
	}
	for _, e := range c.Endpoints {
		errs = append(errs, checkURL(e.URL))
	}
	if c.ChainID == 0 {
		errs = append(errs, &intents.InvalidError{Field: "chain-id", Value: "0", Want: "the chain's id"})
	}
	errs = append(errs, c.validateSigners())
	for asset, token := range c.Tokens {
		if asset == "" || token.Address == (common.Address{}) || slices.Contains(c.Assets, asset) {
			errs = append(errs, &intents.InvalidError{Field: "tokens", Value: asset, Want: "an asset that is not the native coin, and its contract"})
		}
	}
	if c.MaxFeePerGas != nil && c.MaxFeePerGas.Sign() <= 0 {
		errs = append(errs, &intents.InvalidError{Field: "max-fee-per-gas", Value: c.MaxFeePerGas.String(), Want: "wei, above 0"})
	}
	if c.Tip != nil && (c.Tip.Sign() < 0 || c.MaxFeePerGas != nil && c.Tip.Cmp(c.MaxFeePerGas) > 0) {
		errs = append(errs, &intents.InvalidError{Field: "tip", Value: c.Tip.String(), Want: "wei, from 0 to max-fee-per-gas"})
	}
	if c.GasLimit != 0 && c.GasLimit < params.TxGas {
		errs = append(errs, &intents.InvalidError{Field: "gas-limit", Want: "at least 21000, or 0 to estimate"})
	}
	if c.Timeout < 0 || c.MaxConns < 0 || c.ProbeEvery < 0 || c.Weight < 0 {
		errs = append(errs, &intents.InvalidError{Field: "timeout, max-conns", Want: "nothing below 0"})
	}
	return errors.Join(append(append(errs, c.validateUnits()), c.validatePace()...)...)
}

func (c Config) validateSigners() error {
	if len(c.Signers) == 0 || slices.Contains(c.Signers, nil) {
		return &intents.InvalidError{Field: "keystore", Want: "a signer"}
	}
	seen := map[common.Address]bool{}
	for _, s := range c.Signers {
		if a := s.Address(); seen[a] {
			return &intents.InvalidError{Field: "keystore", Value: a.Hex(), Want: "each signer once"}
		} else {
			seen[a] = true
		}
	}
	return nil
}

func (c Config) validatePace() (errs []error) {
	bad := func(ok bool, field, value, want string) {
		if !ok {
			errs = append(errs, &intents.InvalidError{Field: field, Value: value, Want: want})
		}
	}
	known := slices.Contains([]Finality{"", FinalDepth, FinalSafe, FinalFinalized}, c.Finality)
	bad(known, "finality", string(c.Finality), "depth, safe or finalized")
	bad(c.FeePercentile >= 0 && c.FeePercentile <= 100, "fee-percentile", fmt.Sprint(c.FeePercentile), "0 to 100")
	bad(c.BumpPercent == 0 || c.BumpPercent >= 10 && c.BumpPercent <= 1000, "bump-percent", fmt.Sprint(c.BumpPercent), "10 to 1000")
	bad(c.SendBatch >= 0 && c.SendBatch <= batchMost, "send-batch", fmt.Sprint(c.SendBatch), "1 to 100")
	bad(c.MaxBumps >= 0, "max-bumps", fmt.Sprint(c.MaxBumps), "nothing below 0")
	bad(c.ResendAfter >= 0, "resend-after", c.ResendAfter.String(), "nothing below 0")
	return errs
}

func checkURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || len(raw) > maxURL {
		return &intents.InvalidError{Field: "rpc-url", Want: "an http or https URL with a host, of at most 2048 bytes"}
	}
	return nil
}

// maxURL is the longest URL. Request line and host then fit into the buffer of net/http, see wire.Watch.
const maxURL = 2 << 10

func (c Config) withDefaults() Config {
	if len(c.Assets) == 0 {
		c.Assets = []string{"ETH"}
	}
	c.Confirmations = cmp.Or(c.Confirmations, 12)
	c.Finality = cmp.Or(c.Finality, FinalDepth)
	c.FeePercentile = cmp.Or(c.FeePercentile, 50)
	c.BumpAfter = cmp.Or(c.BumpAfter, 3)
	c.BumpPercent = cmp.Or(c.BumpPercent, 10)
	c.MaxBumps = cmp.Or(c.MaxBumps, 10)
	c.ResendAfter = cmp.Or(c.ResendAfter, 30*time.Second)
	c.MaxFeePerGas = cmp.Or(c.MaxFeePerGas, big.NewInt(100*params.GWei))
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.ProbeEvery = cmp.Or(c.ProbeEvery, 5*time.Second)
	c.Weight = cmp.Or(c.Weight, c.Units.Of("eth_sendRawTransaction"))
	c.MaxConns = cmp.Or(c.MaxConns, 64)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// endpoints are all of them, in order.
func (c Config) endpoints() []Endpoint {
	if c.RPCURL == "" {
		return c.Endpoints
	}
	return append([]Endpoint{{URL: c.RPCURL}}, c.Endpoints...)
}

// newTransport is HTTP/1.1, with connections of its own and no proxy.
func newTransport(cfg Config) *http.Transport {
	t := &http.Transport{
		TLSHandshakeTimeout:    cfg.Timeout,
		MaxConnsPerHost:        cfg.MaxConns,
		MaxIdleConnsPerHost:    cfg.MaxConns,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// newHTTP makes a client that makes one call when asked for one: no redirects. Deadlines are the requests'.
func newHTTP(t http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
