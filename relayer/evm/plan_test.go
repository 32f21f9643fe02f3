package evm_test

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/relayer/evm"
	"github.com/nsqrelayer/relayer/relayer/sendertest"
)

func isRefused(err error) bool {
	_, ok := errors.AsType[*intents.RefusedError](err)
	return ok
}

// TestCanonical is case 12.
func TestCanonical(t *testing.T) {
	t.Parallel()
	cfg := config(t, "http://node.example")
	s := open(t, cfg)
	const right = "0x52908400098527886E0F7030069857D2E4169EE7" // EIP-55's own example: all its letters are upper case
	const mixed = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	for _, tt := range []struct{ in, want string }{
		{right, right}, {strings.ToLower(right), right},
		{mixed, mixed}, {strings.ToLower(mixed), mixed}, {"0x" + strings.ToUpper(mixed[2:]), mixed},
		{"0X" + mixed[2:], ""}, {mixed[2:], ""}, {mixed[:41], ""}, {mixed + "0", ""}, {"", ""}, {"0x", ""},
		{strings.Replace(mixed, "aAeb", "aaeb", 1), ""}, {strings.Replace(mixed, "5", "g", 1), ""}, {" " + mixed, ""},
		{"0x" + strings.Repeat("0", 40), ""}, {"0x0x" + mixed[4:], ""},
	} {
		in, err := s.Canonical(intents.Intent{Destination: tt.in})
		_, invalid := errors.AsType[*intents.InvalidError](err)
		if tt.want == "" && !invalid || tt.want != "" && (err != nil || in.Destination != tt.want) {
			t.Errorf("case 12: %q gives %q, %v; want %q", tt.in, in.Destination, err, tt.want)
		}
	}
	cfg.AllowZero = true
	if _, err := open(t, cfg).Canonical(intents.Intent{Destination: "0x" + strings.Repeat("0", 40)}); err != nil {
		t.Errorf("case 12: the zero address, allowed: %v", err)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, scripted(t, quiet())))
	p, err := s.Plan(t.Context(), payment(0))
	want := intents.AmountOf(big.NewInt(21000 * 50 * params.GWei))
	if err != nil || p.Slot != intents.Counter || p.Again != intents.Always || !p.Seen || !p.Cost.Equal(want) {
		t.Errorf("Plan = %+v, %v; want a counter, always, seen, cost %v", p, err, want)
	}
	if want := "evm:1337:" + chain.DevAddress().Hex(); p.Scope != want || s.Scopes()[0] != want {
		t.Errorf("scope %q and %q, want %q", p.Scope, s.Scopes()[0], want)
	}
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, scripted(t, quiet())))
	for name, spoil := range map[string]func(*intents.Intent){
		"asset":       func(in *intents.Intent) { in.Asset = "USDC" },
		"destination": func(in *intents.Intent) { in.Destination = "0x1" },
		"no amount":   func(in *intents.Intent) { in.Amount = intents.Amount{} },
		"2^256":       func(in *intents.Intent) { in.Amount = intents.AmountOf(new(big.Int).Lsh(big.NewInt(1), 256)) },
	} {
		in := payment(0)
		spoil(&in)
		if _, err := s.Plan(t.Context(), in); !isRefused(err) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
}

// TestPlanNotNow: what may change does not fail an intent.
func TestPlanNotNow(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"base fee above the cap":         {"eth_getBlockByNumber", `{"baseFeePerGas":"0xba43b74001"}`},
		"no base fee":                    {"eth_getBlockByNumber", `{"number":"0x1"}`},
		"no funds":                       {"eth_getBalance", `"0x1"`},
		"estimate without funds":         {"eth_estimateGas", `error:{"code":-32000,"message":"insufficient funds for transfer"}`},
		"estimate: internal error":       {"eth_estimateGas", `error:{"code":-32603,"message":"internal error"}`},
		"another method says reverted":   {"eth_getBalance", `error:{"code":3,"message":"execution reverted"}`},
		"case 75: the node has moved on": {"eth_chainId", `"0x1"`},
	} {
		node := quiet()
		node[change[0]] = change[1]
		s := open(t, config(t, scripted(t, node)))
		if p, err := s.Plan(t.Context(), payment(0)); err == nil || isRefused(err) {
			t.Errorf("%s: %+v, %v; want an error that is no refusal", name, p, err)
		}
	}
}

// TestCheckChain is case 75.
func TestCheckChain(t *testing.T) {
	t.Parallel()
	node := quiet()
	if next, err := nextOf(t, open(t, config(t, scripted(t, node)))); next != 7 || err != nil {
		t.Errorf("Check = %d, %v; want 7", next, err)
	}
	other := quiet()
	other["eth_chainId"] = `"0x1"`
	_, err := open(t, config(t, scripted(t, other))).Check(t.Context())
	if e, ok := errors.AsType[*evm.ChainError](err); !ok || e.Have.Int64() != 1 || e.Want.Int64() != 1337 {
		t.Errorf("case 75: Check = %v, want a ChainError", err)
	}
}

// TestPlanContract is case 80, on a real node: recipients with code.
func TestPlanContract(t *testing.T) {
	t.Parallel()
	stores := common.HexToAddress("0xc0de01")  // sstore(0, callvalue)
	reverts := common.HexToAddress("0xc0de02") // revert(0, 0)
	c := startChain(t, types.GenesisAlloc{
		stores:  {Balance: new(big.Int), Code: common.FromHex("345f5500")},
		reverts: {Balance: new(big.Int), Code: common.FromHex("5f5ffd")},
	})
	s := open(t, config(t, c.URL))
	in := payment(0)
	in.Destination = stores.Hex()
	in, a := preparedFor(t, s, in, 0)
	if tx := decode(t, a); tx.Gas() < 25_200 || !in.Cost.Equal(intents.AmountOf(new(big.Int).Mul(big.NewInt(50*params.GWei), new(big.Int).SetUint64(tx.Gas())))) {
		t.Errorf("case 80: gas %d, cost %v; want an estimate with a fifth more, held at the cap", tx.Gas(), in.Cost)
	}
	if r := s.Submit(t.Context(), a); r.Verdict != intents.Accepted {
		t.Fatalf("Submit = %v: %s", r.Verdict, r.Evidence)
	}
	c.Mine()
	c.Mine()
	if o := observe(t, s, watch(in, a)); o.Fact != intents.Final {
		t.Errorf("case 80: a payment to a contract = %v, want settled: %s", o.Fact, o.Evidence)
	}
	in = payment(1)
	in.Destination = reverts.Hex()
	if _, err := s.Plan(t.Context(), in); !isRefused(err) {
		t.Errorf("case 80: Plan for a recipient that reverts = %v, want it refused", err)
	}
}

// TestPlanSecrets is case 111: errors tell the host of the node and nothing else of its URL.
func TestPlanSecrets(t *testing.T) {
	t.Parallel()
	dead := scripted(t, quiet())
	g := newGateway(t, dead)
	g.turn(sendertest.Dead)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx context.Context
		url string
	}{
		"refused":  {t.Context(), g.URL + secretPath},
		"no name":  {t.Context(), "http://user:SECRETKEY-3@nothing.invalid" + secretPath},
		"canceled": {ctx, dead + secretPath},
		"bad TLS":  {t.Context(), "https" + strings.TrimPrefix(dead, "http") + secretPath},
		"no JSON":  {t.Context(), says(t, 401, "no access for SECRETKEY-1") + secretPath},
	} {
		s := open(t, config(t, tt.url))
		_, err := s.Plan(tt.ctx, payment(0))
		if err == nil || strings.Contains(err.Error(), "SECRETKEY") {
			t.Errorf("case 111: %s: %v", name, err)
		}
		if name == "canceled" && !errors.Is(err, context.Canceled) {
			t.Errorf("%v does not wrap the context's error", err)
		}
		_, err = s.Check(tt.ctx)
		if err == nil || strings.Contains(err.Error(), "SECRETKEY") {
			t.Errorf("case 111: %s: %v", name, err)
		}
	}
}
