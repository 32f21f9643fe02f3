package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/httpd"
)

// anonymous is who asks where no token was ever made.
const anonymous = "anonymous"

// admit lets a request through if its token may do the operation, and not too often.
func (a *api) admit(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	who, p := a.tokens.who(r)
	scope := scopeOf(ctx.Operation())
	switch {
	case p != nil:
	case !who.May(scope):
		p = newProblem(codeScope, "token "+who.Name+" has no scope "+string(scope))
	default:
		p = a.limits.take(who.Name)
	}
	if p != nil {
		p.Detail = a.cfg.Redact(p.Detail)
		a.send(w, r, p)
		return
	}
	next(huma.WithValue(ctx, actorKey{}, who.Name))
}

func scopeOf(op *huma.Operation) intents.Scope {
	s, _ := op.Metadata["scope"].(intents.Scope)
	return s
}

// tokens knows tokens by the hash of their secret. What was looked up is believed for a while, so that a revoked token is
// refused soon and not each request asks the database. Nothing is compared in time that depends on a secret: hashes are keys.
type tokens struct {
	keys  Keys
	trust time.Duration
	now   func() time.Time

	mu    sync.Mutex
	known map[[32]byte]known
	open  known // whether this machine may ask without a token, as of its time
}

type known struct {
	token intents.Token
	ok    bool
	until time.Time
}

// mostKnown bounds what is kept: who guesses secrets fills it.
const mostKnown = 10_000

func newTokens(cfg Config) *tokens {
	return &tokens{keys: cfg.Store, trust: cfg.Trust, now: cfg.Now, known: map[[32]byte]known{}}
}

// who tells whose token a request's Authorization header holds.
func (t *tokens) who(r *http.Request) (intents.Token, *Problem) {
	ctx, header := r.Context(), r.Header.Get("Authorization")
	if header == "" {
		return t.nobody(r)
	}
	kind, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(kind, "Bearer") || secret == "" {
		return intents.Token{}, newProblem(codeToken, "Authorization must be Bearer and a token")
	}
	k, err := t.find(ctx, intents.HashSecret(strings.TrimSpace(secret)))
	switch {
	case err != nil:
		return k.token, newProblem(codeUnavailable, "tokens cannot be looked up: "+err.Error())
	case !k.ok:
		return k.token, newProblem(codeToken, "the token is not known, has expired or was revoked")
	}
	return k.token, nil
}

// nobody may do everything on this machine while no token was ever made.
func (t *tokens) nobody(r *http.Request) (intents.Token, *Problem) {
	open, err := t.isOpen(r.Context())
	switch {
	case err != nil:
		return intents.Token{}, newProblem(codeUnavailable, "tokens cannot be looked up: "+err.Error())
	case !open:
		return intents.Token{}, newProblem(codeToken, "Authorization: Bearer with a token is needed")
	case !httpd.Here(r):
		return intents.Token{}, newProblem(codeToken, "Authorization: Bearer with a token is needed from elsewhere; none was made yet: relayer token create")
	}
	return intents.Token{Name: anonymous, Scopes: []intents.Scope{intents.ScopeRead, intents.ScopeSubmit, intents.ScopeOperate}}, nil
}

func (t *tokens) isOpen(ctx context.Context) (bool, error) {
	t.mu.Lock()
	open := t.open
	t.mu.Unlock()
	if !t.now().Before(open.until) {
		made, _, err := t.keys.HasTokens(ctx)
		if err != nil {
			return false, err
		}
		open = known{ok: !made, until: t.now().Add(t.trust)}
		t.mu.Lock()
		t.open = open
		t.mu.Unlock()
	}
	return open.ok, nil
}

func (t *tokens) find(ctx context.Context, hash [32]byte) (known, error) {
	t.mu.Lock()
	k, had := t.known[hash]
	t.mu.Unlock()
	if had && t.now().Before(k.until) {
		return k, nil
	}
	token, ok, err := t.keys.FindToken(ctx, hash)
	if err != nil {
		return known{}, err
	}
	k = known{token, ok, t.now().Add(t.trust)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= mostKnown {
		clear(t.known)
	}
	t.known[hash] = k
	return k, nil
}
