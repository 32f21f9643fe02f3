package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/devstack"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/internal/devstack/sink"
	"github.com/nsqrelayer/relayer/nsqworker"
)

const (
	blockTime  = 500 * time.Millisecond
	signers    = 3 // a number that a dead process has not used holds up those of its signer alone
	passphrase = "soak"
)

// stack is everything outside of the relayer's processes. What they reach of chain and provider is behind gates.
type stack struct {
	dir      string // of settings, logs and nsqd's data
	config   string // relayer.toml
	queue    *queue
	database *database
	keys     []*ecdsa.PrivateKey // of the signers
	chain    *chain.Chain
	provider *sink.Sink
	rpc, pay *gate
	store    *pgstore.Store
	pub      *nsqworker.Publisher

	ports devstack.Ports
	stops []func() error // in the order of starts
}

// startStack starts the parts in a directory. What was started is to be stopped, whatever the error.
func startStack(ctx context.Context, dir string) (*stack, error) {
	s := &stack{dir: dir}
	for _, start := range []func(context.Context) error{s.startQueue, s.startDatabase, s.startChain, s.startProvider, s.openStore, s.fund} {
		if err := start(ctx); err != nil {
			return s, err
		}
	}
	return s, s.configure()
}

// stop ends the parts, the last one first.
func (s *stack) stop() (err error) {
	for i := len(s.stops) - 1; i >= 0; i-- {
		err = errors.Join(err, s.stops[i]())
	}
	s.stops = nil
	return err
}

// log is a part's file of that name.
func (s *stack) log(name string) string { return filepath.Join(s.dir, name+".log") }

// port picks a port that nobody else is likely to take while its owner is dead: the kernel gives out higher ones, and other
// stacks begin elsewhere.
func (s *stack) port() (string, error) {
	return s.ports.Pick("port", net.JoinHostPort("127.0.0.1", strconv.Itoa(20000+rand.IntN(10000))), false)
}

func (s *stack) startQueue(ctx context.Context) error {
	tcp, err := s.port()
	if err != nil {
		return err
	}
	http, err := s.port()
	if err != nil {
		return err
	}
	if s.queue, err = newQueue(tcp, http, filepath.Join(s.dir, "nsqd"), s.log(partNSQD)); err != nil {
		return err
	}
	s.stops = append(s.stops, s.queue.close)
	return back(ctx, s.queue.start)
}

func (s *stack) startDatabase(ctx context.Context) (err error) {
	discard := slog.New(slog.DiscardHandler)
	if s.database, err = startDatabase(ctx, discard); err != nil {
		return err
	}
	s.stops = append(s.stops, s.stopDatabase)
	_, err = pgstore.Migrate(ctx, s.database.dsn, discard)
	return err
}

// stopDatabase keeps the server's log, which would go with its directory.
func (s *stack) stopDatabase() error {
	return errors.Join(copyFile(s.log(partPostgres), filepath.Join(s.database.server.Dir(), "postgres.log")), s.database.server.Stop())
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (s *stack) startChain(ctx context.Context) error {
	alloc, err := s.makeKeys()
	if err != nil {
		return err
	}
	if s.chain, err = chain.Start(ctx, chain.Config{BlockTime: blockTime, Alloc: alloc}); err != nil {
		return err
	}
	s.stops = append(s.stops, s.chain.Close)
	s.rpc, err = s.gateTo(s.chain.URL)
	return err
}

// makeKeys makes the signers rich.
func (s *stack) makeKeys() (types.GenesisAlloc, error) {
	alloc := types.GenesisAlloc{}
	for range signers {
		key, err := crypto.GenerateKey()
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, key)
		million := new(big.Int).Mul(big.NewInt(1_000_000), big.NewInt(params.Ether))
		alloc[crypto.PubkeyToAddress(key.PublicKey)] = types.Account{Balance: million}
	}
	return alloc, nil
}

// mined is how many transactions of the signers are in blocks: close to the effects, and cheap to ask. In the end effects
// are read from the blocks.
func (s *stack) mined(ctx context.Context) (sum int) {
	client, err := ethclient.DialContext(ctx, s.chain.URL)
	if err != nil {
		return 0
	}
	defer client.Close()
	for _, key := range s.keys {
		n, err := client.NonceAt(ctx, crypto.PubkeyToAddress(key.PublicKey), nil)
		if err != nil {
			return 0
		}
		sum += int(n)
	}
	return sum
}

func (s *stack) startProvider(ctx context.Context) (err error) {
	if s.provider, err = sink.Start(ctx, sink.Config{}); err != nil {
		return err
	}
	s.stops = append(s.stops, s.provider.Stop)
	s.pay, err = s.gateTo(s.provider.URL)
	return err
}

// gateTo puts a gate before a server.
func (s *stack) gateTo(url string) (*gate, error) {
	addr, err := s.port()
	if err != nil {
		return nil, err
	}
	g, err := openGate(addr, strings.TrimPrefix(url, "http://"))
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, g.close)
	return g, nil
}

// openStore opens what the load and the end look through.
func (s *stack) openStore(ctx context.Context) (err error) {
	if s.store, err = pgstore.Open(ctx, pgstore.Config{DSN: s.database.dsn, Actor: actor}); err != nil {
		return err
	}
	s.stops = append(s.stops, func() error { s.store.Close(); return nil })
	if s.pub, err = nsqworker.NewPublisher(nsqworker.PublisherConfig{NSQDs: []string{s.queue.tcp}}); err != nil {
		return err
	}
	s.stops = append(s.stops, func() error { s.pub.Close(); return nil })
	return nil
}

// fund puts money into the accounts that pay: what is credited is enforced.
func (s *stack) fund(ctx context.Context) error {
	ether, err := intents.ParseAmount("10000000000000000000000")
	if err != nil {
		return err
	}
	for n := range accounts {
		for asset, amount := range map[string]intents.Amount{"ETH": ether, "USD": intents.NewAmount(1_000_000_000_000)} {
			e := intents.Entry{Account: fmt.Sprintf("acct_%d", n), Asset: asset, Amount: amount, Ref: actor}
			if _, err := s.store.Credit(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// pool is the chain's, which forgets.
type pool struct{ chain *chain.Chain }

func (p pool) hurt(ctx context.Context, _ kind) error {
	return p.chain.DropPool(context.WithoutCancel(ctx))
}
