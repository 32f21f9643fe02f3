package evm_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

// calling is a call with a word of data and 1 wei.
func calling(to common.Address, data string) intents.Intent {
	in := payment(0)
	in.Destination, in.Amount = to.Hex(), intents.NewAmount(1)
	in.Metadata = map[string]string{evm.DataKey: data, "note": "not sent"}
	return in
}

func TestCall(t *testing.T) {
	t.Parallel()
	keeps := at(0) // sstore(0, calldataload(0))
	c := startChain(t, types.GenesisAlloc{keeps: {Balance: new(big.Int), Code: common.FromHex("5f355f5500")}})
	cfg := config(t, c.URL)
	cfg.AllowData = true
	s := open(t, cfg)
	word := "0x" + strings.Repeat("aB", 32)
	in, a := preparedFor(t, s, calling(keeps, word), 0)
	if tx := decode(t, a); *tx.To() != keeps || tx.Value().Int64() != 1 || common.Bytes2Hex(tx.Data()) != strings.ToLower(word[2:]) {
		t.Errorf("to %s, value %v, data %x; want %s, 1, %s", tx.To(), tx.Value(), tx.Data(), keeps, word)
	}
	submit(t, s, a)
	c.Mine()
	c.Mine()
	if o := observe(t, s, watch(in, a)); o.Fact != intents.Final {
		t.Errorf("%v, want settled: %s", o.Fact, o.Evidence)
	}
	client, err := ethclient.Dial(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if kept, err := client.StorageAt(t.Context(), keeps, common.Hash{}, nil); err != nil || common.Bytes2Hex(kept) != strings.ToLower(word[2:]) {
		t.Errorf("the contract got %x, %v", kept, err)
	}
	other, none := calling(keeps, "0x01"), in
	other.Slot, none.Metadata = in.Slot, nil
	for name, w := range map[string]intents.Watch{"other": watch(other, a), "no": watch(none, a)} {
		if o := observe(t, s, w); o.Fact != intents.NotSeen || !strings.Contains(string(o.Evidence), "not the intent's payment") {
			t.Errorf("an intent with %s data: %v, want not seen: %s", name, o.Fact, o.Evidence)
		}
	}
}

// TestCallReverts is case 80: the estimate knows the data.
func TestCallReverts(t *testing.T) {
	t.Parallel()
	picky := at(0) // reverts unless there is data
	c := startChain(t, types.GenesisAlloc{picky: {Balance: new(big.Int), Code: common.FromHex("366007575f5ffd5b00")}})
	cfg := config(t, c.URL)
	cfg.AllowData = true
	s := open(t, cfg)
	if _, err := s.Plan(t.Context(), calling(picky, "0x01")); err != nil {
		t.Errorf("with data: %v", err)
	}
	plain := calling(picky, "")
	plain.Metadata = nil
	if _, err := s.Plan(t.Context(), plain); !isRefused(err) {
		t.Errorf("case 80: without data %v, want it refused", err)
	}
}

// TestCallRefused: data is for routes that take it, and is hex.
func TestCallRefused(t *testing.T) {
	t.Parallel()
	cfg := config(t, scripted(t, quiet()))
	strict := open(t, cfg)
	cfg.AllowData = true
	loose := open(t, cfg)
	for name, tt := range map[string]struct {
		s    *evm.Sender
		data string
	}{
		"no allow-data": {strict, "0x01"}, "no allow-data, no hex": {strict, ""},
		"empty": {loose, ""}, "0x": {loose, "0x"}, "no 0x": {loose, "01"}, "odd": {loose, "0x012"}, "no hex": {loose, "0xzz"},
	} {
		in := calling(at(0), tt.data)
		if _, err := tt.s.Plan(t.Context(), in); !isRefused(err) {
			t.Errorf("%s: Plan = %v, want it refused", name, err)
		}
		_, err := tt.s.Canonical(in)
		if e, ok := errors.AsType[*intents.InvalidError](err); !ok || e.Field != evm.DataKey {
			t.Errorf("%s: Canonical = %v, want an error that names %s", name, err, evm.DataKey)
		}
	}
	in := calling(at(0), "0x01")
	if got, err := loose.Canonical(in); err != nil || got.Metadata[evm.DataKey] != "0x01" {
		t.Errorf("Canonical = %v, %v", got.Metadata, err)
	}
	if _, err := evm.Canonical(calling(at(0), "0xzz"), false); err == nil {
		t.Error("Canonical takes what is no hex")
	}
}

// TestFillIsEmpty: a filler that pays somebody is not one.
func TestFillIsEmpty(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	s := open(t, config(t, c.URL))
	_, a := prepared(t, s, 0)
	submit(t, s, a)
	c.Mine()
	c.Mine()
	a.Kind = intents.Fill
	if o := observe(t, s, intents.Watch{Slot: a.Slot, Attempts: []intents.Attempt{a}}); o.Fact != intents.NotSeen {
		t.Errorf("%v, want not seen: %s", o.Fact, o.Evidence)
	}
}
