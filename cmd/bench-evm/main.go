// Command bench-evm compares the relayer with a bare loop of eth_sendRawTransaction: one signer each, the same node, the
// same number of connections, in one run. What is counted is transactions the node accepted, by the second; the relayer's
// are claimed, signed, stored and written in Postgres besides. Both sides' transactions are mined in the end, or it fails.
//
// The relayer's side is the engine's worker with its store and sender, on a private Postgres that syncs its log. Messages
// are handed to the worker directly, without NSQ; sweeper and observer are not running. The bare side sends what was signed
// before the clock started, half of it before and half after the relayer's turn.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/big"
	"os"
	"os/signal"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nsqrelayer/relayer/internal/devstack/chain"
)

// bench is one run.
type bench struct {
	count       int // transactions of each side
	connections int // to the node, of each side
	workers     int // deliveries worked at once
	block       int // a block after so many are accepted

	chain *chain.Chain
	bare  *bare
	ours  *engine
}

func main() {
	var b bench
	flag.IntVar(&b.count, "n", 4000, "transactions of each side")
	flag.IntVar(&b.connections, "connections", 16, "connections to the node, of each side")
	flag.IntVar(&b.workers, "workers", 256, "deliveries worked at once")
	flag.IntVar(&b.block, "block", 1000, "mine a block after so many are accepted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench-evm:", err)
		stop()
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) error {
	end, err := b.setUp(ctx)
	defer end()
	if err != nil {
		return err
	}
	half := b.count / 2
	before, err := b.bare.send(ctx, 0, half, b.mined())
	if err != nil {
		return err
	}
	ours, err := b.ours.send(ctx, b.mined())
	if err != nil {
		return err
	}
	after, err := b.bare.send(ctx, half, b.count, b.mined())
	if err != nil {
		return err
	}
	if err := b.allMined(ctx); err != nil {
		return err
	}
	relayer, bare := rate(b.count, ours), rate(b.count, before+after)
	fmt.Printf("bench-evm: relayer %.0f tx/s, bare %.0f tx/s, ratio %.2f\n", relayer, bare, relayer/bare)
	return nil
}

func rate(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// setUp starts the parts. end stops those that were started, whatever the error.
func (b *bench) setUp(ctx context.Context) (end func(), err error) {
	var stops []func()
	end = func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}
	key, err := crypto.GenerateKey()
	if err != nil {
		return end, err
	}
	rich := types.Account{Balance: new(big.Int).Mul(big.NewInt(1_000_000), big.NewInt(params.Ether))}
	b.chain, err = chain.Start(ctx, chain.Config{
		BlockTime: -1, PoolSlots: uint64(4 * b.count),
		Alloc: types.GenesisAlloc{crypto.PubkeyToAddress(key.PublicKey): rich},
	})
	if err != nil {
		return end, err
	}
	stops = append(stops, func() { _ = b.chain.Close() })
	if b.bare, err = newBare(b.chain.URL, key, b.count, b.connections); err != nil {
		return end, err
	}
	var stop func()
	b.ours, stop, err = newEngine(ctx, b)
	stops = append(stops, stop)
	return end, err
}

// mined gives a function that is told of every accepted transaction and mines a block when there are enough.
func (b *bench) mined() func(accepted int64) {
	return func(accepted int64) {
		if accepted%int64(b.block) == 0 {
			b.chain.Mine()
		}
	}
}

// allMined mines the rest and compares both accounts' numbers with what was sent.
func (b *bench) allMined(ctx context.Context) error {
	for range 2 + 2*b.count/b.block {
		b.chain.Mine()
	}
	client, err := ethclient.DialContext(ctx, b.chain.URL)
	if err != nil {
		return err
	}
	defer client.Close()
	for side, from := range map[string]common.Address{"relayer": chain.DevAddress(), "bare": b.bare.from} {
		n, err := client.NonceAt(ctx, from, nil)
		if err != nil {
			return err
		}
		if n != uint64(b.count) {
			return fmt.Errorf("%s: %d of %d transactions are mined", side, n, b.count)
		}
	}
	return b.ours.check(ctx)
}
