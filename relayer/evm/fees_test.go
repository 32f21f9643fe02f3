package evm_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/params"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

// feeHistory is an answer of eth_feeHistory: tips of blocks, in gwei (negative: an empty block), and the next base fee.
func feeHistory(next int64, tips ...int64) string {
	var used, rewards []string
	for _, tip := range tips {
		ratio := "0.5"
		if tip < 0 {
			ratio, tip = "0", 0
		}
		used, rewards = append(used, ratio), append(rewards, fmt.Sprintf(`["%#x"]`, tip*params.GWei))
	}
	bases := strings.Repeat(`"0x1",`, len(tips))
	return fmt.Sprintf(`{"oldestBlock":"0x1","baseFeePerGas":[%s"%#x"],"gasUsedRatio":[%s],"reward":[%s]}`,
		bases, next*params.GWei, strings.Join(used, ","), strings.Join(rewards, ","))
}

// TestFees prices by the fee history, capped. The older calls say a base fee and a tip of 1 gwei.
func TestFees(t *testing.T) {
	t.Parallel()
	const missing = `error:{"code":-32601,"message":"the method eth_feeHistory does not exist/is not available"}`
	for _, tt := range []struct {
		name, history, suggests string
		change                  func(*evm.Config)
		cap, tip                int64 // wei; cap 0: not now
	}{
		{name: "the median tip", history: feeHistory(2, 5, 1, 3), cap: 7 * params.GWei, tip: 3 * params.GWei},
		{name: "empty blocks do not count", history: feeHistory(2, -1, 3, -1, -1), cap: 7 * params.GWei, tip: 3 * params.GWei},
		{name: "all blocks empty", history: feeHistory(2, -1, -1), cap: 5 * params.GWei, tip: params.GWei},
		{name: "nobody tips", history: feeHistory(2, 0, 0), cap: 4*params.GWei + 1, tip: 1},
		{name: "no history", history: missing, cap: 3 * params.GWei, tip: params.GWei},
		{name: "history is null", history: "null", cap: 3 * params.GWei, tip: params.GWei},
		{name: "history is nonsense", history: `{"baseFeePerGas":"0x1"}`, cap: 3 * params.GWei, tip: params.GWei},
		{name: "a tip of our own", history: feeHistory(2, 5), change: func(c *evm.Config) { c.Tip = big.NewInt(7) }, cap: 4*params.GWei + 7, tip: 7},
		{name: "case 71: tip and base fee together are capped", history: feeHistory(30, 5), cap: 50 * params.GWei, tip: 5 * params.GWei},
		{name: "case 71: a tip above the cap", history: feeHistory(1, 80), cap: 50 * params.GWei, tip: 50 * params.GWei},
		{name: "case 71: the base fee is above the cap", history: feeHistory(51, 1)},
		{name: "nobody suggests a tip", history: missing, suggests: missing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := quiet()
			node["eth_feeHistory"] = tt.history
			if tt.suggests != "" {
				node["eth_maxPriorityFeePerGas"] = tt.suggests
			}
			cfg := config(t, scripted(t, node))
			if tt.change != nil {
				tt.change(&cfg)
			}
			s := open(t, cfg)
			if tt.cap == 0 {
				if _, err := s.Plan(t.Context(), payment(0)); err == nil || isRefused(err) {
					t.Errorf("Plan = %v, want: not now", err)
				}
				return
			}
			_, a := prepared(t, s, 0)
			if tx := decode(t, a); tx.GasFeeCap().Int64() != tt.cap || tx.GasTipCap().Int64() != tt.tip {
				t.Errorf("fee %v, tip %v; want %d, %d", tx.GasFeeCap(), tx.GasTipCap(), tt.cap, tt.tip)
			}
		})
	}
}

// TestFeesAsked: what is asked of the node, and that many payments do not ask many times.
func TestFeesAsked(t *testing.T) {
	t.Parallel()
	node := quiet()
	node["eth_feeHistory"] = feeHistory(2, 1)
	f := newFront(t, scripted(t, node))
	asked := make(map[string]int)
	var last string
	f.says(func(c call) string {
		asked[c.Method]++
		if c.Method == "eth_feeHistory" {
			last = fmt.Sprintf("%s", c.Params)
		}
		return ""
	})
	cfg := config(t, f.URL)
	cfg.FeePercentile = 35
	s := open(t, cfg)
	for n := range 50 {
		prepared(t, s, n)
	}
	if last != `["0xa" "latest" [35]]` {
		t.Errorf("asked with %s, want the 35th percentile of ten blocks", last)
	}
	if n := asked["eth_feeHistory"]; n < 1 || n > 60 || asked["eth_getBalance"] < 50 {
		t.Errorf("asked %v for 50 payments, want the prices a few times only", asked)
	}
}

// TestFeesFresh: a price is not kept for long.
func TestFeesFresh(t *testing.T) {
	t.Parallel()
	node := quiet()
	base := int64(60)
	f := newFront(t, scripted(t, node))
	f.says(func(c call) string {
		if c.Method == "eth_feeHistory" {
			return feeHistory(base, 1)
		}
		return ""
	})
	s := open(t, config(t, f.URL))
	if _, err := s.Plan(t.Context(), payment(0)); err == nil || isRefused(err) {
		t.Fatalf("case 71: Plan under a base fee above the cap = %v, want: not now", err)
	}
	f.says(func(c call) string {
		if c.Method == "eth_feeHistory" {
			return feeHistory(10, 1)
		}
		return ""
	})
	await(t, func() bool { _, err := s.Plan(t.Context(), payment(0)); return err == nil })
	if _, a := prepared(t, s, 0); decode(t, a).GasFeeCap().Int64() != 21*params.GWei {
		t.Errorf("case 71: fee %v, want 21 gwei", decode(t, a).GasFeeCap())
	}
}

// TestBumpPercent: some pools want more than a tenth.
func TestBumpPercent(t *testing.T) {
	t.Parallel()
	cfg := config(t, scripted(t, quiet()))
	cfg.BumpPercent = 100
	s := open(t, cfg)
	in, first := prepared(t, s, 0)
	a, err := s.Prepare(t.Context(), in, in.Slot, intents.Bump, []intents.Attempt{first})
	if err != nil {
		t.Fatal(err)
	}
	if tx := decode(t, a); tx.GasFeeCap().Int64() != 6*params.GWei+1 || tx.GasTipCap().Int64() != 2*params.GWei+1 {
		t.Errorf("fee %v, tip %v; want double and one", tx.GasFeeCap(), tx.GasTipCap())
	}
}
