//go:build !lean

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nsqrelayer/relayer/intents"
)

// demoAccount pays for the demo.
const demoAccount = "acct_demo"

// openAccounts puts money into the demo's account: what is credited is enforced.
func (d *dev) openAccounts(ctx context.Context) error {
	thousandEther, err := intents.ParseAmount("1000000000000000000000")
	if err != nil {
		return err
	}
	for asset, amount := range map[string]intents.Amount{"ETH": thousandEther, "USD": intents.NewAmount(100_000_000)} {
		e := intents.Entry{Account: demoAccount, Asset: asset, Amount: amount, Ref: "dev"}
		if _, err := d.proc.store.Credit(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// demoIntents makes n intents, each with a destination of its own, so that effects can be counted outside.
func demoIntents(run string, n int) []intents.Intent {
	ins := make([]intents.Intent, n)
	for i := range ins {
		in := intents.Intent{ID: fmt.Sprintf("pi_%s_%05d", run, i+1), Account: demoAccount}
		if i%2 == 0 {
			in.Route, in.Asset, in.Amount = "payouts", "ETH", intents.NewAmount(int64(1_000_000_000+i))
			in.Destination = common.BytesToAddress(crypto.Keccak256([]byte(in.ID))).Hex()
		} else {
			in.Route, in.Asset, in.Amount = "webhooks", "USD", intents.NewAmount(int64(100+i%1000))
			in.Destination = "customer-" + in.ID
		}
		ins[i] = in
	}
	return ins
}

// demoResult is what became of the demo's intents, and what the outside shows.
type demoResult struct {
	done           bool // every intent is final or in review
	total          int
	states         map[intents.State]int
	effects, twice int
}

// demo publishes intents and waits until all of them are final or in review.
func (d *dev) demo(ctx context.Context) (demoResult, error) {
	run := time.Now().UTC().Format("150405")
	if d.cmd.Demo == "review" {
		if err := d.leaveReviews(ctx, run); err != nil {
			return demoResult{}, ignoreEnd(ctx, err)
		}
	}
	ins := demoIntents(run, d.cmd.Intents)
	if err := d.publish(ctx, ins); err != nil {
		return demoResult{}, ignoreEnd(ctx, err)
	}
	states, err := d.await(ctx, ins)
	if err != nil {
		return demoResult{}, ignoreEnd(ctx, err)
	}
	r := demoResult{done: true, total: len(ins), states: states}
	r.effects, r.twice, err = d.count(ctx, ins)
	if err != nil {
		return demoResult{}, ignoreEnd(ctx, err)
	}
	d.show.summary(d.proc.stats())
	return r, nil
}

// ignoreEnd leaves out what only says that the demo was interrupted.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// publish sends full intents to the topics of their routes.
func (d *dev) publish(ctx context.Context, ins []intents.Intent) error {
	for _, in := range ins {
		body, err := intents.Encode(in)
		if err != nil {
			return err
		}
		if err := d.proc.pub.Publish(ctx, "intents."+in.Route, body); err != nil {
			return fmt.Errorf("publish %s: %w", in.ID, err)
		}
	}
	return nil
}

// lookEvery is the pause between two looks at the demo's intents.
const lookEvery = 200 * time.Millisecond

// await reads the intents by their account until all are at rest, and counts their states.
func (d *dev) await(ctx context.Context, ins []intents.Intent) (map[intents.State]int, error) {
	ours := make(map[string]bool, len(ins))
	for _, in := range ins {
		ours[in.ID] = true
	}
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	states := map[intents.State]int{}
	for len(ours) > 0 {
		for id := range maps.Clone(ours) {
			in, err := d.proc.store.Get(ctx, id)
			switch {
			case errors.Is(err, intents.ErrNotFound): // not taken yet
			case err != nil:
				return nil, err
			case in.State.Final() || in.State == intents.NeedsReview:
				states[in.State]++
				delete(ours, id)
			}
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return states, nil
}

// count reads the effects from the chain and the sink, not from us.
func (d *dev) count(ctx context.Context, ins []intents.Intent) (effects, twice int, err error) {
	var dests []string
	ids := map[string]bool{}
	for _, in := range ins {
		if in.Route == "payouts" {
			dests = append(dests, in.Destination)
		} else {
			ids[in.ID] = true
		}
	}
	onChain, err := d.parts.chain.Effects(ctx, dests)
	if err != nil {
		return 0, 0, err
	}
	calls := d.parts.sink.Effects()
	maps.DeleteFunc(calls, func(id string, _ int) bool { return !ids[id] })
	for _, n := range slices.AppendSeq(slices.Collect(maps.Values(onChain)), maps.Values(calls)) {
		effects += n
		if n > 1 {
			twice++
		}
	}
	return effects, twice, nil
}

// conclude prints the last line of --exit, and gives the exit code.
func (d *dev) conclude(r demoResult) error {
	d.stop()
	if !d.cmd.Exit {
		return nil
	}
	if !r.done {
		return quiet(exitFailed)
	}
	d.tellFaults()
	fmt.Fprintf(d.out, "dev: %d intents: %d settled, %d failed, %d in review; effects %d, twice %d\n", r.total,
		r.states[intents.Settled], r.states[intents.Failed]+r.states[intents.Canceled], r.states[intents.NeedsReview], r.effects, r.twice)
	if r.states[intents.Settled] != r.total || r.effects != r.total || r.twice != 0 {
		return quiet(exitBadEnd)
	}
	return nil
}
