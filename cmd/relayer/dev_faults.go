//go:build !lean

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/nsqrelayer/relayer/internal/devstack/rpcproxy"
	"github.com/nsqrelayer/relayer/internal/devstack/sink"
)

// rpcFaults is a flag that may stand alone: then it means the default faults.
type rpcFaults string

// Decode takes the value, if there is one: --rpc-faults, --rpc-faults=SPEC, --rpc-faults SPEC.
func (f *rpcFaults) Decode(ctx *kong.DecodeContext) error {
	*f = "default"
	if !ctx.Scan.Peek().IsValue() {
		return nil
	}
	spec, ok := ctx.Scan.Pop().Value.(string)
	if !ok {
		return errors.New("want faults")
	}
	*f = rpcFaults(spec)
	return nil
}

// IsBool tells kong that the flag needs no value.
func (rpcFaults) IsBool() bool { return true }

// startProxy puts a proxy that lies before the chain, if that is wanted. Effects are counted behind it.
func (d *dev) startProxy(ctx context.Context) error {
	d.parts.rpc = d.parts.chain.URL
	if d.cmd.RPCFaults == "" {
		return nil
	}
	p, err := rpcproxy.Start(ctx, rpcproxy.Config{
		Node: d.parts.chain.URL, Faults: d.rpcFaults, DropPool: d.parts.chain.DropPool, Logger: d.log,
	})
	if err != nil {
		return fmt.Errorf("rpc faults: %w", err)
	}
	d.stops = append(d.stops, p.Stop)
	d.parts.rpc, d.parts.proxy = p.URL, p
	d.say("rpc faults", "%s  %s", p.URL, d.cmd.RPCFaults)
	return nil
}

// tellFaults prints what the proxy did.
func (d *dev) tellFaults() {
	if d.parts.proxy == nil {
		return
	}
	hits := d.parts.proxy.Hits()
	var told []string
	for _, word := range slices.Sorted(maps.Keys(hits)) {
		told = append(told, fmt.Sprintf("%s %d", word, hits[word]))
	}
	fmt.Fprintf(d.out, "rpc faults: %s\n", strings.Join(told, ", "))
}

// devWindow is how many nonces of the dev key may be open at once: a pool without gaps keeps them all.
const devWindow = 1024

// window is smaller where sends get lost: of those behind a gap the pool keeps 64, and drops others that it had taken
// (go-ethereum, core/txpool/legacypool, AccountQueue).
func (d *dev) window() int {
	if d.cmd.RPCFaults != "" {
		return defaultWindow
	}
	return devWindow
}

// helpVars are what help texts take from the parts of the dev stack.
func helpVars() kong.Vars {
	return kong.Vars{"sinkfaults": sink.FaultsHelp, "rpcfaults": rpcproxy.FaultsHelp}
}
