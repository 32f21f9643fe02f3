package metrics_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/metrics"
	"github.com/nsqrelayer/relayer/internal/pgtest"
	"github.com/nsqrelayer/relayer/relayer"
)

func migrated(ctx context.Context, dsn string) error {
	_, err := pgstore.Migrate(ctx, dsn, nil)
	return err
}

// claim takes the next number of our signer for a new intent.
func claim(t *testing.T, s *pgstore.Store, id string) {
	t.Helper()
	in := intents.Intent{ID: id, Route: "payouts", Account: "acct_1", Destination: "you", Asset: "ETH", Amount: intents.NewAmount(1)}
	in, err := s.Take(t.Context(), intents.Message{ID: id, Route: in.Route, Full: true, Intent: in, Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	p := intents.Plan{Slot: intents.Counter, Scope: ours, Again: intents.Always, Seen: true}
	if _, err := s.Claim(t.Context(), intents.Claim{Intent: in, Plan: p, Owner: "test", Term: time.Hour}); err != nil {
		t.Fatal(err)
	}
}

// TestSignersOfPostgres: numbers given out by a real store, seen by the chain in part, then frozen, are what a scrape shows.
func TestSignersOfPostgres(t *testing.T) {
	s, err := pgstore.Open(t.Context(), pgstore.Config{DSN: pgtest.New(t, migrated), Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for scope, next := range map[string]int64{ours: 40, theirs: 7} {
		if _, err := s.OpenSigner(t.Context(), intents.Signer{Scope: scope, Next: next, Window: 5}); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"pi_1", "pi_2", "pi_3"} {
		claim(t, s, id)
	}
	if _, err := s.See(t.Context(), ours, 41); err != nil {
		t.Fatal(err)
	}
	r := metrics.Route{Name: "payouts", Scopes: []string{ours}, Worker: stats{},
		Throttle: relayer.NewThrottle(relayer.ThrottleConfig{PerSecond: relayer.Unlimited, InFlight: 1})}
	reg := registry(t, metrics.Config{Routes: []metrics.Route{r}, Signers: s, Fresh: 1})
	shows(t, scrape(t, reg), map[string]string{
		"nonce db": "43", "nonce chain": "41", "window": "5", "open": "3", "ahead": "2", "frozen": "0",
	})
	if _, err := s.Freeze(t.Context(), ours, "key rotation", "alice"); err != nil {
		t.Fatal(err)
	}
	shows(t, scrape(t, reg), map[string]string{"frozen": "1"})
}

// shows wants values of our signer, and nothing of others.
func shows(t *testing.T, text string, want map[string]string) {
	t.Helper()
	for name, value := range want {
		name, source, _ := strings.Cut(name, " ")
		if source != "" {
			source = `,source="` + source + `"`
		}
		line := "relayer_signer_" + name + `{chain="1",signer="` + strings.TrimPrefix(ours, "evm:1:") + `"` + source + "} " + value + "\n"
		if !strings.Contains(text, line) {
			t.Errorf("no %s", line)
		}
	}
	if strings.Contains(text, strings.TrimPrefix(theirs, "evm:1:")) || t.Failed() {
		t.Errorf("got\n%s", text)
	}
}
