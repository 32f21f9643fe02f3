package evm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nsqrelayer/relayer/intents"
)

// RemoteKind says which JSON-RPC a remote signer speaks.
type RemoteKind string

// The kinds of remote signers.
const (
	Clef       RemoteKind = "clef"       // account_signTransaction; answers {"raw":…,"tx":…}
	Web3Signer RemoteKind = "web3signer" // eth_signTransaction; answers the bytes. A node that answers as clef does is understood too
)

// RemoteConfig configures a [Remote]. URL, Kind and Address are required.
type RemoteConfig struct {
	// URL is the signer: http or https. It may hold secrets; only its host is ever shown.
	URL  string
	Kind RemoteKind
	// Address is the account it is to sign for.
	Address common.Address
	// Timeout ends one call. Default 10 s. Where a person approves each signature, more than a person takes.
	Timeout time.Duration
}

// Validate returns all fields that make no sense, each as an *intents.InvalidError, joined. Secrets are not in them.
func (c RemoteConfig) Validate() error {
	var errs []error
	if checkURL(c.URL) != nil {
		errs = append(errs, &intents.InvalidError{Field: "signer-url", Want: "an http or https URL with a host, of at most 2048 bytes"})
	}
	if c.Kind != Clef && c.Kind != Web3Signer {
		errs = append(errs, &intents.InvalidError{Field: "signer-kind", Value: string(c.Kind), Want: "clef or web3signer"})
	}
	if c.Address == (common.Address{}) {
		errs = append(errs, &intents.InvalidError{Field: "signer-address", Want: "the address to sign for"})
	}
	if c.Timeout < 0 {
		errs = append(errs, &intents.InvalidError{Field: "timeout", Value: c.Timeout.String(), Want: "nothing below 0"})
	}
	return errors.Join(errs...)
}

// Remote is a signer over JSON-RPC. The keys never leave it, and it sends nothing. Signing twice may give two different
// transactions, only the first stored one is ever sent. It is safe for concurrent use.
type Remote struct {
	cfg   RemoteConfig
	host  string
	scrub *strings.Replacer
	http  *http.Client
}

// NewRemote makes a signer. Nothing is dialed. Errors: those of [RemoteConfig.Validate].
func NewRemote(cfg RemoteConfig) (*Remote, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, checkURL("")
	}
	client := &http.Client{
		Transport:     &http.Transport{MaxConnsPerHost: signerConns, MaxIdleConnsPerHost: signerConns, IdleConnTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Remote{cfg, u.Host, newScrubber(u), client}, nil
}

const (
	signerConns = 16      // calls at a time
	maxSigned   = 1 << 20 // how much of an answer is read
)

// Close gives back idle connections.
func (r *Remote) Close() { r.http.CloseIdleConnections() }

// Address is the account it signs for.
func (r *Remote) Address() common.Address { return r.cfg.Address }

// String shows address and host alone.
func (r *Remote) String() string {
	return fmt.Sprintf("%s of %s at %s", r.cfg.Kind, r.cfg.Address, r.host)
}

// GoString shows address and host alone.
func (r *Remote) GoString() string { return r.String() }

// SignTx asks for a signature. A refusal, no answer and an answer that is no transaction are errors: not now. What is
// signed is for the caller to compare.
func (r *Remote) SignTx(ctx context.Context, tx *types.Transaction, chain *big.Int) (*types.Transaction, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	method, args := r.ask(tx, chain)
	answer, err := r.call(ctx, method, args)
	if err != nil {
		return nil, r.failed(ctx, method, err)
	}
	signed, err := readSigned(answer)
	if err != nil {
		return nil, r.failed(ctx, method, err)
	}
	return signed, nil
}

// call makes one JSON-RPC call and gives its result.
func (r *Remote) call(ctx context.Context, method string, args any) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": []any{args}})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxSigned))
	if err != nil {
		return nil, err
	}
	var got reply
	err = json.Unmarshal(text, &got)
	switch {
	case err == nil && got.Error != nil:
		return nil, errors.New(got.Error.Message)
	case err != nil || resp.StatusCode != http.StatusOK || string(got.ID) != "1":
		return nil, fmt.Errorf("the answer is no JSON-RPC of this call (HTTP %d)", resp.StatusCode)
	}
	return got.Result, nil
}

// signArgs is a transaction as signers take it. clef has the data as input, web3signer of old as data.
type signArgs struct {
	From    common.Address `json:"from"`
	To      common.Address `json:"to"`
	Gas     hexutil.Uint64 `json:"gas"`
	Cap     *hexutil.Big   `json:"maxFeePerGas"`
	Tip     *hexutil.Big   `json:"maxPriorityFeePerGas"`
	Value   *hexutil.Big   `json:"value"`
	Nonce   hexutil.Uint64 `json:"nonce"`
	Input   hexutil.Bytes  `json:"input,omitempty"`
	Data    hexutil.Bytes  `json:"data,omitempty"`
	ChainID *hexutil.Big   `json:"chainId"`
}

func (r *Remote) ask(tx *types.Transaction, chain *big.Int) (method string, args signArgs) {
	args = signArgs{
		From: r.cfg.Address, To: *tx.To(), Gas: hexutil.Uint64(tx.Gas()), Value: (*hexutil.Big)(tx.Value()),
		Cap: (*hexutil.Big)(tx.GasFeeCap()), Tip: (*hexutil.Big)(tx.GasTipCap()),
		Nonce: hexutil.Uint64(tx.Nonce()), ChainID: (*hexutil.Big)(chain),
	}
	if r.cfg.Kind == Clef {
		args.Input = tx.Data()
		return "account_signTransaction", args
	}
	args.Data = tx.Data()
	return "eth_signTransaction", args
}

// readSigned takes the bytes from either form of answer. The tx beside raw is another reading of the same, and not read.
func readSigned(answer json.RawMessage) (*types.Transaction, error) {
	var raw hexutil.Bytes
	var both struct {
		Raw hexutil.Bytes `json:"raw"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(answer), []byte("{")) {
		if err := json.Unmarshal(answer, &both); err != nil {
			return nil, errors.New("the answer is no signed transaction")
		}
		raw = both.Raw
	} else if err := json.Unmarshal(answer, &raw); err != nil {
		return nil, errors.New("the answer is no signed transaction")
	}
	signed := new(types.Transaction)
	if signed.UnmarshalBinary(raw) != nil {
		return nil, errors.New("the answer is no signed transaction")
	}
	return signed, nil
}

// failed is fit to be shown. Of causes it wraps the context's alone.
func (r *Remote) failed(ctx context.Context, method string, err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return &callError{method: method, host: r.host, text: plain(r.scrub, err.Error()), cause: ctx.Err()}
}
