package evm

import (
	"cmp"
	"errors"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"time"

	"github.com/ethereum/go-ethereum/params"

	"github.com/nsqrelayer/relayer/intents"
)

// Config configures a [Sender]. RPCURL, ChainID and Signer are required.
type Config struct {
	// RPCURL is the node: http or https. It may hold secrets; only its host is ever shown.
	RPCURL string
	// ChainID is what is signed for, always. A node of another chain is not used.
	ChainID uint64
	// Signer owns the funds and signs.
	Signer Signer
	// Assets are the names of the chain's native coin in intents. Default: ETH.
	Assets []string
	// Confirmations is at which depth a receipt is final; the block itself counts as one. Default 12.
	Confirmations uint64
	// GasLimit is used for every transfer. Default 0: what the node estimates, a fifth more where that is above 21,000.
	GasLimit uint64
	// MaxFeePerGas caps the fee, in wei, and prices the hold: gas × MaxFeePerGas. Default 100 gwei.
	MaxFeePerGas *big.Int
	// Tip is the priority fee, in wei. Nil: what the node suggests.
	Tip *big.Int
	// LowBalance is the balance of the signer, in wei, under which planning warns. Nil: never.
	LowBalance *big.Int
	// AllowZero lets intents go to the zero address.
	AllowZero bool
	// Timeout ends one call to the node, its answer's body included. Default 10 s.
	Timeout time.Duration
	// MaxConns bounds the connections of this sender. Default 64.
	MaxConns int
	// Logger hears of alarms: wrong chain, foreign hashes, refused credentials. Nil: nobody does.
	Logger *slog.Logger
}

// Validate returns all fields that make no sense, each as an *intents.InvalidError, joined. Secrets are not in them.
func (c Config) Validate() error {
	errs := []error{checkURL(c.RPCURL)}
	if c.ChainID == 0 {
		errs = append(errs, &intents.InvalidError{Field: "chain-id", Value: "0", Want: "the chain's id"})
	}
	if c.Signer == nil {
		errs = append(errs, &intents.InvalidError{Field: "keystore", Want: "a signer"})
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
	if c.Timeout < 0 || c.MaxConns < 0 {
		errs = append(errs, &intents.InvalidError{Field: "timeout, max-conns", Want: "nothing below 0"})
	}
	return errors.Join(errs...)
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
	c.MaxFeePerGas = cmp.Or(c.MaxFeePerGas, big.NewInt(100*params.GWei))
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.MaxConns = cmp.Or(c.MaxConns, 64)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// newHTTP makes a client that makes one call when asked for one: no redirects, HTTP/1.1, a pool of its own, no proxy.
// Deadlines are the requests'.
func newHTTP(cfg Config) *http.Client {
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
	return &http.Client{
		Transport:     bounded{t},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
