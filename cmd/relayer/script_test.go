package main

import (
	"context"
	"database/sql"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/internal/devstack/sink"
	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/internal/pgtest"
	"github.com/nsqrelayer/relayer/nsqworker"
)

func TestMain(m *testing.M) {
	nsqtest.Child()
	testscript.Main(m, map[string]func(){"relayer": doomable})
}

// settings is the relayer.toml of scripts that bring none. Addresses, and a topic for each script, are in variables.
const settings = `[routes.webhooks]
sender = "webhook"
topic = "none"
throttle.per-second = "unlimited"
idempotent = true
key-retention = "24h"
allow = ["127.0.0.1"]
assets = ["EUR", "ETH"]

[routes.payouts]
sender = "evm"
topic = "intents.payouts"
throttle.per-second = 25
rpc-url = "http://127.0.0.1:1/v2/SECRETKEY?apikey=SECRET2"
chain-id = 1337
keystore = "key.json"
`

// TestScripts runs the binary as users do, against a real Postgres, nsqd and HTTP provider.
func TestScripts(t *testing.T) {
	nsqd := nsqtest.Start(t)
	provider, err := sink.Start(t.Context(), sink.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := provider.Stop(); err != nil {
			t.Error(err)
		}
	})
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			return setup(e, nsqd.TCP(), provider.URL)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "eventually": eventually, "mine": mine, "outside": outside,
			"publish": publish, "firstword": firstWord, "age": age, "sql": query,
		},
	})
}

// migrated is one function value, so that pgtest migrates one template.
func migrated(ctx context.Context, dsn string) error {
	_, err := pgstore.Migrate(ctx, dsn, nil)
	return err
}

func setup(e *testscript.Env, nsqd, provider string) error {
	tb, ok := e.T().(testing.TB)
	if !ok {
		return errors.New("testscript's T is no testing.TB")
	}
	name := strings.ReplaceAll(filepath.Base(e.WorkDir), "script-", "")
	e.Setenv("RELAYER_DATABASE_URL", pgtest.New(tb, migrated))
	if strings.HasPrefix(name, "migrate") {
		e.Setenv("RELAYER_DATABASE_URL", pgtest.New(tb, nil))
	}
	e.Setenv("RELAYER_NSQD_TCP_ADDRESS", nsqd)
	e.Setenv("RELAYER_ROUTES_WEBHOOKS_TOPIC", "intents."+name)
	e.Setenv("RELAYER_ROUTES_WEBHOOKS_URL", provider+"/pay")
	e.Setenv("USER", "ops")
	if name == "review" {
		if err := setupFaulty(tb, e); err != nil {
			return err
		}
	}
	if name == "attempt" || name == "signer" || name == "review" {
		if err := setupChain(tb, e, name); err != nil {
			return err
		}
	}
	file := filepath.Join(e.WorkDir, "relayer.toml")
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	return os.WriteFile(file, []byte(settings), 0o600)
}

// exits runs a command and wants its exit code: exits 2 relayer bogus.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := code(ts, args[1:]); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func code(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	if bad, ok := errors.AsType[*exec.ExitError](err); ok {
		return bad.ExitCode()
	}
	ts.Check(err)
	return 0
}

// eventually repeats a command until its stdout has a text: eventually 'settled' relayer get pi_1.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually text command [args...]")
	}
	tick, late := time.NewTicker(50*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		_ = code(ts, args[1:])
		if strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			ts.Fatalf("waited a minute for %q", args[0])
		}
	}
}

// setupFaulty gives the script a provider that does what it is asked, and answers 500 the first time.
func setupFaulty(tb testing.TB, e *testscript.Env) error {
	faults, err := sink.ParseFaults("commit-500=100%")
	if err != nil {
		return err
	}
	faulty, err := sink.Start(tb.Context(), sink.Config{Faults: faults, MaxFaults: 1})
	if err != nil {
		return err
	}
	tb.Cleanup(func() { _ = faulty.Stop() })
	e.Setenv("FAULTY", faulty.URL)
	return nil
}

// setupChain gives the script's route payouts a chain of its own, which mines when it is told to.
func setupChain(tb testing.TB, e *testscript.Env, name string) error {
	c, err := chain.Start(tb.Context(), chain.Config{BlockTime: -1})
	if err != nil {
		return err
	}
	tb.Cleanup(func() { _ = c.Close() })
	key, err := chain.WriteKeystore(e.WorkDir, chain.DevKey(), "secret")
	e.Values["chain"] = c
	e.Setenv("RELAYER_ROUTES_PAYOUTS_TOPIC", "intents.payouts."+name)
	e.Setenv("RELAYER_ROUTES_PAYOUTS_RPC_URL", c.URL)
	e.Setenv("RELAYER_ROUTES_PAYOUTS_KEYSTORE", key)
	e.Setenv("RELAYER_ROUTES_PAYOUTS_PASSPHRASE", "secret")
	e.Setenv("RELAYER_ROUTES_PAYOUTS_CONFIRMATIONS", "2")
	return err
}

// publish sends a file's first line as a program outside would: publish topic file.
func publish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: publish topic file")
	}
	pub, err := nsqworker.NewPublisher(nsqworker.PublisherConfig{NSQDs: []string{ts.Getenv("RELAYER_NSQD_TCP_ADDRESS")}})
	ts.Check(err)
	defer pub.Close()
	body, _, _ := strings.Cut(ts.ReadFile(args[1]), "\n")
	ts.Check(pub.Publish(context.Background(), args[0], []byte(body)))
}

// firstWord keeps the first word of stdout's second line, below a table's head: firstword NAME.
func firstWord(ts *testscript.TestScript, neg bool, args []string) {
	lines := strings.Split(ts.ReadFile("stdout"), "\n")
	if neg || len(args) != 1 || len(lines) < 2 {
		ts.Fatalf("usage: firstword NAME, after a table")
	}
	ts.Setenv(args[0], strings.Fields(lines[1])[0])
}

// mine makes so many blocks: mine 2.
func mine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mine blocks")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	for range n {
		ts.Value("chain").(*chain.Chain).Mine()
	}
}

// outside sends with the development key, beside the relayer, and mines a block: outside nonce.
func outside(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: outside nonce")
	}
	nonce, err := strconv.ParseUint(args[0], 10, 64)
	ts.Check(err)
	c := ts.Value("chain").(*chain.Chain)
	to := chain.DevAddress()
	tx, err := types.SignNewTx(chain.DevKey(), types.LatestSignerForChainID(big.NewInt(chain.ID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(chain.ID), Nonce: nonce, To: &to, Gas: 21000, GasFeeCap: big.NewInt(20e9), GasTipCap: big.NewInt(1e9),
	})
	ts.Check(err)
	client, err := ethclient.Dial(c.URL)
	ts.Check(err)
	defer client.Close()
	ts.Check(client.SendTransaction(context.Background(), tx))
	c.Mine()
}

// age makes everything in the script's database so many days older: age 100.
func age(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: age days")
	}
	by := " - interval '" + args[0] + " days'"
	query(ts, false, []string{"update intents set created_at = created_at" + by + ", changed_at = changed_at" + by +
		"; update slots set closed_at = closed_at" + by})
}

// query changes the script's database as nothing else would: sql 'update …'.
func query(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sql statements")
	}
	db, err := sql.Open("postgres", ts.Getenv("RELAYER_DATABASE_URL"))
	ts.Check(err)
	defer db.Close()
	_, err = db.ExecContext(context.Background(), args[0])
	ts.Check(err)
}
