package evm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// TestCase56 is a storm of 429 without Retry-After: to everything, to sends alone, to one call of a batch.
func TestCase56(t *testing.T) {
	t.Parallel()
	t.Run("everything", func(t *testing.T) {
		t.Parallel()
		node := newStand(t, quiet())
		s := open(t, config(t, node.URL))
		node.turn(429)
		var wait sync.WaitGroup
		for n := range 64 {
			wait.Go(func() {
				_, err := s.Plan(t.Context(), payment(n))
				if l, ok := errors.AsType[*intents.LimitedError](err); !ok || l.After <= 0 || l.After > 35*time.Second {
					t.Errorf("Plan = %v, want calm", err)
				}
			})
		}
		wait.Wait()
		if calls := node.http(); calls == 0 || calls > 64 {
			t.Errorf("%d calls of 64 at once", calls)
		}
		before, news := node.http(), 0
		for n := range 200 { // for how long is told by TestHealthCool
			_, err := s.Plan(t.Context(), payment(n))
			if l, ok := errors.AsType[*intents.LimitedError](err); !ok || !l.Known {
				news++
			}
			_, _ = s.Observe(t.Context(), nil)
			_ = s.Probe(t.Context())
		}
		if more := node.http() - before; more > 5 || news > more {
			t.Errorf("%d more calls while it was told to calm down, %d refusals that were not known", more, news)
		}
	})
	t.Run("sends", func(t *testing.T) {
		t.Parallel()
		c := startChain(t, nil)
		front := lying(t, c.URL, "", 0)
		s := open(t, config(t, front.URL))
		in, a := prepared(t, s, 0)
		turn(t, front, "json-429@eth_sendRawTransaction=100%")
		r := s.Submit(t.Context(), a)
		if r.Verdict != notSent || r.Calm < time.Second || r.After < time.Second || r.Known {
			t.Errorf("Submit = %v, calm %v, after %v, known %v; want not sent, and calm for a second: %s", r.Verdict, r.Calm, r.After, r.Known, r.Evidence)
		}
		if r = s.Submit(t.Context(), a); r.Verdict != notSent || r.Calm <= 0 || !r.Known || front.Calls()["eth_sendRawTransaction"] != 1 {
			t.Errorf("again at once = %v, calm %v, %d calls; want not sent without a call", r.Verdict, r.Calm, front.Calls()["eth_sendRawTransaction"])
		}
		turn(t, front, "")
		eventually(t, "the same bytes are taken", func() bool { return s.Submit(t.Context(), a).Verdict == accepted })
		c.Mine()
		c.Mine()
		if o := observe(t, s, watch(in, a)); o.Fact != intents.Final || effects(t, c, 0) != 1 {
			t.Errorf("%v with %d effects, want settled with 1", o.Fact, effects(t, c, 0))
		}
	})
	t.Run("one of a batch", func(t *testing.T) {
		t.Parallel()
		c := startChain(t, nil)
		front := lying(t, c.URL, "json-429@eth_estimateGas=100%", 0)
		_, err := open(t, config(t, front.URL)).Plan(t.Context(), payment(0))
		if l, ok := errors.AsType[*intents.LimitedError](err); !ok || l.Known {
			t.Errorf("Plan = %v, want calm", err)
		}
		if _, err := among(t, front.URL, c.URL).Plan(t.Context(), payment(0)); err != nil {
			t.Errorf("with another endpoint: %v", err)
		}
	})
	t.Run("a list answered with one object", func(t *testing.T) {
		t.Parallel()
		srv := says(t, 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"daily request count exceeded, request rate limited"}}`)
		if _, err := open(t, config(t, srv)).Plan(t.Context(), payment(0)); !isLimited(err) {
			t.Errorf("Plan = %v, want calm", err)
		}
	})
}

// TestCase58: Retry-After is done, within reason; what makes no sense is a second. Nobody sleeps for it.
func TestCase58(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) string { return time.Now().UTC().Add(d).Format(http.TimeFormat) }
	hour := time.Now().Add(-time.Hour).UTC()
	for _, tt := range []struct {
		header, date string
		least, most  time.Duration
	}{
		{"7", "", 7 * time.Second, 7 * time.Second},
		{"3600", "", intents.MostRetry, intents.MostRetry}, {"9999999999", "", intents.MostRetry, intents.MostRetry},
		{"99999999999999999999999", "", intents.MostRetry, intents.MostRetry}, {at(10 * 365 * 24 * time.Hour), "", intents.MostRetry, intents.MostRetry},
		{hour.Add(30 * time.Second).Format(http.TimeFormat), hour.Format(http.TimeFormat), 30 * time.Second, 30 * time.Second}, // its clock is off by an hour
		{"-5", "", time.Second, 2 * time.Second}, {"abc", "", time.Second, 2 * time.Second}, {"1.5", "", time.Second, 2 * time.Second},
		{at(-time.Hour), "", time.Second, 2 * time.Second}, {"0", "", time.Second, 2 * time.Second}, {"", "", time.Second, 2 * time.Second},
	} {
		node := newStand(t, quiet())
		s, reads := open(t, config(t, node.URL)), open(t, config(t, node.URL))
		_, a := prepared(t, s, 0)
		node.turn(429, "Retry-After", tt.header)
		if tt.date != "" {
			node.mu.Lock()
			node.header.Set("Date", tt.date)
			node.mu.Unlock()
		}
		r := s.Submit(t.Context(), a)
		if r.Verdict != notSent || r.Calm < tt.least || r.Calm > tt.most || r.After < tt.least {
			t.Errorf("Retry-After %q to a send: %v, calm %v, after %v; want %v to %v", tt.header, r.Verdict, r.Calm, r.After, tt.least, tt.most)
		}
		_, err := reads.Plan(t.Context(), payment(0))
		l, ok := errors.AsType[*intents.LimitedError](err)
		if !ok || l.After > tt.most || l.After < tt.least-30*time.Second || l.After <= 0 {
			t.Errorf("Retry-After %q to a read: %v; want up to %v", tt.header, err, tt.most)
		}
	}
}

// TestCase63: the node takes the bytes, nobody hears of it, and lookups say nothing for a while, though its block shows
// them.
func TestCase63(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"accept-timeout=100%:1ms", "accept-reset=100%"} {
		c := startChain(t, nil)
		front := lying(t, c.URL, word, 1)
		s := open(t, config(t, front.URL))
		in, a := prepared(t, s, 0)
		if r := s.Submit(t.Context(), a); r.Verdict != unknown {
			t.Errorf("%s: %v, want unknown: %s", word, r.Verdict, r.Evidence)
		}
		c.Mine()
		c.Mine()
		turn(t, front, "null-receipt=100%,null-tx=100%")
		if o := observe(t, s, watch(in, a)); o.Fact != intents.Pending || o.Ref != a.Name || o.Resend || o.Want != 0 {
			t.Errorf("%s: seen in its block alone %v, resend %v; want pending", word, o.Fact, o.Resend)
		}
		turn(t, front, "")
		if o := observe(t, s, watch(in, a)); o.Fact != intents.Final || o.Ref != a.Name {
			t.Errorf("%s: %v, want settled: %s", word, o.Fact, o.Evidence)
		}
		if n := effects(t, c, 0); n != 1 {
			t.Errorf("%s: %d effects, want 1", word, n)
		}
	}
}

// TestCase66: a nonce error is the intent's, not the endpoint's.
func TestCase66(t *testing.T) {
	t.Parallel()
	var nodes []*stand
	var urls []string
	for range 3 {
		n := newStand(t, quiet())
		n.set("eth_sendRawTransaction", `error:{"code":-32603,"message":"Transaction nonce too low"}`)
		nodes, urls = append(nodes, n), append(urls, n.URL)
	}
	s := among(t, urls...)
	_, a := prepared(t, s, 0)
	const times = 6
	for range times {
		if r := s.Submit(t.Context(), a); r.Verdict != unknown || r.Calm != 0 || !r.Alive {
			t.Errorf("Submit = %v, calm %v, alive %v; want unknown, none, and true: %s", r.Verdict, r.Calm, r.Alive, r.Evidence)
		}
	}
	for i, n := range nodes {
		if calls := n.calls("eth_sendRawTransaction"); calls > times {
			t.Errorf("endpoint %d: %d calls, want at most one for each Submit", i, calls)
		}
	}
	_, b := prepared(t, s, 1)
	for _, n := range nodes {
		n.set("eth_sendRawTransaction", `error:{"code":-32000,"message":"already known"}`)
	}
	if r := s.Submit(t.Context(), b); r.Verdict != accepted {
		t.Errorf("another intent = %v, want accepted: all endpoints are well: %s", r.Verdict, r.Evidence)
	}
}

// TestCase73: null, "indexing" and a node behind are "not known yet", and never more.
func TestCase73(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	front := lying(t, c.URL, "", 0)
	s := open(t, config(t, front.URL))
	in, a := prepared(t, s, 0)
	submit(t, s, a)
	c.Mine()
	c.Mine()
	turn(t, front, "null-receipt=100%")
	for range 5 {
		if o := observe(t, s, watch(in, a)); o.Fact != intents.Pending { // the transaction is known
			t.Errorf("with a null receipt %v, want pending", o.Fact)
		}
	}
	indexing := quiet()
	indexing["eth_getTransactionReceipt"] = `error:{"code":-32000,"message":"transaction indexing is in progress"}`
	node := newStand(t, indexing)
	if os, err := open(t, config(t, node.URL)).Observe(t.Context(), []intents.Watch{watch(in, a)}); err == nil {
		t.Errorf("indexing: %v, want an error: look later", os)
	}
	turn(t, front, "")
	for range 4 { // whoever is asked first
		if o := observe(t, among(t, node.URL, front.URL), watch(in, a)); o.Fact != intents.Final {
			t.Errorf("with one that indexes and one that has it %v, want settled", o.Fact)
		}
	}
	if o := observe(t, s, watch(in, a)); o.Fact != intents.Final || o.Ref != a.Name || effects(t, c, 0) != 1 {
		t.Errorf("%v with %d effects, want settled with 1", o.Fact, effects(t, c, 0))
	}
}

// TestCase75: a node of another chain is never used; when it changes later it is used no more, and again once it is ours.
func TestCase75(t *testing.T) {
	t.Parallel()
	t.Run("one of three is wrong", func(t *testing.T) {
		t.Parallel()
		c := startChain(t, nil)
		node := quiet()
		node["eth_chainId"] = `"0x1"`
		wrong := newStand(t, node)
		s := among(t, wrong.URL, c.URL, deadURL(t))
		if next, err := nextOf(t, s); next != 0 || err != nil {
			t.Fatalf("Check = %d, %v", next, err)
		}
		before := wrong.http()
		for n := range 4 {
			in, a := prepared(t, s, n)
			submit(t, s, a)
			if o := observe(t, s, watch(in, a)); o.Fact != intents.Pending {
				t.Errorf("%v, want pending", o.Fact)
			}
		}
		if wrong.http() != before {
			t.Errorf("%d calls to the wrong chain", wrong.http()-before)
		}
	})
	t.Run("none is right", func(t *testing.T) {
		t.Parallel()
		node := quiet()
		node["eth_chainId"] = `"0x1"`
		s := among(t, newStand(t, node).URL, newStand(t, node).URL)
		if _, err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "chain 1, want 1337") {
			t.Errorf("Check = %v, want a ChainError", err)
		}
	})
	t.Run("it changes", func(t *testing.T) {
		t.Parallel()
		c := startChain(t, nil)
		moves := newStand(t, quiet())
		s := among(t, moves.URL, c.URL)
		_, a := prepared(t, s, 0)
		_ = s.Probe(t.Context())
		moves.set("eth_chainId", `"0x1"`)
		if err := s.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "of chain 1, want 1337") {
			t.Errorf("Probe = %v, want to hear of it", err)
		}
		submit(t, s, a)
		if n := moves.calls("eth_sendRawTransaction"); n != 0 {
			t.Errorf("%d sends to another chain", n)
		}
		moves.set("eth_chainId", `"0x539"`)
		if err := s.Probe(t.Context()); err != nil {
			t.Error(err)
		}
		moves.set("eth_sendRawTransaction", `error:{"code":-32000,"message":"already known"}`)
		if submit(t, s, a); moves.calls("eth_sendRawTransaction") != 1 {
			t.Error("it is ours again, and not used")
		}
	})
	t.Run("it says so to a send", func(t *testing.T) {
		t.Parallel()
		c := startChain(t, nil)
		node := quiet()
		node["eth_sendRawTransaction"] = `error:{"code":-32000,"message":"invalid sender: invalid chain id for signer: have 1337 want 1"}`
		moves := newStand(t, node)
		s := among(t, moves.URL, c.URL)
		_, a := prepared(t, s, 0)
		_ = s.Probe(t.Context())
		moves.set("eth_chainId", `"0x1"`)
		submit(t, s, a) // at the next
		submit(t, s, a)
		if n := moves.calls("eth_sendRawTransaction"); n != 1 {
			t.Errorf("%d sends to another chain, want none after it said so", n)
		}
	})
}

// TestCase81: answers that make no sense are unknown, and the same bytes bring it to its end.
func TestCase81(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"half-reply", "wrong-hash", "html-502"} {
		c := startChain(t, nil)
		front := lying(t, c.URL, "", 0)
		s, two := open(t, config(t, front.URL)), among(t, front.URL, c.URL)
		in, a := prepared(t, s, 0)
		_, b := prepared(t, two, 1)
		turn(t, front, word+"@eth_sendRawTransaction=100%")
		r := s.Submit(t.Context(), a)
		if r.Verdict != unknown || r.Ref != "" || !json.Valid(r.Evidence) {
			t.Errorf("%s: %v, ref %q; want unknown: %s", word, r.Verdict, r.Ref, r.Evidence)
		}
		if strings.Contains(word, "hash") && !strings.Contains(string(r.Evidence), "another hash") {
			t.Errorf("%s: no alarm in %s", word, r.Evidence)
		}
		turn(t, front, "")
		submit(t, s, a)
		turn(t, front, word+"@eth_sendRawTransaction=100%")
		if r := two.Submit(t.Context(), b); r.Verdict != accepted || r.Ref != b.Name {
			t.Errorf("%s, then a node that works: %v, ref %q: %s", word, r.Verdict, r.Ref, r.Evidence)
		}
		turn(t, front, "")
		c.Mine()
		c.Mine()
		if o := observe(t, s, watch(in, a)); o.Fact != intents.Final || effects(t, c, 0) != 1 || effects(t, c, 1) != 1 {
			t.Errorf("%s: %v, effects %d and %d; want settled, 1 and 1", word, o.Fact, effects(t, c, 0), effects(t, c, 1))
		}
	}
}

// TestCase82: a node that names our hash and has nothing. It is accepted, never seen, and sent again once for each time
// it is asked.
func TestCase82(t *testing.T) {
	t.Parallel()
	_, a := prepared(t, open(t, config(t, scripted(t, quiet()))), 0)
	node := quiet()
	node["eth_sendRawTransaction"] = fmt.Sprintf("%q", a.Name)
	liar, dead := newStand(t, node), newStand(t, quiet())
	s := among(t, liar.URL, dead.URL)
	for i := range 5 {
		submit(t, s, a)
		if o := observe(t, s, watch(payment(0), a)); o.Fact != intents.NotSeen || o.Ref != "" {
			t.Errorf("look %d: %v, ref %q; want not seen", i, o.Fact, o.Ref)
		}
	}
	if n, m := liar.calls("eth_sendRawTransaction"), dead.calls("eth_sendRawTransaction"); n != 5 || m != 0 {
		t.Errorf("%d and %d sends, want 5 and none", n, m)
	}
}
