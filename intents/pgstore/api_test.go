package pgstore

import (
	"errors"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// feed reads on from a cursor until nothing more comes.
func feed(t *testing.T, s *Store, from intents.Cursor, f intents.FeedFilter, most int) (all []intents.FeedEvent, next intents.Cursor) {
	t.Helper()
	for {
		got, next, err := s.Feed(t.Context(), from, f, most)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, got...)
		if next == from {
			return all, next
		}
		from = next
	}
}

// A transaction that began first and commits last is not skipped: what is behind it waits for it.
func TestFeedWaitsForWhoCommitsLate(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	_, from := feed(t, s, intents.Cursor{}, intents.FeedFilter{}, 10)
	late := made(t, s, "pi_late")
	until(t, "its events are seen", func() bool { // they wait for every transaction of the server, whosever
		got, _ := feed(t, s, from, intents.FeedFilter{}, 10)
		if len(got) == 2 {
			from = got[1].Place
		}
		return len(got) == 2
	})
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(`insert into intent_events (intent, version, n, at, kind, from_state, to_state, actor) values ($1, 2, 1, now(), 4, 2, 2, 'late')`, late.Key); err != nil {
		t.Fatal(err)
	}
	made(t, s, "pi_early")
	if got, _ := feed(t, s, from, intents.FeedFilter{}, 10); len(got) != 0 {
		t.Errorf("got %+v past a transaction under way", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	until(t, "all transactions of the server have ended, whosever they are", func() bool {
		got, _ := feed(t, s, from, intents.FeedFilter{}, 10)
		return len(got) == 3
	})
	for _, most := range []int{1, 2, 10} {
		got, _ := feed(t, s, from, intents.FeedFilter{}, most)
		if len(got) != 3 || got[0].ID != "pi_late" || got[0].Actor != "late" || got[1].ID != "pi_early" || got[1].Version != 1 || got[2].Version != 2 {
			t.Fatalf("%d at a time: got %+v", most, got)
		}
		if again, _ := feed(t, s, got[1].Place, intents.FeedFilter{}, most); len(again) != 1 || again[0].Place != got[2].Place {
			t.Errorf("after the second: got %+v", again)
		}
	}
	for name, c := range map[string]struct {
		f    intents.FeedFilter
		want int
	}{"state": {intents.FeedFilter{States: []intents.State{intents.Created}}, 1}, "route": {intents.FeedFilter{Route: late.Route}, 3}, "other route": {intents.FeedFilter{Route: "none"}, 0}} {
		if got, next := feed(t, s, from, c.f, 10); len(got) != c.want || next == from {
			t.Errorf("%s: got %d events, up to %v", name, len(got), next)
		}
	}
	ahead := intents.Cursor{Tx: from.Tx + 1<<40}
	if _, _, err := s.Feed(t.Context(), ahead, intents.FeedFilter{}, 10); !errors.As(err, new(*intents.CursorError)) {
		t.Errorf("from behind the end: %v", err)
	}
}

// A far cursor is followed in stretches.
func TestFeedFromFarBehind(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	_, from := feed(t, s, intents.Cursor{}, intents.FeedFilter{}, 10)
	do(t, db, `do $$ begin for i in 1..5000 loop perform pg_current_xact_id(); commit; end loop; end $$`)
	made(t, s, "pi_1")
	until(t, "all transactions of the server have ended, whosever they are", func() bool {
		got, _ := feed(t, s, from, intents.FeedFilter{}, 10)
		return len(got) == 2
	})
	got, next, err := s.Feed(t.Context(), from, intents.FeedFilter{}, 10)
	if err != nil || len(got) != 0 || next.Tx != from.Tx+feedStretch {
		t.Errorf("got %+v, %v, %v", got, next, err)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	s := openStore(t, pgtest.New(t, migrate))
	has := func(made, usable bool) {
		t.Helper()
		if m, u, err := s.HasTokens(t.Context()); m != made || u != usable || err != nil {
			t.Errorf("made %v, usable %v, %v", m, u, err)
		}
	}
	has(false, false)
	hash := intents.HashSecret(intents.NewSecret())
	want := intents.Token{Name: "ci", Scopes: []intents.Scope{intents.ScopeRead, intents.ScopeSubmit}, CreatedBy: "ann", ExpiresAt: time.Now().Add(time.Hour)}
	if got, err := s.CreateToken(t.Context(), want, hash); err != nil || got.Name != "ci" || got.CreatedAt.IsZero() {
		t.Fatalf("got %+v, %v", got, err)
	}
	if _, err := s.CreateToken(t.Context(), want, intents.HashSecret("other")); !errors.As(err, new(*intents.InvalidError)) {
		t.Errorf("the same name: %v", err)
	}
	has(true, true)
	got, found, err := s.FindToken(t.Context(), hash)
	if err != nil || !found || !got.May(intents.ScopeSubmit) || got.May(intents.ScopeOperate) || got.CreatedBy != "ann" {
		t.Errorf("got %+v, %v, %v", got, found, err)
	}
	if _, found, err := s.FindToken(t.Context(), intents.HashSecret("guess")); found || err != nil {
		t.Errorf("a guess: %v, %v", found, err)
	}
	for _, by := range []string{"bob", "eve"} {
		if got, err := s.RevokeToken(t.Context(), "ci", by); err != nil || got.RevokedBy != "bob" {
			t.Errorf("got %+v, %v, want it revoked by bob", got, err)
		}
	}
	if _, found, err := s.FindToken(t.Context(), hash); found || err != nil {
		t.Errorf("revoked: %v, %v", found, err)
	}
	has(true, false)
	if _, err := s.RevokeToken(t.Context(), "none", "bob"); !errors.As(err, new(*intents.InvalidError)) {
		t.Errorf("no such token: %v", err)
	}
	want.Name, want.ExpiresAt = "old", time.Now().Add(-time.Second)
	if _, err := s.CreateToken(t.Context(), want, intents.HashSecret("old")); err != nil {
		t.Fatal(err)
	}
	if _, found, err := s.FindToken(t.Context(), intents.HashSecret("old")); found || err != nil {
		t.Errorf("expired: %v, %v", found, err)
	}
	if all, err := s.Tokens(t.Context()); err != nil || len(all) != 2 || all[0].Name != "ci" {
		t.Errorf("got %+v, %v", all, err)
	}
}

func TestInstances(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	beat := func(name string, n int) {
		t.Helper()
		if err := s.Beat(t.Context(), name, intents.Pulse{Host: "h", PID: 7, Routes: []string{"a"}, InFlight: n}); err != nil {
			t.Fatal(err)
		}
	}
	beat("h-1", 1)
	beat("h-2", 1)
	do(t, db, "update instances set started_at = started_at - interval '1 hour', seen_at = seen_at - interval '25 hours' where name = 'h-1'")
	beat("h-2", 3)
	all, err := s.Instances(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "h-2" || all[0].InFlight != 3 || all[0].SeenAt.Before(all[0].StartedAt) {
		t.Errorf("got %+v, %v, want the one that still beats", all, err)
	}
	if was, found, err := s.Leave(t.Context(), "h-2"); err != nil || !found || was.PID != 7 {
		t.Errorf("got %+v, %v, %v", was, found, err)
	}
	if _, found, err := s.Leave(t.Context(), "h-2"); err != nil || found {
		t.Errorf("gone: %v, %v", found, err)
	}
}

// Case 110: what is counted in a request is bounded.
func TestCountOpenIsBounded(t *testing.T) {
	t.Parallel()
	s := openStore(t, pgtest.New(t, migrate))
	for _, id := range []string{"pi_1", "pi_2", "pi_3"} {
		made(t, s, id)
	}
	c, err := s.CountOpen(t.Context(), 10)
	if err != nil || c.Cut || len(c.Counts) != 1 || c.Counts[0].N != 3 || c.Counts[0].State != intents.Authorized || c.Counts[0].DueAt.IsZero() {
		t.Errorf("got %+v, %v", c, err)
	}
	if c, err := s.CountOpen(t.Context(), 2); err != nil || !c.Cut || c.Counts[0].N != 2 {
		t.Errorf("two at most: got %+v, %v", c, err)
	}
}

// Dead letters are read page by page, also when several came at once.
func TestDeadLettersByPages(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	for n := range byte(5) {
		if err := s.Bury(t.Context(), intents.DeadLetter{Topic: "t", Hash: [32]byte{n}, Reason: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	do(t, db, "update dead_letters set last_at = now()")
	var last intents.BuriedLetter
	for n := 5; n > 0; n-- {
		page, err := s.DeadLettersBefore(t.Context(), last, 1)
		if err != nil || len(page) != 1 || page[0].Hash[0] != byte(n-1) {
			t.Fatalf("got %+v, %v, want letter %d", page, err, n-1)
		}
		last = page[0]
	}
	if page, err := s.DeadLettersBefore(t.Context(), last, 1); err != nil || len(page) != 0 {
		t.Errorf("got %+v, %v", page, err)
	}
}
