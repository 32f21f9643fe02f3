package evm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

// signerScript is a signer elsewhere, as clef and web3signer speak. It reads what it is asked with go-ethereum's own type
// for clef, and with web3signer's names of fields.
type signerScript struct {
	kind  evm.RemoteKind
	key   *evm.Keystore
	spoil func(*types.DynamicFeeTx)                          // what it changes before it signs
	says  func(w http.ResponseWriter, id string) (done bool) // what it answers instead
}

func (s signerScript) serve(w http.ResponseWriter, r *http.Request) {
	var c call
	b, _ := io.ReadAll(r.Body)
	if json.Unmarshal(b, &c) != nil || len(c.Params) != 1 {
		http.Error(w, "not one call", http.StatusBadRequest)
		return
	}
	if s.says != nil && s.says(w, string(c.ID)) {
		return
	}
	var tx *types.DynamicFeeTx
	var err error
	switch {
	case s.kind == evm.Clef && c.Method == "account_signTransaction":
		tx, err = clefTx(c.Params[0])
	case s.kind == evm.Web3Signer && c.Method == "eth_signTransaction":
		tx, err = web3signerTx(c.Params[0])
	default:
		err = fmt.Errorf("the method %s does not exist", c.Method)
	}
	if err != nil {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":%q}}`, c.ID, err.Error())
		return
	}
	if s.spoil != nil {
		s.spoil(tx)
	}
	s.sign(w, string(c.ID), tx)
}

func (s signerScript) sign(w io.Writer, id string, tx *types.DynamicFeeTx) {
	signed, err := s.key.SignTx(context.Background(), types.NewTx(tx), tx.ChainID)
	if err != nil {
		panic(err)
	}
	raw, _ := signed.MarshalBinary()
	result, _ := json.Marshal(hexutil.Bytes(raw))
	if s.kind == evm.Clef {
		result, _ = json.Marshal(map[string]any{"raw": hexutil.Bytes(raw), "tx": signed})
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// strictly decodes and refuses what it does not know.
func strictly(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func clefTx(b []byte) (*types.DynamicFeeTx, error) {
	var args apitypes.SendTxArgs
	if err := strictly(b, &args); err != nil {
		return nil, err
	}
	tx, err := args.ToTransaction()
	if err != nil || tx.Type() != types.DynamicFeeTxType || args.From.Address() != chain.DevAddress() {
		return nil, fmt.Errorf("type %d from %s: %w", tx.Type(), args.From.Address(), err)
	}
	return &types.DynamicFeeTx{ChainID: tx.ChainId(), Nonce: tx.Nonce(), GasTipCap: tx.GasTipCap(), GasFeeCap: tx.GasFeeCap(),
		Gas: tx.Gas(), To: tx.To(), Value: tx.Value(), Data: tx.Data()}, nil
}

func web3signerTx(b []byte) (*types.DynamicFeeTx, error) {
	var args struct {
		From                               string
		To                                 common.Address
		Gas, Nonce                         hexutil.Uint64
		Value                              *hexutil.Big
		MaxFeePerGas, MaxPriorityFeePerGas *hexutil.Big
		Data                               hexutil.Bytes
		ChainID                            *hexutil.Big // it ignores it and has its own
	}
	if err := strictly(b, &args); err != nil {
		return nil, err
	}
	if !strings.EqualFold(args.From, chain.DevAddress().Hex()) {
		return nil, errors.New("from is no account of ours")
	}
	return &types.DynamicFeeTx{ChainID: big.NewInt(chain.ID), Nonce: uint64(args.Nonce), GasTipCap: args.MaxPriorityFeePerGas.ToInt(),
		GasFeeCap: args.MaxFeePerGas.ToInt(), Gas: uint64(args.Gas), To: &args.To, Value: args.Value.ToInt(), Data: args.Data}, nil
}

// remote is a signer that asks a script.
func remote(t *testing.T, s signerScript, timeout time.Duration) *evm.Remote {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(s.serve))
	r, err := evm.NewRemote(evm.RemoteConfig{URL: srv.URL + secretPath, Kind: s.kind, Address: chain.DevAddress(), Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); srv.CloseClientConnections(); srv.Close() })
	return r
}

// TestRemote: payments signed elsewhere are the ones that a keystore would have signed, and a real node takes them.
func TestRemote(t *testing.T) {
	t.Parallel()
	for _, kind := range []evm.RemoteKind{evm.Clef, evm.Web3Signer} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c, cfg := withTokens(t)
			own := open(t, cfg)
			cfg.Signers = []evm.Signer{remote(t, signerScript{kind: kind, key: evm.NewKeystore(chain.DevKey())}, 0)}
			s := open(t, cfg)
			for n, in := range []intents.Intent{payment(0), tokens("USDC", 1, 700)} {
				_, want := preparedFor(t, own, in, int64(n))
				in, a := preparedFor(t, s, in, int64(n))
				if !bytes.Equal(a.Bytes, want.Bytes) {
					t.Errorf("%s: signed %x, a keystore %x", in.Asset, a.Bytes, want.Bytes)
				}
				submit(t, s, a)
			}
			c.Mine()
			if n := effects(t, c, 0); n != 1 {
				t.Errorf("%d effects, want 1", n)
			}
		})
	}
}

// TestRemoteFails: whatever a signer does wrong means not now: no bytes, no refusal, no secret shown.
func TestRemoteFails(t *testing.T) {
	t.Parallel()
	own := evm.NewKeystore(chain.DevKey())
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	stranger := evm.NewKeystore(key)
	says := func(status int, body string) func(http.ResponseWriter, string) bool {
		return func(w http.ResponseWriter, id string) bool {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "{id}", id))
			return true
		}
	}
	result := func(text string) func(http.ResponseWriter, string) bool {
		return says(200, `{"jsonrpc":"2.0","id":{id},"result":`+text+`}`)
	}
	refusal := says(200, `{"jsonrpc":"2.0","id":{id},"error":{"code":-32000,"message":"Request denied, SECRETKEY-1"}}`)
	for name, s := range map[string]signerScript{
		"refuses":             {says: refusal},
		"another key":         {key: stranger},
		"another amount":      {spoil: func(tx *types.DynamicFeeTx) { tx.Value = big.NewInt(7) }},
		"another recipient":   {spoil: func(tx *types.DynamicFeeTx) { tx.To = new(common.HexToAddress("0x7")) }},
		"another nonce":       {spoil: func(tx *types.DynamicFeeTx) { tx.Nonce++ }},
		"another fee":         {spoil: func(tx *types.DynamicFeeTx) { tx.GasFeeCap = new(big.Int).Add(tx.GasFeeCap, common.Big1) }},
		"another gas":         {spoil: func(tx *types.DynamicFeeTx) { tx.Gas++ }},
		"data":                {spoil: func(tx *types.DynamicFeeTx) { tx.Data = []byte{1} }},
		"another chain":       {spoil: func(tx *types.DynamicFeeTx) { tx.ChainID = common.Big1 }},
		"null":                {says: result("null")},
		"a number":            {says: result("5")},
		"an empty object":     {says: result("{}")},
		"raw is a number":     {says: result(`{"raw":5}`)},
		"short bytes":         {says: result(`"0x02"`)},
		"no hex":              {says: result(`"SECRETKEY-1"`)},
		"no transaction":      {says: result(`"0x` + strings.Repeat("ab", 100) + `"`)},
		"no JSON":             {says: says(200, "SECRETKEY-1")},
		"401":                 {says: says(401, "no access for SECRETKEY-1")},
		"500":                 {says: says(500, "")},
		"a closed connection": {says: func(http.ResponseWriter, string) bool { panic(http.ErrAbortHandler) }},
	} {
		if s.key == nil {
			s.key = own
		}
		for _, s.kind = range []evm.RemoteKind{evm.Clef, evm.Web3Signer} {
			cfg := config(t, scripted(t, quiet()))
			cfg.Signers = []evm.Signer{remote(t, s, 0)}
			sender := open(t, cfg)
			a, err := sender.Prepare(t.Context(), payment(0), slot(sender, 0), intents.First, nil)
			if err == nil || isRefused(err) || a.Bytes != nil {
				t.Errorf("%s, %s: %s, %v; want an error that is no refusal", s.kind, name, a.Name, err)
			}
			if err != nil && strings.Contains(err.Error(), "SECRETKEY") {
				t.Errorf("case 111: %s, %s: %v", s.kind, name, err)
			}
		}
	}
}

// TestRemoteSlow: a signer that does not answer in time is not waited for.
func TestRemoteSlow(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	slow := func(http.ResponseWriter, string) bool { <-let; return false }
	cfg := config(t, scripted(t, quiet()))
	cfg.Signers = []evm.Signer{remote(t, signerScript{kind: evm.Web3Signer, key: evm.NewKeystore(chain.DevKey()), says: slow}, 50*time.Millisecond)}
	t.Cleanup(func() { close(let) }) // before the server closes
	s := open(t, cfg)
	if a, err := s.Prepare(t.Context(), payment(0), slot(s, 0), intents.First, nil); !errors.Is(err, context.DeadlineExceeded) || isRefused(err) {
		t.Errorf("Prepare = %s, %v; want the deadline", a.Name, err)
	}
}

func TestRemoteConfig(t *testing.T) {
	t.Parallel()
	good := evm.RemoteConfig{URL: "http://127.0.0.1:1" + secretPath, Kind: evm.Clef, Address: chain.DevAddress()}
	for field, spoil := range map[string]func(*evm.RemoteConfig){
		"signer-url":     func(c *evm.RemoteConfig) { c.URL = "ws://127.0.0.1/SECRETKEY" },
		"signer-kind":    func(c *evm.RemoteConfig) { c.Kind = "ledger" },
		"signer-address": func(c *evm.RemoteConfig) { c.Address = common.Address{} },
		"timeout":        func(c *evm.RemoteConfig) { c.Timeout = -1 },
	} {
		c := good
		spoil(&c)
		_, err := evm.NewRemote(c)
		if e, ok := errors.AsType[*intents.InvalidError](err); !ok || e.Field != field || strings.Contains(err.Error(), "SECRETKEY") {
			t.Errorf("NewRemote = %v, want an error that names %s", err, field)
		}
	}
	r, err := evm.NewRemote(good)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if shown := fmt.Sprintf(verb, r); strings.Contains(shown, "SECRETKEY") || !strings.Contains(shown, chain.DevAddress().Hex()) {
			t.Errorf("case 111: %s shows %s", verb, shown)
		}
	}
}
