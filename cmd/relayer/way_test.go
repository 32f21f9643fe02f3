package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
)

func remoteRoute() *config.Route {
	return &config.Route{Sender: "evm", Assets: []string{"ETH", "USDC"}, EVM: config.EVM{Coin: "ETH",
		RPCURL: config.NewSecret("http://127.0.0.1:1/SECRETKEY"), ChainID: chain.ID,
		SignerURL: config.NewSecret("http://127.0.0.1:2/SECRETKEY"), SignerKind: "clef", SignerAddress: chain.DevAddress().Hex(),
		Tokens: config.Tokens{"USDC": "0x52908400098527886E0F7030069857D2E4169EE7"},
	}}
}

// TestOpenRemoteSigner: the signer elsewhere names the scope.
func TestOpenRemoteSigner(t *testing.T) {
	w, err := openWay(remoteRoute(), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if got := w.(evmWay).Scope(); !strings.HasSuffix(got, chain.DevAddress().Hex()) {
		t.Errorf("scope %s, want the signer's address in it", got)
	}
}

// TestOpenRefuses: addresses with a slip in them are told by their setting.
func TestOpenRefuses(t *testing.T) {
	const slip = "0x52908400098527886E0F7030069857D2E4169eE7"
	for field, spoil := range map[string]func(*config.EVM){
		"signer-address": func(e *config.EVM) { e.SignerAddress = slip },
		"signer-kind":    func(e *config.EVM) { e.SignerKind = "ledger" },
		"tokens.USDC":    func(e *config.EVM) { e.Tokens["USDC"] = slip },
	} {
		r := remoteRoute()
		spoil(&r.EVM)
		_, err := openWay(r, nil, slog.New(slog.DiscardHandler))
		if bad, ok := errors.AsType[*intents.InvalidError](err); !ok || bad.Field != field || strings.Contains(err.Error(), "SECRETKEY") {
			t.Errorf("got %v, want an error that names %s", err, field)
		}
	}
}

// TestOpenCounts: what a provider counts is charged to the meter that the route was given.
func TestOpenCounts(t *testing.T) {
	r := remoteRoute()
	r.EVM.Units = config.Units{"eth_sendRawTransaction": 40, "default": 20}
	_, err := openWay(r, nil, slog.New(slog.DiscardHandler))
	if bad, ok := errors.AsType[*intents.InvalidError](err); !ok || bad.Field != "compute-units" {
		t.Errorf("without a meter: %v", err)
	}
	m := new(spent)
	w, err := openWay(r, m, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.(evmWay).Numbers(t.Context()); err == nil || m.units != 60 { // chain id, height and nonce; nobody answers
		t.Errorf("%d units spent: %v", m.units, err)
	}
}

type spent struct{ units int }

func (s *spent) Spend(_ context.Context, units int) error {
	s.units += units
	return nil
}
