// Package chain runs an EVM chain in this process: the simulated backend of go-ethereum with its RPC on a real HTTP
// port, a block at a steady pace and a funded key that everybody knows. It is for development and tests; chain id 1337.
package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/ethclient/simulated"
	"github.com/ethereum/go-ethereum/node"
)

// ID is the chain id, which the simulated backend fixes.
const ID = 1337

// Config says how the chain runs. The zero value is a block a second on a free port.
type Config struct {
	// HTTPAddr is where the RPC listens, default 127.0.0.1:0.
	HTTPAddr string

	// BlockTime is the time between blocks, default 1 s. Each block is mined, empty or not. Negative mines nothing:
	// blocks come from Mine. Timestamps are whole seconds and rise with each block, so with less than 1 s they run
	// ahead of the clock.
	BlockTime time.Duration

	// Alloc funds accounts in the first block, on top of the development key's 1,000,000 ETH. It wins over that.
	Alloc types.GenesisAlloc

	// PoolSlots is how many transactions of one account the pool keeps, executable ones and others, and of all together.
	// Default: go-ethereum's, 16 for certain, 64 that wait for an earlier one, and 5120 and 1024 of all.
	PoolSlots uint64
}

// Chain is a running chain.
type Chain struct {
	URL string // of the RPC, http://host:port

	mu      sync.Mutex // one block at a time; guards backend
	backend *simulated.Backend
	held    bool
	alloc   types.GenesisAlloc

	stop chan struct{}
	done sync.WaitGroup
}

// Start runs the chain until Close. It begins with one empty block after the genesis.
func Start(ctx context.Context, cfg Config) (*Chain, error) {
	cfg.BlockTime = cmp.Or(cfg.BlockTime, time.Second)
	alloc := types.GenesisAlloc{DevAddress(): {Balance: new(big.Int).Mul(big.NewInt(1_000_000), big.NewInt(1e18))}}
	maps.Copy(alloc, cfg.Alloc)
	c := &Chain{stop: make(chan struct{}), alloc: alloc}
	if err := c.open(cmp.Or(cfg.HTTPAddr, "127.0.0.1:0"), cfg.PoolSlots); err != nil {
		return nil, fmt.Errorf("chain: %w", err)
	}
	if err := c.firstBlock(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if cfg.BlockTime > 0 {
		c.done.Go(func() { c.mineLoop(cfg.BlockTime) })
	}
	return c, nil
}

// firstBlock mines one and waits until it is indexed. Before that go-ethereum answers every question for a receipt it
// does not have with the error "transaction indexing is in progress", core/txindexer.go. A block that its indexer has missed is
// looked at with the next one only, so one more is mined each second. It asks over HTTP: the backend's own client is a pipe,
// which is broken for good when the machine is too busy to read it in time.
func (c *Chain) firstBlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	client, err := ethclient.DialContext(ctx, c.URL)
	if err != nil {
		return fmt.Errorf("chain: %w", err)
	}
	defer client.Close()
	for next := time.Now(); ; {
		if now := time.Now(); !now.Before(next) {
			c.Mine()
			next = now.Add(time.Second)
		}
		err := indexed(ctx, client)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("chain: wait for the first block: %w, last: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// indexed asks once for a receipt that nobody has.
func indexed(ctx context.Context, client *ethclient.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // one that hangs is asked for again
	defer cancel()
	_, err := client.TransactionReceipt(ctx, common.Hash{})
	if errors.Is(err, ethereum.NotFound) {
		return nil
	}
	return err
}

// open starts the backend. It does not tell the port it got, so port 0 is chosen here, again if somebody was faster.
func (c *Chain) open(addr string, slots uint64, modules ...string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		n, err := choosePort(host, port)
		if err != nil {
			return err
		}
		c.backend, err = newBackend(host, n, c.alloc, slots, modules)
		if err == nil {
			c.URL = "http://" + net.JoinHostPort(host, strconv.Itoa(n))
			return nil
		}
		if port != "0" || try == 5 {
			return err
		}
	}
}

// choosePort tells whether the port is free, since a backend that cannot listen leaves goroutines behind.
func choosePort(host, port string) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// newBackend turns the panic of a backend that cannot start, on a taken port for example, into an error.
func newBackend(host string, port int, alloc types.GenesisAlloc, slots uint64, modules []string) (b *simulated.Backend, err error) {
	defer func() {
		if r := recover(); r != nil {
			why, ok := r.(error)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("start backend: %w", why)
		}
	}()
	return simulated.NewBackend(alloc, func(n *node.Config, e *ethconfig.Config) {
		n.HTTPHost, n.HTTPPort = host, port
		n.HTTPModules = append([]string{"eth", "net", "web3", "txpool", "debug"}, modules...)
		n.HTTPVirtualHosts = []string{"*"}
		if p := &e.TxPool; slots > 0 {
			p.AccountSlots, p.AccountQueue, p.GlobalSlots, p.GlobalQueue = slots, slots, slots, slots
		}
	}), nil
}

// Close stops mining and the node. It may be called once.
func (c *Chain) Close() error {
	close(c.stop)
	c.done.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.backend.Close(); err != nil {
		return fmt.Errorf("chain: %w", err)
	}
	return nil
}

func (c *Chain) mineLoop(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
			c.tick()
		}
	}
}

func (c *Chain) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held {
		c.backend.Commit()
	}
}

// Mine makes one block of what is pending and returns its hash. It works while mining is held.
func (c *Chain) Mine() common.Hash {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.backend.Commit()
}

// Hold stops the steady blocks, or lets them come again. Transactions pile up meanwhile.
func (c *Chain) Hold(held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = held
}

// ErrShort says that the chain has fewer blocks than a reorg was to replace.
var ErrShort = errors.New("chain: fewer blocks than that")

// Reorg replaces the last depth blocks by depth + 1 others. Transactions in them go back to the pool and so into the
// new blocks, unless drop is set: then they and all that was pending are gone, as on a fork that never heard of them.
// It mines one block first if anything is pending, since go-ethereum forks clean states only.
func (c *Chain) Reorg(ctx context.Context, depth int, drop bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	client := c.backend.Client()
	head, err := client.BlockNumber(ctx)
	if err != nil {
		return fmt.Errorf("chain: reorg: %w", err)
	}
	if uint64(depth) > head {
		return ErrShort
	}
	parent, err := client.HeaderByNumber(ctx, new(big.Int).SetUint64(head-uint64(depth)))
	if err != nil {
		return fmt.Errorf("chain: reorg: %w", err)
	}
	c.backend.Commit()
	if err := c.backend.Fork(parent.Hash()); err != nil {
		return fmt.Errorf("chain: reorg: %w", err)
	}
	if drop {
		c.backend.Rollback()
	}
	for range depth + 1 {
		c.backend.Commit()
	}
	return nil
}
