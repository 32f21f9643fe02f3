package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/evm"
	"github.com/nsqrelayer/relayer/relayer/webhook"
)

// way is a sender as a route needs it.
type way interface {
	relayer.Sender
	relayer.Canon
	// open asks the other side what must be known before anything is claimed. Errors: *intents.InvalidError: a setting
	// is wrong; any other: not now.
	open(ctx context.Context, signers signers) error
	Close()
}

// runner is a way with work of its own.
type runner interface {
	// Run returns when ctx has ended.
	Run(ctx context.Context)
}

// scoped is a way that numbers its slots in scopes, as those of kind "evm:<chain>:<address>".
type scoped interface{ Scopes() []string }

// purse is a way that has seen what its signers hold.
type purse interface {
	// Balances tells what was last seen of each scope, in wei. It asks nobody.
	Balances() map[string]*big.Int
}

// noded is a way with endpoints to choose from.
type noded interface{ Nodes() []evm.NodeState }

// signers is where counter scopes are made known.
type signers interface {
	// OpenSigner compares the chain's next number with ours. Errors: intents.ErrUnavailable.
	OpenSigner(ctx context.Context, s intents.Signer) (intents.Signer, error)
}

// openWay opens a route's sender; m is charged for what it reads, where that is counted.
func openWay(r *config.Route, m evm.Meter, log *slog.Logger) (way, error) {
	return openCounted(r, m, nil, log)
}

// openCounted is openWay with somebody who hears of each call to a node.
func openCounted(r *config.Route, m evm.Meter, calls evm.Calls, log *slog.Logger) (way, error) {
	switch r.Sender {
	case "evm":
		return openEVM(r, m, calls, log)
	case "webhook":
		return openWebhook(r, log)
	}
	return nil, &intents.InvalidError{Field: "sender", Value: r.Sender, Want: "evm or webhook"}
}

type webhookWay struct{ *webhook.Sender }

func openWebhook(r *config.Route, log *slog.Logger) (way, error) {
	c := r.Webhook
	s, err := webhook.New(webhook.Config{
		URL: c.URL.Reveal(), Idempotent: c.Idempotent, KeyRetention: c.KeyRetention, Lookup: c.Lookup.Reveal(),
		Secret: c.Secret.Reveal(), Headers: c.Headers(), Timeout: r.SubmitTimeout, Allow: c.Allow,
		MaxConns: r.Throttle.InFlight, Logger: log,
	})
	return webhookWay{s}, err
}

func (webhookWay) open(context.Context, signers) error { return nil }

type evmWay struct {
	*evm.Sender
	signers []evm.Signer
	window  int
	log     *slog.Logger
}

// defaultWindow is how many nonces of a signer may be given out that the chain has not used yet. Pools keep 16 executable
// transactions of an account for certain (go-ethereum, core/txpool/legacypool, AccountSlots); what is above may be thrown
// out, and then all behind it waits for a nonce that is nowhere. At a block in 12 s that is up to 1.3 transactions a
// second for each signer; more signers, or a larger window against a node whose pool is as large, give more.
const defaultWindow = 16

func openEVM(r *config.Route, m evm.Meter, calls evm.Calls, log *slog.Logger) (way, error) {
	c := r.EVM
	signers, err := openSigners(r)
	if err != nil {
		return nil, err
	}
	tokens, err := evm.ParseTokens(c.Tokens)
	if err != nil {
		return nil, err
	}
	var endpoints []evm.Endpoint
	for _, e := range c.RPCURLs.All() {
		endpoints = append(endpoints, evm.Endpoint{URL: e.URL.Reveal(), Weight: e.Weight})
	}
	s, err := evm.New(evm.Config{
		RPCURL: c.RPCURL.Reveal(), Endpoints: endpoints, ChainID: c.ChainID, Signers: signers, Assets: []string{c.Coin}, Tokens: tokens, AllowData: c.AllowData,
		Confirmations: uint64(c.Confirmations), MaxFeePerGas: c.MaxFeePerGas.Big(), LowBalance: c.LowBalance.Big(), Timeout: r.SubmitTimeout, Logger: log,
		Finality: evm.Finality(c.Finality), FeePercentile: c.FeePercentile, BumpAfter: uint64(c.BumpAfter), BumpPercent: uint64(c.BumpPercent),
		MaxBumps: c.MaxBumps, NoBump: c.NoBump, ResendAfter: c.ResendAfter, SendBatch: c.SendBatch, Units: evm.Units(c.Units), Meter: m, Calls: calls,
	})
	window := c.Window
	if window == 0 {
		window = defaultWindow
	}
	return evmWay{Sender: s, signers: signers, window: window, log: log}, err
}

// Close ends what the sender and signers elsewhere hold open.
func (e evmWay) Close() {
	e.Sender.Close()
	for _, signer := range e.signers {
		if c, ok := signer.(interface{ Close() }); ok {
			c.Close()
		}
	}
}

// openSigners opens the route's keystores, or its signer elsewhere, which is not asked yet.
func openSigners(r *config.Route) (signers []evm.Signer, err error) {
	c := r.EVM
	if c.SignerURL.Reveal() != "" {
		return openRemote(r)
	}
	passphrases := c.Passphrases()
	for i, file := range c.Keystore {
		k, err := evm.OpenKeystore(file, passphrases[i])
		if err != nil {
			return nil, fmt.Errorf("keystore: %w", err)
		}
		signers = append(signers, k)
	}
	return signers, nil
}

// openRemote makes one signer of each address.
func openRemote(r *config.Route) (signers []evm.Signer, err error) {
	c := r.EVM
	for _, text := range c.SignerAddress {
		addr, err := evm.ParseAddress("signer-address", text)
		if err != nil {
			return nil, err
		}
		s, err := evm.NewRemote(evm.RemoteConfig{URL: c.SignerURL.Reveal(), Kind: evm.RemoteKind(c.SignerKind), Address: addr, Timeout: r.PrepareTimeout})
		if err != nil {
			return nil, err
		}
		signers = append(signers, s)
	}
	return signers, nil
}

// open checks the chain and opens the signers. One whose chain is ahead of our numbers is frozen: somebody else sends
// with its key, or the database was restored from a backup.
func (e evmWay) open(ctx context.Context, store signers) error {
	next, err := e.Check(ctx)
	if wrong, ok := errors.AsType[*evm.ChainError](err); ok {
		return &intents.InvalidError{Field: "chain-id", Value: wrong.Want.String(), Want: fmt.Sprintf("%v, the chain of the node at %s", wrong.Have, wrong.Host)}
	}
	for _, scope := range e.Scopes() {
		if err != nil {
			break
		}
		var signer intents.Signer
		signer, err = store.OpenSigner(ctx, intents.Signer{Scope: scope, Next: next[scope], Window: e.window})
		if err == nil && signer.Frozen != "" {
			e.log.ErrorContext(ctx, "signer is frozen", "scope", signer.Scope, "why", signer.Frozen, "next", signer.Next, "chain", next[scope])
		}
	}
	return err
}
