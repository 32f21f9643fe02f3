package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/nsqrelayer/relayer/intents"
)

// warden keeps the signers' counters.
type warden interface {
	// Signers reads every counter scope.
	Signers(ctx context.Context) ([]intents.Signer, error)
	// Freeze stops a signer: no number is given out. Errors: intents.ErrNoSigner.
	Freeze(ctx context.Context, scope, reason, actor string) (intents.Signer, error)
	// Unfreeze lets it give out numbers again, above all that the chain has used. Errors: intents.ErrNoSigner.
	Unfreeze(ctx context.Context, scope, reason, actor string) (intents.Signer, error)
}

type evmCmd struct {
	Signer signerCmd `cmd:"" help:"Show, freeze and unfreeze signers."`
}

type signerCmd struct {
	Show     signerShowCmd `cmd:"" help:"Show a signer, or all of them."`
	Freeze   freezeCmd     `cmd:"" help:"Stop a signer: no nonce is given out, in all processes."`
	Unfreeze unfreezeCmd   `cmd:"" help:"Let a signer give out nonces again."`
}

type signerShowCmd struct {
	Scope  string `arg:"" optional:"" help:"As evm:1:0x…; all when it is left out."`
	Output string `short:"o" enum:"table,json" default:"table" help:"table or json."`
}

// Help shows examples.
func (signerShowCmd) Help() string {
	return "Examples:\n\n    relayer evm signer show\n    relayer evm signer show evm:1:0x… -o json\n\n" +
		"NEXT is the next nonce to give out, CHAIN the chain's own count. OPEN nonces are not beyond recall yet, AHEAD of these the chain has not used; that counts against WINDOW."
}

// signerView is a signer as programs read it.
type signerView struct {
	Scope  string `json:"scope"`
	Next   int64  `json:"next"`  // the next nonce to give out
	Chain  int64  `json:"chain"` // the chain's count, when last looked at
	Open   int    `json:"open"`
	Ahead  int    `json:"ahead"`
	Window int    `json:"window"`
	Frozen string `json:"frozen,omitempty"` // why
}

// Run prints signers.
func (c *signerShowCmd) Run(a *app) error {
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := s.Signers(ctx)
	if err != nil {
		return err
	}
	if c.Scope != "" {
		all = slices.DeleteFunc(all, func(sg intents.Signer) bool { return sg.Scope != c.Scope })
		if len(all) == 0 {
			return fmt.Errorf("%s: %w", c.Scope, intents.ErrNoSigner)
		}
	}
	if c.Output == "json" {
		views := []signerView{}
		for _, sg := range all {
			views = append(views, signerView{sg.Scope, sg.Next, sg.Seen, sg.Open, sg.Ahead, sg.Window, sg.Frozen})
		}
		return printJSON(a.stdout, views)
	}
	return printSigners(a, all...)
}

func printSigners(a *app, all ...intents.Signer) error {
	t := newTable(a.stdout, "SCOPE", "NEXT", "CHAIN", "OPEN", "AHEAD", "WINDOW", "FROZEN")
	for _, sg := range all {
		t.row(sg.Scope, strconv.FormatInt(sg.Next, 10), strconv.FormatInt(sg.Seen, 10), strconv.Itoa(sg.Open),
			strconv.Itoa(sg.Ahead), strconv.Itoa(sg.Window), sg.Frozen)
	}
	return t.flush()
}

type freezeCmd struct {
	Scope  string `arg:"" help:"As evm:1:0x…"`
	Reason string `required:"" help:"Why; it stands in evm signer show."`
}

// Help shows an example.
func (freezeCmd) Help() string {
	return "Example:\n\n    relayer evm signer freeze evm:1:0x… --reason 'key rotation'\n\nWhat has its nonce already goes on."
}

// Run freezes.
func (c *freezeCmd) Run(a *app) error {
	return a.order(c.Scope, func(ctx context.Context, s store) (intents.Signer, error) {
		return s.Freeze(ctx, c.Scope, c.Reason, a.actor())
	})
}

type unfreezeCmd struct {
	Scope  string `arg:"" help:"As evm:1:0x…"`
	Reason string `required:"" help:"Why; it stands in the log."`
	Unseen bool   `help:"Also while the chain has used nonces that were not found: what these paid was compared with nothing."`
}

// Help shows an example.
func (unfreezeCmd) Help() string {
	return `Example:

    relayer evm signer unfreeze evm:1:0x… --reason 'sent by hand, see ticket 17'

Do this when you know who sent the foreign transaction, and that it will not happen again. Nonces that the chain has used are left out.`
}

// Run unfreezes. Numbers that the chain has used and nobody accounted for hide what may be paid twice.
func (c *unfreezeCmd) Run(a *app) error {
	return a.order(c.Scope, func(ctx context.Context, s store) (intents.Signer, error) {
		all, err := s.Signers(ctx)
		if err != nil {
			return intents.Signer{}, err
		}
		for _, sg := range all {
			if sg.Scope == c.Scope && sg.Seen > sg.Next && !c.Unseen {
				return sg, fmt.Errorf("the chain has used nonces %d to %d, which were not given out here and not found there yet: look what they paid, or wait until they are deep enough; --unseen goes on without", sg.Next, sg.Seen-1)
			}
		}
		return s.Unfreeze(ctx, c.Scope, c.Reason, a.actor())
	})
}

// order changes a signer and shows it.
func (a *app) order(scope string, how func(ctx context.Context, s store) (intents.Signer, error)) error {
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	sg, err := how(ctx, s)
	if err != nil {
		return fmt.Errorf("%s: %w", scope, err)
	}
	return printSigners(a, sg)
}
