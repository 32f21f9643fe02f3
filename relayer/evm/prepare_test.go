package evm_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

func TestPrepareTransaction(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, scripted(t, quiet())))
	in, a := prepared(t, s, 3)
	tx := decode(t, a)
	if tx.Nonce() != 3 || tx.To().Hex() != in.Destination || tx.Value().Cmp(in.Amount.Big()) != 0 || len(tx.Data()) != 0 ||
		tx.ChainId().Int64() != chain.ID || tx.Gas() != 21000 {
		t.Errorf("transaction %+v is not the payment in slot 3", tx)
	}
	if tx.GasFeeCap().Int64() != 3*params.GWei || tx.GasTipCap().Int64() != params.GWei {
		t.Errorf("fee %v, tip %v; want twice the base fee and the tip", tx.GasFeeCap(), tx.GasTipCap())
	}
	if a.Name != tx.Hash().Hex() || a.No != 1 || a.Slot != in.Slot {
		t.Errorf("attempt %d %s in %v, want 1, its hash, its slot", a.No, a.Name, a.Slot)
	}
}

// TestPrepareHeld: no fee above what the hold covers.
func TestPrepareHeld(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, scripted(t, quiet())))
	in := payment(0)
	in.Slot, in.Cost = slot(s, 0), intents.NewAmount(21000*2*params.GWei)
	a, err := s.Prepare(t.Context(), in, in.Slot, intents.First, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tx := decode(t, a); tx.GasFeeCap().Int64() != 2*params.GWei {
		t.Errorf("fee %v with 2 gwei held", tx.GasFeeCap())
	}
	in.Cost = intents.NewAmount(21000*params.GWei - 1)
	if _, err := s.Prepare(t.Context(), in, in.Slot, intents.First, nil); err == nil || isRefused(err) {
		t.Errorf("Prepare with less held than the base fee = %v, want: not now", err)
	}
}

func TestPrepareBump(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, scripted(t, quiet())))
	in, first := prepared(t, s, 0)
	prior := []intents.Attempt{first}
	for range 2 {
		a, err := s.Prepare(t.Context(), in, in.Slot, intents.Bump, prior)
		if err != nil {
			t.Fatal(err)
		}
		old, tx := decode(t, prior[len(prior)-1]), decode(t, a)
		if !pays10(old.GasFeeCap(), tx.GasFeeCap()) || !pays10(old.GasTipCap(), tx.GasTipCap()) {
			t.Errorf("bump from %v/%v to %v/%v, want a tenth more and one", old.GasFeeCap(), old.GasTipCap(), tx.GasFeeCap(), tx.GasTipCap())
		}
		if tx.Nonce() != old.Nonce() || *tx.To() != *old.To() || tx.Value().Cmp(old.Value()) != 0 || tx.Gas() != old.Gas() || a.No != len(prior)+1 {
			t.Errorf("bump %d changes more than fees: %+v", a.No, tx)
		}
		prior = append(prior, a)
	}
	in.Cost = intents.AmountOf(new(big.Int).Mul(decode(t, prior[2]).GasFeeCap(), big.NewInt(21000)))
	if _, err := s.Prepare(t.Context(), in, in.Slot, intents.Bump, prior); err == nil || isRefused(err) {
		t.Errorf("bump above what is held = %v, want: not now", err)
	}
}

// pays10 says whether fee is at least 110 % of old, rounded up, and one.
func pays10(old, fee *big.Int) bool {
	need := new(big.Int).Mul(old, big.NewInt(110))
	return new(big.Int).Mul(new(big.Int).Sub(fee, big.NewInt(1)), big.NewInt(100)).Cmp(need) >= 0
}

func TestPrepareEmpty(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, scripted(t, quiet())))
	for _, kind := range []intents.Kind{intents.Fill, intents.Cancel} {
		a, err := s.Prepare(t.Context(), intents.Intent{}, slot(s, 9), kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tx := decode(t, a); tx.Nonce() != 9 || *tx.To() != chain.DevAddress() || tx.Value().Sign() != 0 || a.Kind != kind {
			t.Errorf("%v is %+v, want nothing to ourselves in slot 9", kind, tx)
		}
	}
}

func TestPrepareOtherSlot(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, scripted(t, quiet())))
	for _, sl := range []intents.Slot{
		{Kind: intents.Counter, Scope: "evm:1:" + chain.DevAddress().Hex()}, {Kind: intents.Key, Scope: s.Scopes()[0]},
		{Kind: intents.Counter, Scope: s.Scopes()[0], Number: -1},
	} {
		if a, err := s.Prepare(t.Context(), payment(0), sl, intents.First, nil); err == nil || isRefused(err) {
			t.Errorf("Prepare in %+v = %s, %v; want an error that is no refusal", sl, a.Name, err)
		}
	}
}

// liar signs something else than it is given.
type liar struct {
	*evm.Keystore
	other func(*types.Transaction) *types.Transaction
	by    *evm.Keystore
}

func (l liar) SignTx(ctx context.Context, tx *types.Transaction, id *big.Int) (*types.Transaction, error) {
	return l.by.SignTx(ctx, l.other(tx), id)
}

func TestPrepareChecksSignature(t *testing.T) {
	t.Parallel()
	own := evm.NewKeystore(chain.DevKey())
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	same := func(tx *types.Transaction) *types.Transaction { return tx }
	richer := func(tx *types.Transaction) *types.Transaction {
		return types.NewTx(&types.DynamicFeeTx{ChainID: tx.ChainId(), Nonce: tx.Nonce(), GasFeeCap: tx.GasFeeCap(), Gas: tx.Gas(),
			To: tx.To(), Value: new(big.Int).Add(tx.Value(), common.Big1), GasTipCap: tx.GasTipCap()})
	}
	for name, signer := range map[string]evm.Signer{
		"another key": liar{own, same, evm.NewKeystore(key)}, "another amount": liar{own, richer, own},
	} {
		cfg := config(t, scripted(t, quiet()))
		cfg.Signers = []evm.Signer{signer}
		s := open(t, cfg)
		if a, err := s.Prepare(t.Context(), payment(0), slot(s, 0), intents.First, nil); err == nil || isRefused(err) {
			t.Errorf("%s: %s, %v; want an error that is no refusal", name, a.Name, err)
		}
	}
}

func TestOpenKeystore(t *testing.T) {
	t.Parallel()
	file, err := chain.WriteKeystore(t.TempDir(), chain.DevKey(), "pass-SECRET")
	if err != nil {
		t.Fatal(err)
	}
	k, err := evm.OpenKeystore(file, "pass-SECRET")
	if err != nil || k.Address() != chain.DevAddress() {
		t.Fatalf("OpenKeystore = %v, %v; want the key of %s", k, err, chain.DevAddress())
	}
	secret := hex.EncodeToString(crypto.FromECDSA(chain.DevKey()))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if shown := fmt.Sprintf(verb, k); strings.Contains(shown, secret) || !strings.Contains(shown, chain.DevAddress().Hex()) {
			t.Errorf("case 111: %s shows %s", verb, shown)
		}
	}
	broken := filepath.Join(t.TempDir(), "broken")
	b, _ := os.ReadFile(file)
	other := strings.Replace(string(b), strings.ToLower(chain.DevAddress().Hex()[2:]), strings.Repeat("1", 40), 1)
	for name, f := range map[string]func() (string, string){
		"wrong passphrase": func() (string, string) { return file, "other-SECRET" },
		"no file":          func() (string, string) { return broken, "" },
		"not a keystore":   func() (string, string) { write(t, broken, "SECRET"); return broken, "" },
		"another address":  func() (string, string) { write(t, file+"2", other); return file + "2", "pass-SECRET" },
	} {
		path, pass := f()
		if k, err := evm.OpenKeystore(path, pass); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v, %v; want an error that keeps secrets", name, k, err)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPrepareAsksOnce: what Plan was told a moment ago is not asked again, once and for the same intent alone.
func TestPrepareAsksOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	node := quiet()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		node.serve(w, r)
	}))
	t.Cleanup(srv.Close)
	s := open(t, config(t, srv.URL))
	in := payment(0)
	if _, err := s.Plan(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	prepare := func(in intents.Intent) (name string, asked int32) {
		before := calls.Load()
		a, err := s.Prepare(t.Context(), in, slot(s, 0), intents.First, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a.Name, calls.Load() - before
	}
	first, asked := prepare(in)
	if asked != 0 {
		t.Errorf("%d calls in Prepare after Plan, want none", asked)
	}
	if again, asked := prepare(in); again != first || asked == 0 {
		t.Errorf("prepared again as %s with %d calls, want %s and some", again, asked, first)
	}
	if _, asked := prepare(payment(1)); asked == 0 {
		t.Error("another intent took the quote")
	}
}
