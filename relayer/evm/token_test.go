package evm_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

// The tokens of these tests: balances stand in the storage at the owner's address.
const (
	tokenHead = "5f3560e01c6370a08231141560" + "1d" + "57" + // anything but balanceOf(address): to 1d
		"6004" + "35" + "545f5260205ff3" + // return sload(owner)
		"5b5f5ffd" + // 19: revert
		"5b" // 1d: transfer(address,uint256)
	tokenBlock  = "600435620bad00146019" + "57" // to == 0xbad00: revert
	tokenMove   = "6024353354818110601957" + "033355" + "602435600435540160043555"
	tokenAmount = "6024355f52"            // the amount into memory
	tokenShort  = "60016024" + "35035f52" // the amount less 1
	tokenYes    = "60015f5260205ff3"
	tokenNo     = "5f5f5260205ff3"
)

func tokenLog() string {
	sig := crypto.Keccak256([]byte("Transfer(address,address,uint256)"))
	return "600435337f" + hex.EncodeToString(sig) + "60205fa3"
}

// The addresses of the contracts, and of a recipient that tokens block.
func at(n int64) common.Address { return common.BigToAddress(big.NewInt(0xc0de00 + n)) }

var blocked = common.HexToAddress("0x0bad00").Hex()

// withTokens is a chain with contracts of which the signer has 1000 each.
func withTokens(t *testing.T) (*chain.Chain, evm.Config) {
	alloc := types.GenesisAlloc{}
	for n, code := range []string{
		tokenHead + tokenBlock + tokenMove + tokenAmount + tokenLog() + tokenYes, // USDC: does all of it right
		tokenHead + tokenNo, // LIE: answers false
		tokenHead + tokenMove + tokenShort + tokenLog() + tokenYes, // FEE: keeps 1
		tokenHead + tokenMove + tokenYes,                           // MUTE: moves, without a log
	} {
		owner, thousand := common.BytesToHash(chain.DevAddress().Bytes()), common.BigToHash(big.NewInt(1000))
		alloc[at(int64(n))] = types.Account{Balance: new(big.Int), Code: common.FromHex(code), Storage: map[common.Hash]common.Hash{owner: thousand}}
	}
	c := startChain(t, alloc)
	cfg := config(t, c.URL)
	cfg.Tokens = map[string]evm.Token{"USDC": {at(0)}, "LIE": {at(1)}, "FEE": {at(2)}, "MUTE": {at(3)}}
	return c, cfg
}

func tokens(asset string, n int, amount int64) intents.Intent {
	in := payment(n)
	in.Asset, in.Amount = asset, intents.NewAmount(amount)
	return in
}

func balanceOf(t *testing.T, c *chain.Chain, n int64, owner string) int64 {
	t.Helper()
	client, err := ethclient.Dial(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	token := at(n)
	data := append(common.FromHex("70a08231"), common.LeftPadBytes(common.HexToAddress(owner).Bytes(), 32)...)
	word, err := client.CallContract(t.Context(), ethereum.CallMsg{To: &token, Data: data}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return new(big.Int).SetBytes(word).Int64()
}

func TestToken(t *testing.T) {
	t.Parallel()
	c, cfg := withTokens(t)
	s := open(t, cfg)
	in, a := preparedFor(t, s, tokens("USDC", 0, 700), 0)
	if in.Cost.Sign() != 0 {
		t.Errorf("cost %v, want 0: it would be held in the token", in.Cost)
	}
	tx := decode(t, a)
	want := fmt.Sprintf("a9059cbb%064s%064x", strings.ToLower(in.Destination[2:]), 700)
	if *tx.To() != at(0) || tx.Value().Sign() != 0 || hex.EncodeToString(tx.Data()) != want {
		t.Errorf("to %s, value %v, data %x; want the token, 0, %s", tx.To(), tx.Value(), tx.Data(), want)
	}
	submit(t, s, a)
	for _, fact := range []intents.Fact{intents.Included, intents.Final} {
		c.Mine()
		if o := observe(t, s, watch(in, a)); o.Fact != fact || o.Ref != a.Name {
			t.Errorf("%v, want %v: %s", o.Fact, fact, o.Evidence)
		}
	}
	if n := balanceOf(t, c, 0, in.Destination); n != 700 {
		t.Errorf("the recipient has %d, want 700", n)
	}
}

// TestTokenBumped: a bump repeats the transfer and settles by its own log.
func TestTokenBumped(t *testing.T) {
	t.Parallel()
	c, cfg := withTokens(t)
	s := open(t, cfg)
	in, first := preparedFor(t, s, tokens("USDC", 0, 700), 0)
	submit(t, s, first)
	bump, err := s.Prepare(t.Context(), in, in.Slot, intents.Bump, []intents.Attempt{first})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, s, bump)
	c.Mine()
	c.Mine()
	if o := observe(t, s, watch(in, first, bump)); o.Fact != intents.Final || o.No != 2 {
		t.Errorf("%v of attempt %d, want settled of 2: %s", o.Fact, o.No, o.Evidence)
	}
	if n := balanceOf(t, c, 0, in.Destination); n != 700 {
		t.Errorf("the recipient has %d, want 700", n)
	}
}

// TestTokenWithoutTransfer is case 79 for tokens: mined with status 1, without the log of exactly this transfer. It never
// settles, however deep; the evidence stays for a person.
func TestTokenWithoutTransfer(t *testing.T) {
	t.Parallel()
	c, cfg := withTokens(t)
	s := open(t, cfg)
	for n, asset := range []string{"LIE", "FEE", "MUTE"} {
		in, a := preparedFor(t, s, tokens(asset, n, 100), int64(n))
		submit(t, s, a)
		c.Mine()
		if o := observe(t, s, watch(in, a)); o.Fact != intents.Included {
			t.Errorf("case 79: %s in a block: %v, want included", asset, o.Fact)
		}
		for range 5 {
			c.Mine()
		}
		o := observe(t, s, watch(in, a))
		if o.Fact != intents.NotSeen || o.Ref != "" {
			t.Errorf("case 79: %s: %v with ref %q, want not seen", asset, o.Fact, o.Ref)
		}
		for _, part := range []string{`"note":"the token shows no transfer`, `"status":"0x1"`, a.Name} {
			if !strings.Contains(string(o.Evidence), part) {
				t.Errorf("case 79: %s: no %s in evidence %s", asset, part, o.Evidence)
			}
		}
		if shown := strings.Contains(string(o.Evidence), `"topics"`); shown != (asset == "FEE") {
			t.Errorf("case 79: %s: logs shown %v: %s", asset, shown, o.Evidence)
		}
	}
}

// TestTokenReverted is case 79 and the third part of case 80 for tokens: the token refuses on inclusion.
func TestTokenReverted(t *testing.T) {
	t.Parallel()
	c, cfg := withTokens(t)
	cfg.GasLimit = 200_000 // no estimate that would have told
	s := open(t, cfg)
	in := tokens("USDC", 0, 700)
	in.Destination = blocked
	in, a := preparedFor(t, s, in, 0)
	submit(t, s, a)
	c.Mine()
	c.Mine()
	if o := observe(t, s, watch(in, a)); o.Fact != intents.Reverted || !strings.Contains(string(o.Evidence), `"status":"0x0"`) {
		t.Errorf("case 79: %v, want reverted: %s", o.Fact, o.Evidence)
	}
}

// TestTokenPlan is case 80 for tokens: a blocked recipient is refused before a number is taken; what may change is not.
func TestTokenPlan(t *testing.T) {
	t.Parallel()
	_, cfg := withTokens(t)
	cfg.Tokens["NONE"] = evm.Token{Address: common.HexToAddress("0x1234")} // no code
	s := open(t, cfg)
	data := tokens("USDC", 0, 700)
	data.Metadata = map[string]string{evm.DataKey: "0x01"}
	itself, block := tokens("USDC", 0, 700), tokens("USDC", 0, 700)
	itself.Destination, block.Destination = at(0).Hex(), blocked
	for name, tt := range map[string]struct {
		in      intents.Intent
		refused bool
	}{
		"case 80: a blocked recipient": {block, true},
		"data":                         {data, true},
		"to the token itself":          {itself, true},
		"an asset nobody knows":        {tokens("EURC", 0, 700), true},
		"more than there is":           {tokens("USDC", 0, 1001), false},
		"no contract":                  {tokens("NONE", 0, 1), false},
	} {
		if p, err := s.Plan(t.Context(), tt.in); err == nil || isRefused(err) != tt.refused {
			t.Errorf("%s: %+v, %v; want refused %v", name, p, err, tt.refused)
		}
	}
	if _, err := s.Plan(t.Context(), tokens("USDC", 0, 1000)); err != nil {
		t.Errorf("all there is: %v", err)
	}
}

// TestTokenGas: the gas is paid in the native coin, and a signer without it waits.
func TestTokenGas(t *testing.T) {
	t.Parallel()
	node := quiet()
	node["eth_call"], node["eth_getBalance"] = `"0x`+strings.Repeat("f", 64)+`"`, `"0x1"`
	cfg := config(t, scripted(t, node))
	cfg.Tokens = map[string]evm.Token{"USDC": {at(0)}}
	if _, err := open(t, cfg).Plan(t.Context(), tokens("USDC", 0, 700)); err == nil || isRefused(err) || !strings.Contains(err.Error(), "wei") {
		t.Errorf("without native coin: %v, want not now for want of wei", err)
	}
}

// TestTokenSpent: the payment before took the tokens, so the estimate in Prepare reverts. That is no refusal.
func TestTokenSpent(t *testing.T) {
	t.Parallel()
	c, cfg := withTokens(t)
	s := open(t, cfg)
	second := tokens("USDC", 1, 600)
	if _, err := s.Plan(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	_, a := preparedFor(t, s, tokens("USDC", 0, 600), 0)
	submit(t, s, a)
	c.Mine()
	if got, err := s.Prepare(t.Context(), second, slot(s, 1), intents.First, nil); err == nil || isRefused(err) {
		t.Errorf("Prepare = %s, %v; want an error that is no refusal", got.Name, err)
	}
}

// TestTokenLogs is case 79: which logs count.
func TestTokenLogs(t *testing.T) {
	t.Parallel()
	node := quiet()
	node["eth_call"] = `"0x` + strings.Repeat("f", 64) + `"`
	open1 := func(n script) *evm.Sender {
		cfg := config(t, scripted(t, n))
		cfg.Tokens = map[string]evm.Token{"USDC": {at(0)}}
		return open(t, cfg)
	}
	in, a := preparedFor(t, open1(node), tokens("USDC", 0, 700), 0)
	word := func(hexes string) string {
		return "0x" + fmt.Sprintf("%064s", strings.ToLower(strings.TrimPrefix(hexes, "0x")))
	}
	sig := crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)")).Hex()
	approval := crypto.Keccak256Hash([]byte("Approval(address,address,uint256)")).Hex()
	from, to, other := word(chain.DevAddress().Hex()), word(in.Destination), word(at(9).Hex())
	log := func(addr common.Address, topics []string, data string) string {
		return fmt.Sprintf(`{"address":"%s","topics":["%s"],"data":"%s"}`, addr.Hex(), strings.Join(topics, `","`), data)
	}
	good := log(at(0), []string{sig, from, to}, word("2bc"))
	for name, tt := range map[string]struct {
		logs string
		want intents.Fact
	}{
		"ours":              {good, intents.Final},
		"ours among others": {log(at(5), []string{approval}, "0x") + "," + good, intents.Final},
		"none":              {"", intents.NotSeen},
		"of another token":  {log(at(1), []string{sig, from, to}, word("2bc")), intents.NotSeen},
		"of another event":  {log(at(0), []string{approval, from, to}, word("2bc")), intents.NotSeen},
		"from another":      {log(at(0), []string{sig, other, to}, word("2bc")), intents.NotSeen},
		"to another":        {log(at(0), []string{sig, from, other}, word("2bc")), intents.NotSeen},
		"of less":           {log(at(0), []string{sig, from, to}, word("2bb")), intents.NotSeen},
		"of a token's id":   {log(at(0), []string{sig, from, to, word("2bc")}, "0x"), intents.NotSeen},
		"of two words":      {log(at(0), []string{sig, from, to}, word("0")+word("2bc")[2:]), intents.NotSeen},
	} {
		n := quiet()
		const hash = `"0x0000000000000000000000000000000000000000000000000000000000000001"`
		n["eth_getBlockByNumber"] = `{"baseFeePerGas":"0x3b9aca00","number":"0x60","hash":` + hash + `}`
		n["eth_getTransactionReceipt"] = `{"transactionHash":"` + a.Name + `","blockNumber":"0x60","blockHash":` + hash + `,"status":"0x1","logs":[` + tt.logs + `]}`
		if o := observe(t, open1(n), watch(in, a)); o.Fact != tt.want {
			t.Errorf("case 79: a log %s: %v, want %v: %s", name, o.Fact, tt.want, o.Evidence)
		}
	}
}

// TestTokenForeign: bytes that move other tokens, or the same name as native coin, are not the intent's.
func TestTokenForeign(t *testing.T) {
	t.Parallel()
	c, cfg := withTokens(t)
	s := open(t, cfg)
	in, a := preparedFor(t, s, tokens("USDC", 0, 700), 0)
	submit(t, s, a)
	c.Mine()
	c.Mine()
	less, fee := in, in
	less.Amount, fee.Asset = intents.NewAmount(699), "FEE"
	for name, w := range map[string]intents.Watch{"amount": watch(less, a), "token": watch(fee, a)} {
		if o := observe(t, s, w); o.Fact != intents.NotSeen || !strings.Contains(string(o.Evidence), "not the intent's payment") {
			t.Errorf("another %s: %v, want not seen: %s", name, o.Fact, o.Evidence)
		}
	}
	delete(cfg.Tokens, "USDC") // a setting that went missing while it was on its way
	if o := observe(t, open(t, cfg), watch(in, a)); o.Fact != intents.NotSeen {
		t.Errorf("without the token's setting: %v, want not seen", o.Fact)
	}
}

func TestParseTokens(t *testing.T) {
	t.Parallel()
	got, err := evm.ParseTokens(map[string]string{"USDC": at(0).Hex(), "DAI": strings.ToLower(at(1).Hex())})
	if err != nil || len(got) != 2 || got["DAI"].Address != at(1) {
		t.Errorf("ParseTokens = %v, %v", got, err)
	}
	for _, bad := range []string{"", "0x", at(0).Hex()[2:], common.Address{}.Hex(), "0x52908400098527886E0F7030069857D2E4169Ee7"} {
		_, err := evm.ParseTokens(map[string]string{"USDC": bad})
		if e, ok := errors.AsType[*intents.InvalidError](err); !ok || e.Field != "tokens.USDC" {
			t.Errorf("ParseTokens of %q = %v, want an error that names tokens.USDC", bad, err)
		}
	}
}
