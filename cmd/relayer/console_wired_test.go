package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/console"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
)

// visitor is a person with a plain client at the console of a process.
type visitor struct {
	*world
	base string
	c    *http.Client
}

// visits opens the console of a process that works as the settings say.
func (w *world) visits(env ...string) *visitor {
	w.t.Helper()
	cfg, err := config.Load(w.config, env)
	w.must(err)
	log := slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	p, err := openProcess(w.t.Context(), cfg, log, noSeams())
	w.must(err)
	w.t.Cleanup(p.close)
	h, _, done, err := p.whole(w.t.Context(), "127.0.0.1:0", log)
	w.must(err)
	w.t.Cleanup(done)
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()
	w.t.Cleanup(func() { stop(); <-ended })
	web := httptest.NewServer(h)
	w.t.Cleanup(web.Close)
	jar, err := cookiejar.New(nil)
	w.must(err)
	return &visitor{w, web.URL, &http.Client{Jar: jar}}
}

// sees wants a page with texts.
func (v *visitor) sees(path string, texts ...string) {
	v.t.Helper()
	resp, err := v.c.Get(v.base + path)
	v.must(err)
	v.wants(resp, texts...)
}

// posts sends a form, and wants texts on the page that it leads to.
func (v *visitor) posts(path string, form url.Values, texts ...string) {
	v.t.Helper()
	resp, err := v.c.PostForm(v.base+path, form)
	v.must(err)
	v.wants(resp, texts...)
}

func (v *visitor) wants(resp *http.Response, texts ...string) {
	v.t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	v.must(err)
	for _, text := range texts {
		if !strings.Contains(string(body), text) {
			v.t.Errorf("%s: nothing of %q in %s", resp.Request.URL, text, body)
		}
	}
}

// A payout hangs: its transaction is not mined. It may not simply be failed, since it could still be; the person is shown
// what to do first, does it in the console, and then proof decides: paid to nobody.
func TestConsoleFreesAPayout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	c, err := chain.Start(t.Context(), chain.Config{BlockTime: -1}) // mines when it is told to
	w.must(err)
	t.Cleanup(func() { _ = c.Close() })
	v := w.visits("RELAYER_ROUTES_PAYOUTS_RPC_URL="+c.URL, "RELAYER_ROUTES_PAYOUTS_CONFIRM_AFTER=1s", "RELAYER_ROUTES_PAYOUTS_NO_BUMP=true")
	in := demoIntents("hangs", 1)[0]
	w.publish([]intents.Intent{in})
	until(t, "it needs a person", func() bool {
		got, err := w.store.Get(t.Context(), in.ID)
		return err == nil && got.State == intents.NeedsReview
	})
	got, err := w.store.Get(t.Context(), in.ID)
	w.must(err)
	v.sees("/intents/"+in.ID+"?ask=1", "It has it, and has not done it yet", "Use its slot for nothing", "Not now:")
	order := url.Values{"verb": {"fail"}, "version": {strconv.Itoa(got.Version)}, "reason": {"customer left"}}
	v.posts("/intents/"+in.ID+"/decide", order, "Refused, nothing was done", "Use its slot for nothing first")
	as, err := w.store.Attempts(t.Context(), in.ID)
	w.must(err)
	v.sees("/intents?q="+as[0].Name, "<h1>"+in.ID) // found by its hash
	v.posts("/intents/"+in.ID+"/drop", nil, "The empty use of its slot is sent")
	for range 3 {
		c.Mine()
	}
	v.posts("/intents/"+in.ID+"/decide", order, "Nothing was left to decide", "Its slot was used for nothing")
	if got, err = w.store.Get(t.Context(), in.ID); err != nil || got.State != intents.Failed || got.Reason != intents.ReasonInSlot {
		t.Errorf("got %+v, %v", got, err)
	}
	if paid, err := c.Effects(t.Context(), []string{in.Destination}); err != nil || paid[in.Destination] != 0 {
		t.Errorf("paid %v, %v", paid, err)
	}
	v.sees("/intents/"+in.ID, "attempt cancel", "by console")
	v.sees("/signers", "evm:1337:", "Next nonce")
	v.sees("/routes", "intents.payouts", "Waiting in NSQ")
}

// Once a token was made the console asks for one, of those that the database has.
func TestConsoleAsksForTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	v := w.visits()
	v.sees("/", "Where intents stand")
	token := func(name string, scopes ...intents.Scope) string {
		secret := intents.NewSecret()
		_, err := w.store.CreateToken(t.Context(), intents.Token{Name: name, Scopes: scopes, CreatedBy: "test"}, intents.HashSecret(secret))
		w.must(err)
		return secret
	}
	submits, looks, acts := token("shop", intents.ScopeSubmit), token("ann", intents.ScopeRead), token("bob", intents.ScopeRead, intents.ScopeOperate)
	v.sees("/", "Sign in")
	v.posts("/signin", url.Values{"token": {submits}}, "does not open the console")
	v.posts("/signin", url.Values{"token": {looks}, "to": {"/routes"}}, "Routes", "Signed in as ann, who may only look")
	v.posts("/routes/payouts/pause", nil, "Your token may only look")
	v.posts("/signin", url.Values{"token": {acts}}, "Signed in as bob")
	v.posts("/routes/payouts/pause", nil, "Paused", "by bob")
	_, err := w.store.RevokeToken(t.Context(), "bob", "test")
	w.must(err)
	v.sees("/", "Sign in")
}

// Case 110: where there are too many intents to count them all, what is open is counted, and the rest estimated.
func TestStandingOfMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for _, in := range demoIntents("many", 3) {
		_, err := w.store.Create(t.Context(), in, true, "test")
		w.must(err)
	}
	p := pulseOf{w.store}
	few, err := p.Standing(t.Context())
	w.must(err)
	if len(few.Counts) != len(intents.States()) || few.All != 0 || len(few.Waiting) != 3 {
		t.Errorf("few: %+v", few)
	}
	var many console.Standing
	w.must(p.countOpen(t.Context(), &many))
	for _, c := range many.Counts {
		if want := map[intents.State]int64{intents.Authorized: 3}[c.State]; c.N != want || c.More || c.State.Final() {
			t.Errorf("many: %+v, want %d", c, want)
		}
	}
}
