// Command relayer executes payment intents once: NSQ hands out work, Postgres knows the truth.
package main

import (
	"io"
	"os"

	"github.com/alecthomas/kong"

	"github.com/nsqrelayer/relayer/internal/devstack/rpcproxy"
	"github.com/nsqrelayer/relayer/internal/devstack/sink"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, realParts())) }

// cli is the command line. Flags of commands read their variables through kong; settings read theirs in package config.
type cli struct {
	globals

	Run     runCmd        `cmd:"" help:"Work the routes of relayer.toml until SIGTERM."`
	API     apiCmd        `cmd:"" name:"api" help:"Serve the HTTP API alone, without working any route."`
	Dev     devCmd        `cmd:"" help:"Start everything on this machine, thrown away on exit, and show intents move."`
	Migrate migrateCmd    `cmd:"" help:"Bring the database's schema up to this version, or show where it stands."`
	Submit  submitCmd     `cmd:"" help:"Create intents, from flags or from NDJSON, and publish them."`
	Get     getCmd        `cmd:"" help:"Show an intent with its timeline and attempts."`
	List    listCmd       `cmd:"" aliases:"ls" help:"List intents, newest first."`
	Cancel  cancelCmd     `cmd:"" help:"Call an intent off; certain until it is claimed."`
	Pause   pauseCmd      `cmd:"" help:"Stop a route from claiming, in all processes."`
	Resume  resumeCmd     `cmd:"" help:"Let a paused route claim again."`
	Account accountCmd    `cmd:"" help:"Credit and show accounts."`
	Observe observeCmd    `cmd:"" help:"Ask the other side once what became of an intent."`
	Attempt attemptCmd    `cmd:"" help:"Send more for an intent, in its slot."`
	Review  reviewCmd     `cmd:"" help:"Decide about intents of which nobody can prove that they happened or did not."`
	Dead    deadletterCmd `cmd:"" name:"deadletter" help:"Messages that could not become intents: list, show, publish again."`
	Audit   auditCmd      `cmd:"" help:"Check that everything in the database adds up; exit 1 when it does not."`
	Recover recoverCmd    `cmd:"" help:"Go on after the database has forgotten what it had committed."`
	Prune   pruneCmd      `cmd:"" help:"Delete what ended long ago, but for a tombstone of each intent."`
	EVM     evmCmd        `cmd:"" name:"evm" help:"Signers of EVM chains."`
	Token   tokenCmd      `cmd:"" help:"Tokens of the HTTP API."`
	Alive   instancesCmd  `cmd:"" name:"instances" help:"List the processes that work."`
	Bench   benchCmd      `cmd:"" help:"Measure throughput, latency and memory, on parts that are thrown away on exit."`
	Worker  benchWorker   `cmd:"" name:"bench-worker" hidden:""`
	Version versionCmd    `cmd:"" help:"Show version, commit and date."`
}

// Help follows the description in relayer --help.
func (cli) Help() string {
	return `Examples:

    relayer dev
    relayer submit --route payouts --account acct_1 --destination 0x… --asset ETH --amount 1000 --wait
    relayer get pi_x1
    relayer review list

A flag beats its RELAYER_… variable, that beats relayer.toml, that beats the default. Every setting of relayer.toml is a variable (routes.payouts.concurrency: RELAYER_ROUTES_PAYOUTS_CONCURRENCY) and can be given with --set.

Exit codes: 0 ok, 1 failed, 2 usage or configuration, 3 the wait ran out, 4 an intent ended failed, canceled or in review, 5 Postgres or NSQ is down. Data goes to stdout, all else to stderr.`
}

// run is the program with its ends open. It returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, p parts) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, parts: p}
	return a.exit(a.run(args))
}

func (a *app) run(args []string) error {
	var c cli
	helped := false
	parser, err := kong.New(&c, kong.Name("relayer"),
		kong.Description("Executes payment intents once: NSQ hands out work, Postgres knows the truth."),
		kong.Vars{"sinkfaults": sink.FaultsHelp, "rpcfaults": rpcproxy.FaultsHelp}, kong.Writers(a.stdout, a.stderr), kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
		kong.ExplicitGroups([]kong.Group{{Key: "settings", Title: "Settings:"}}))
	if err != nil {
		return err
	}
	ctx, err := parser.Parse(args)
	if helped { // kong prints the help, asks to exit, and goes on
		return nil
	}
	if err != nil {
		return usage(err)
	}
	a.globals = c.globals
	return ctx.Run(a)
}
