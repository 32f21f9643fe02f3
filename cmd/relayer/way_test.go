package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
)

func remoteRoute() *config.Route {
	return &config.Route{Sender: "evm", Assets: []string{"ETH", "USDC"}, EVM: config.EVM{Coin: "ETH",
		RPCURL: config.NewSecret("http://127.0.0.1:1/SECRETKEY"), ChainID: chain.ID,
		SignerURL: config.NewSecret("http://127.0.0.1:2/SECRETKEY"), SignerKind: "clef", SignerAddress: []string{chain.DevAddress().Hex()},
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
	if got := w.(evmWay).Scopes()[0]; !strings.HasSuffix(got, chain.DevAddress().Hex()) {
		t.Errorf("scope %s, want the signer's address in it", got)
	}
}

// TestOpenRefuses: addresses with a slip in them are told by their setting.
func TestOpenRefuses(t *testing.T) {
	const slip = "0x52908400098527886E0F7030069857D2E4169eE7"
	for field, spoil := range map[string]func(*config.EVM){
		"signer-address": func(e *config.EVM) { e.SignerAddress = []string{slip} },
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

// TestOpenSigners: each keystore is opened with its own passphrase, and one that is wrong is told by its file.
func TestOpenSigners(t *testing.T) {
	other, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for i, key := range []*ecdsa.PrivateKey{chain.DevKey(), other} {
		file, err := chain.WriteKeystore(t.TempDir(), key, fmt.Sprintf("passphrase-%d", i+1))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	r := remoteRoute()
	r.EVM.SignerURL, r.EVM.SignerKind, r.EVM.SignerAddress = config.Secret{}, "", nil
	r.EVM.Keystore, r.EVM.Passphrase = files, config.NewSecret("passphrase-1\npassphrase-2")
	w, err := openWay(r, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want := fmt.Sprintf("[evm:%d:%s evm:%d:%s]", chain.ID, chain.DevAddress(), chain.ID, crypto.PubkeyToAddress(other.PublicKey))
	if got := fmt.Sprint(w.(evmWay).Scopes()); got != want {
		t.Errorf("scopes %s, want %s", got, want)
	}
	r.EVM.Passphrase = config.NewSecret("passphrase-1\npassphrase-3")
	if _, err := openWay(r, nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), files[1]) || strings.Contains(err.Error(), "passphrase-") {
		t.Errorf("a wrong passphrase: %v, want the file's name alone", err)
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
