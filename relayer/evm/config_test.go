package evm_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		field string
		spoil func(*evm.Config)
	}{
		{"rpc-url", func(c *evm.Config) { c.RPCURL = "" }},
		{"rpc-url", func(c *evm.Config) { c.RPCURL = "ws://node.example/SECRETKEY" }},
		{"rpc-url", func(c *evm.Config) { c.RPCURL = "http://node.example/%zz-SECRETKEY" }},
		{"tokens", func(c *evm.Config) { c.Tokens = map[string]evm.Token{"USDC": {}} }},
		{"tokens", func(c *evm.Config) {
			c.Assets, c.Tokens = []string{"ETH"}, map[string]evm.Token{"ETH": {Address: common.HexToAddress("0x1")}}
		}},
		{"chain-id", func(c *evm.Config) { c.ChainID = 0 }},
		{"keystore", func(c *evm.Config) { c.Signers = nil }},
		{"max-fee-per-gas", func(c *evm.Config) { c.MaxFeePerGas = new(big.Int) }},
		{"tip", func(c *evm.Config) { c.Tip = big.NewInt(-1) }},
		{"tip", func(c *evm.Config) { c.Tip = new(big.Int).Add(c.MaxFeePerGas, big.NewInt(1)) }},
		{"gas-limit", func(c *evm.Config) { c.GasLimit = 20_999 }},
		{"finality", func(c *evm.Config) { c.Finality = "latest" }},
		{"fee-percentile", func(c *evm.Config) { c.FeePercentile = 101 }},
		{"fee-percentile", func(c *evm.Config) { c.FeePercentile = math.NaN() }},
		{"bump-percent", func(c *evm.Config) { c.BumpPercent = 9 }},
		{"bump-percent", func(c *evm.Config) { c.BumpPercent = 1001 }},
		{"max-bumps", func(c *evm.Config) { c.MaxBumps = -1 }},
		{"resend-after", func(c *evm.Config) { c.ResendAfter = -1 }},
		{"compute-units", func(c *evm.Config) { c.Units, c.Meter = evm.Units{"default": 20, "eth_call": 0}, new(meter) }},
		{"compute-units", func(c *evm.Config) { c.Units, c.Meter = evm.Units{"eth_call": 20}, new(meter) }},
		{"compute-units", func(c *evm.Config) { c.Units = evm.Units{"default": 20} }},
		{"timeout, max-conns", func(c *evm.Config) { c.Timeout = -1 }},
	} {
		cfg := config(t, "http://node.example"+secretPath)
		if err := cfg.Validate(); err != nil {
			t.Fatalf("before: %v", err)
		}
		tt.spoil(&cfg)
		_, err := evm.New(cfg)
		if e, ok := errors.AsType[*intents.InvalidError](err); !ok || e.Field != tt.field {
			t.Errorf("New = %v, want an error that names %s", err, tt.field)
		}
		if err != nil && strings.Contains(err.Error(), "SECRETKEY") {
			t.Errorf("case 111: %v", err)
		}
	}
}
