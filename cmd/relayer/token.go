package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// keeper keeps tokens of the HTTP API.
type keeper interface {
	// CreateToken keeps a new token with the hash of its secret. Errors: *intents.InvalidError when the name is taken.
	CreateToken(ctx context.Context, t intents.Token, hash [32]byte) (intents.Token, error)
	// Tokens reads every token that was ever made, oldest first.
	Tokens(ctx context.Context) ([]intents.Token, error)
	// RevokeToken ends a token. Errors: *intents.InvalidError when there is none of the name.
	RevokeToken(ctx context.Context, name, by string) (intents.Token, error)
}

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Make a token; its secret is shown this once."`
	List   tokenListCmd   `cmd:"" aliases:"ls" help:"List tokens, also those that are over."`
	Revoke tokenRevokeCmd `cmd:"" help:"End a token; within ten seconds no process takes it."`
}

type tokenCreateCmd struct {
	Name    string `required:"" help:"Who stands in timelines for what is done with it; never given twice."`
	Scope   string `required:"" placeholder:"read,submit,operate" help:"What it may do: read, submit (create, call off), operate (authorize, decide reviews, replay, pause)."`
	Expires future `placeholder:"TIME" help:"Not to be used from then on: RFC 3339, or from now (720h, 30d)."`
}

// Help shows an example.
func (tokenCreateCmd) Help() string {
	return "Example:\n\n    relayer token create --name checkout --scope submit,read --expires 90d\n\nOnly a hash of the secret is kept. From the first token on the HTTP API asks everybody for one."
}

// Run makes a token.
func (c *tokenCreateCmd) Run(a *app) error {
	scopes, err := intents.ParseScopes(c.Scope)
	if err != nil {
		return usage(err)
	}
	t := intents.Token{Name: c.Name, Scopes: scopes, CreatedBy: a.actor(), ExpiresAt: c.Expires.Time}
	if err := t.Check(time.Now()); err != nil {
		return usage(err)
	}
	return a.keep(func(ctx context.Context, k keeper) error {
		secret := intents.NewSecret()
		if _, err := k.CreateToken(ctx, t, intents.HashSecret(secret)); err != nil {
			return settingError(err)
		}
		a.complain("token " + t.Name + " may " + scopeText(t) + "; its secret is shown this once:")
		_, err := fmt.Fprintln(a.stdout, secret)
		return err
	})
}

// keep opens the store for something about tokens.
func (a *app) keep(do func(ctx context.Context, k keeper) error) error {
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return do(ctx, s)
}

func scopeText(t intents.Token) string {
	var names []string
	for _, s := range t.Scopes {
		names = append(names, string(s))
	}
	return strings.Join(names, ",")
}

type tokenListCmd struct {
	Output string `short:"o" enum:"table,json" default:"table" env:"RELAYER_OUTPUT" help:"table or json."`
}

// tokenView is a token as programs read it.
type tokenView struct {
	Name      string          `json:"name"`
	Scopes    []intents.Scope `json:"scopes"`
	CreatedAt time.Time       `json:"created_at"`
	CreatedBy string          `json:"created_by"`
	ExpiresAt time.Time       `json:"expires_at,omitzero"`
	RevokedAt time.Time       `json:"revoked_at,omitzero"`
	RevokedBy string          `json:"revoked_by,omitempty"`
}

// Run lists.
func (c *tokenListCmd) Run(a *app) error {
	return a.keep(func(ctx context.Context, k keeper) error {
		all, err := k.Tokens(ctx)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			a.complain("no token was made yet")
		}
		views := []tokenView{}
		t := newTable(a.stdout, "NAME", "SCOPES", "CREATED", "BY", "UNTIL")
		for _, one := range all {
			views = append(views, tokenView{one.Name, one.Scopes, one.CreatedAt, one.CreatedBy, one.ExpiresAt, one.RevokedAt, one.RevokedBy})
			t.row(one.Name, scopeText(one), stamp(one.CreatedAt), one.CreatedBy, tokenEnd(one))
		}
		switch {
		case c.Output == "json":
			return printJSON(a.stdout, views)
		case len(all) > 0:
			return t.flush()
		}
		return nil
	})
}

// tokenEnd says how long a token can be used.
func tokenEnd(t intents.Token) string {
	switch {
	case !t.RevokedAt.IsZero():
		return stamp(t.RevokedAt) + " revoked by " + t.RevokedBy
	case !t.ExpiresAt.IsZero():
		return stamp(t.ExpiresAt)
	}
	return "–"
}

type tokenRevokeCmd struct {
	Name string `arg:"" help:"The token's name."`
}

// Run revokes.
func (c *tokenRevokeCmd) Run(a *app) error {
	return a.keep(func(ctx context.Context, k keeper) error {
		t, err := k.RevokeToken(ctx, c.Name, a.actor())
		if err != nil {
			return settingError(err)
		}
		_, err = fmt.Fprintf(a.stdout, "%s  revoked by %s at %s\n", t.Name, t.RevokedBy, stamp(t.RevokedAt))
		return err
	})
}
