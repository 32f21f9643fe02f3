// Command bench-evm compares the relayer with a bare loop of eth_sendRawTransaction: one signer each, the same node, the
// same number of connections, in one run. What is counted is transactions the node accepted, by the second; the relayer's
// are claimed, signed, stored and written in Postgres besides. Both sides' transactions are mined in the end, or it fails.
//
// The relayer's side is the engine's worker with its store and sender, on a private Postgres that syncs its log. Messages
// are handed to the worker directly, without NSQ; sweeper and observer are not running. The bare side sends what was signed
// before the clock started.
//
// The sides take turns, and each of the relayer's stands between two halves of one of the bare side's, so that whatever else
// the machine does meanwhile hits both. The ratio is the median of the turns.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/big"
	"os"
	"os/signal"
	"slices"
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
	turns       int // of each side
	connections int // to the node, of each side
	workers     int // deliveries worked at once
	batch       int // transactions in one call of the relayer
	block       int // a block after so many are accepted

	chain *chain.Chain
	bare  *bare
	ours  *engine
}

func main() {
	var b bench
	flag.IntVar(&b.count, "n", 36000, "transactions of each side")
	flag.IntVar(&b.turns, "turns", 9, "turns of each side; odd, so that one is in the middle")
	flag.IntVar(&b.connections, "connections", 16, "connections to the node, of each side")
	flag.IntVar(&b.workers, "workers", 1024, "deliveries worked at once")
	flag.IntVar(&b.batch, "send-batch", 64, "transactions in one call of the relayer, as the setting of that name")
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
	var all []result
	for n := range b.turns {
		r, err := b.turn(ctx, n*b.count/b.turns, (n+1)*b.count/b.turns)
		if err != nil {
			return err
		}
		fmt.Printf("turn %d: %v\n", n+1, r)
		all = append(all, r)
	}
	if err := b.allMined(ctx); err != nil {
		return err
	}
	fmt.Printf("bench-evm: %v\n", median(all))
	return nil
}

// result is what both sides did in a turn.
type result struct{ relayer, bare float64 } // transactions a second

func (r result) ratio() float64 { return r.relayer / r.bare }

func (r result) String() string {
	return fmt.Sprintf("relayer %.0f tx/s, bare %.0f tx/s, ratio %.2f", r.relayer, r.bare, r.ratio())
}

// median is the result of the turn whose ratio is in the middle, of an even number the lower one.
func median(all []result) result {
	slices.SortFunc(all, func(a, b result) int { return cmp.Compare(a.ratio(), b.ratio()) })
	return all[(len(all)-1)/2]
}

// turn has both sides send the numbers from one up to another.
func (b *bench) turn(ctx context.Context, from, to int) (result, error) {
	half := (from + to) / 2
	before, err := b.bare.send(ctx, from, half, b.mined())
	if err != nil {
		return result{}, err
	}
	ours, err := b.ours.send(ctx, from, to, b.mined())
	if err != nil {
		return result{}, err
	}
	after, err := b.bare.send(ctx, half, to, b.mined())
	return result{rate(to-from, ours), rate(to-from, before+after)}, err
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
