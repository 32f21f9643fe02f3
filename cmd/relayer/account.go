package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nsqrelayer/relayer/intents"
)

// teller keeps accounts.
type teller interface {
	// Credit posts an amount, once for each reference, and enforces the account from then on.
	// Errors: *intents.ConflictError when the reference was used with another amount.
	Credit(ctx context.Context, e intents.Entry) (intents.Account, error)
	// Accounts reads an account in all its assets; all accounts when it is empty.
	Accounts(ctx context.Context, account string) ([]intents.Account, error)
}

type accountCmd struct {
	Credit creditCmd  `cmd:"" help:"Post an amount to an account, once for each reference."`
	Show   balanceCmd `cmd:"" help:"Show an account in all its assets, or all accounts."`
}

type creditCmd struct {
	Account string `arg:"" help:"The account."`
	Asset   string `required:"" help:"What is credited, such as ETH."`
	Amount  string `required:"" placeholder:"UNITS" help:"How much, in the smallest unit."`
	Ref     string `required:"" help:"What this credit is: the same reference is posted once."`
}

// Help shows an example.
func (creditCmd) Help() string {
	return "Example:\n\n    relayer account credit acct_1 --asset ETH --amount 1000000000000000000 --ref deposit-17\n\n" +
		"From the first credit on, intents of the account must be covered."
}

// Run posts the credit.
func (c *creditCmd) Run(a *app) error {
	e, err := c.entry()
	if err != nil {
		return usage(err)
	}
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	acct, err := s.Credit(ctx, e)
	if err != nil {
		return err
	}
	return printAccounts(a, []intents.Account{acct})
}

// entry checks what was asked by the rules intents have for the same fields.
func (c *creditCmd) entry() (intents.Entry, error) {
	amount, err := intents.ParseAmount(c.Amount)
	if err != nil {
		return intents.Entry{}, err
	}
	like := intents.Intent{ID: c.Ref, Account: c.Account, Destination: "none", Asset: c.Asset, Amount: amount}
	err = like.Validate()
	if bad, ok := errors.AsType[*intents.InvalidError](err); ok && bad.Field == "id" {
		bad.Field = "ref"
	}
	return intents.Entry{Account: c.Account, Asset: c.Asset, Amount: amount, Ref: c.Ref}, err
}

type balanceCmd struct {
	Account string `arg:"" optional:"" help:"The account; all when it is left out."`
	Output  string `short:"o" enum:"table,json" default:"table" help:"table or json."`
}

// Help shows examples.
func (balanceCmd) Help() string {
	return "Examples:\n\n    relayer account show acct_1\n    relayer account show -o json"
}

// accountView is an account as programs read it. Amounts are strings of digits in the smallest unit.
type accountView struct {
	Account  string         `json:"account"`
	Asset    string         `json:"asset"`
	Posted   intents.Amount `json:"posted"`
	Pending  intents.Amount `json:"pending"`
	Free     intents.Amount `json:"free"`
	Enforced bool           `json:"enforced"`
}

// Run prints accounts.
func (c *balanceCmd) Run(a *app) error {
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := s.Accounts(ctx, c.Account)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintln(a.stderr, "relayer: no such account")
	}
	if c.Output != "json" {
		return printAccounts(a, all)
	}
	views := []accountView{}
	for _, x := range all {
		views = append(views, accountView{x.Account, x.Asset, x.Posted, x.Pending, x.Free(), x.Enforced})
	}
	return printJSON(a.stdout, views)
}

func printAccounts(a *app, all []intents.Account) error {
	if len(all) == 0 {
		return nil
	}
	t := newTable(a.stdout, "ACCOUNT", "ASSET", "POSTED", "PENDING", "FREE", "ENFORCED")
	for _, x := range all {
		t.row(x.Account, x.Asset, x.Posted.String(), x.Pending.String(), x.Free().String(), strconv.FormatBool(x.Enforced))
	}
	return t.flush()
}
