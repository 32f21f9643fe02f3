package evm_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

var _ relayer.Referee = (*evm.Sender)(nil)

func refer(t *testing.T, s *evm.Sender, in intents.Intent, ref string) intents.Observation {
	t.Helper()
	o, err := s.Refer(t.Context(), in, ref)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestRefer: a transaction settles an intent when it pays the same and is beyond recall, whoever sent it.
func TestRefer(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	s := among(t, newStand(t, quiet()).URL, c.URL) // one node knows of nothing
	in := payment(0)
	to, amount := common.HexToAddress(in.Destination), in.Amount.Big().Int64()
	tx := outside(t, c, 0, to, amount)
	if o := refer(t, s, in, tx.Hash().Hex()); o.Fact != intents.Included {
		t.Errorf("one block deep it is %v: %s", o.Fact, o.Evidence)
	}
	c.Mine()
	if o := refer(t, s, in, tx.Hash().Hex()); o.Fact != intents.Final || o.Ref != tx.Hash().Hex() {
		t.Errorf("beyond recall it is %v %q: %s", o.Fact, o.Ref, o.Evidence)
	}
	for name, other := range map[string]string{
		"another amount":      outside(t, c, 1, to, amount+1).Hash().Hex(),
		"another destination": outside(t, c, 2, stranger, amount).Hash().Hex(),
	} {
		c.Mine()
		if o := refer(t, s, in, other); o.Fact != intents.Dead || !strings.Contains(string(o.Evidence), "not the intent's payment") {
			t.Errorf("%s is %v: %s", name, o.Fact, o.Evidence)
		}
	}
	if o := refer(t, s, in, common.HexToHash("0x1").Hex()); o.Fact != intents.NotSeen || !strings.Contains(string(o.Evidence), "no node knows") {
		t.Errorf("what nobody knows is %v: %s", o.Fact, o.Evidence)
	}
}

// TestReferOther: it may come from any address.
func TestReferOther(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	s := open(t, config(t, c.URL))
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	outside(t, c, 0, crypto.PubkeyToAddress(key.PublicKey), 1e18)
	in := payment(0)
	tx := sendAs(t, c, key, 0, common.HexToAddress(in.Destination), in.Amount.Big())
	c.Mine()
	if o := refer(t, s, in, tx.Hash().Hex()); o.Fact != intents.Final {
		t.Errorf("sent by hand it is %v: %s", o.Fact, o.Evidence)
	}
	in.Asset = "TOKEN"
	cfg := config(t, c.URL)
	cfg.Tokens = map[string]evm.Token{"TOKEN": {Address: common.BigToAddress(big.NewInt(7))}}
	if o := refer(t, open(t, cfg), in, tx.Hash().Hex()); o.Fact != intents.Dead {
		t.Errorf("for another asset it is %v: %s", o.Fact, o.Evidence)
	}
}

// TestReferRefused: what is no hash is told from what is not there, and silence from both.
func TestReferRefused(t *testing.T) {
	t.Parallel()
	node := newStand(t, quiet())
	s := open(t, config(t, node.URL))
	for _, ref := range []string{"", "0x", "0x12", "pay_1", "0x" + strings.Repeat("zz", 32), strings.Repeat("11", 32)} {
		_, err := s.Refer(t.Context(), payment(0), ref)
		if bad, ok := errors.AsType[*intents.InvalidError](err); !ok || bad.Field != "ref" {
			t.Errorf("%q: %v", ref, err)
		}
	}
	node.Close()
	if o, err := s.Refer(t.Context(), payment(0), common.HexToHash("0x1").Hex()); err == nil {
		t.Errorf("without a node it is %v", o.Fact)
	}
}
