package main

import (
	"syscall"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// Case 51: the database's clock is five minutes off, either way, and then is put an hour back and right again under two
// workers whose sends take seconds. Nobody claims what the other's claim runs for: each intent is claimed and called once.
func TestDatabaseHasAnotherClock(t *testing.T) {
	for name, offset := range map[string]string{"ahead": "+300", "behind": "-300"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, clock := pgtest.ServerWithClock(t, offset)
			w := newWorldAt(t, "slow=100%:2s", srv.DSN("postgres"))
			first, second := w.start("run"), w.start("run")
			ins := demoIntents("clock", 200)
			w.publish(ins[:100])
			until(t, "sends are under way", func() bool { return len(w.sink.Calls()) >= 50 })
			w.publish(ins[:100]) // each message twice: the second finds a claim that runs, or what came of it
			until(t, "the first half is settled", func() bool { return w.states()[intents.Settled] == 100 })
			w.publish(ins[100:])
			until(t, "more is under way", func() bool { return len(w.sink.Calls()) >= 75 })
			clock.Set("-3600")
			w.publish(ins[100:])
			until(t, "all is sent, and no claim runs", func() bool {
				n := w.states()
				return n[intents.Confirming]+n[intents.Settled] == len(ins)
			})
			clock.Set(offset) // an hour at once: a claim that ran would be over
			w.settledOnce(ins)
			w.calledOnce(ins)
			for _, in := range ins {
				now, err := w.store.Get(t.Context(), in.ID)
				w.must(err)
				if plain := map[string]int{"webhooks": 4, "payouts": 5}[in.Route]; now.Version != plain {
					t.Errorf("%s is v%d, want v%d: it was claimed more than once", in.ID, now.Version, plain)
				}
			}
			for _, p := range []*program{first, second} {
				p.signal(syscall.SIGTERM)
				p.exits(exitOK)
			}
		})
	}
}
