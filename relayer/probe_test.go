package relayer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// probed runs a probe of a model store.
func probed(t *testing.T, f func(p *relayer.Probe, store *faulty, g *gate)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store, g := newFaulty(memstore.New(memstore.Config{})), &gate{}
		p := relayer.NewProbe(store, g, nil)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go p.Run(ctx)
		synctest.Wait()
		f(p, store, g)
	})
}

func TestProbeOutagePausesAndResumes(t *testing.T) {
	probed(t, func(p *relayer.Probe, store *faulty, g *gate) {
		store.on("ping", times(8, down)...)
		p.Down()
		synctest.Wait()
		if paused, _ := g.look(); !paused {
			t.Error("not paused")
		}
		pass(22 * time.Second) // pings at 0.25, 0.75, 1.75, 3.75, 7.75, 12.75, 17.75, 22.75, 27.75 s
		if n := store.count("ping"); n != 7 {
			t.Errorf("%d pings, want 7", n)
		}
		if paused, _ := g.look(); !paused {
			t.Error("resumed before the store was back")
		}
		pass(6 * time.Second)
		if paused, turns := g.look(); paused || turns != 1 || store.count("ping") != 9 {
			t.Errorf("paused %t, %d turns, %d pings", paused, turns, store.count("ping"))
		}
		pass(time.Hour)
		if n := store.count("ping"); n != 9 {
			t.Errorf("%d pings with nobody down", n)
		}
	})
}

// A thousand deliveries that meet the outage are told at once, and pause once.
func TestProbeDownNeverBlocks(t *testing.T) {
	probed(t, func(p *relayer.Probe, store *faulty, g *gate) {
		store.on("ping", down)
		start := time.Now()
		for range 1000 {
			p.Down()
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %s", waited)
		}
		pass(300 * time.Millisecond)
		for range 1000 {
			p.Down()
		}
		pass(time.Minute)
		if paused, turns := g.look(); paused || turns != 1 {
			t.Errorf("paused %t after %d turns, want resumed after 1", paused, turns)
		}
	})
}

func TestProbeDownWithoutRunNeverBlocks(t *testing.T) {
	p := relayer.NewProbe(newFaulty(memstore.New(memstore.Config{})), &gate{}, nil)
	for range 3 {
		p.Down() // would block for ever
	}
}

// A store that answers pings but takes no writes is asked four times a second at most.
func TestProbeNoHotLoop(t *testing.T) {
	probed(t, func(p *relayer.Probe, store *faulty, g *gate) {
		start := time.Now()
		for time.Since(start) < 10*time.Second {
			p.Down()
			pass(10 * time.Millisecond)
		}
		if n := store.count("ping"); n > 41 {
			t.Errorf("%d pings in 10 s", n)
		}
	})
}

func TestProbeEndsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, g := newFaulty(memstore.New(memstore.Config{})), &gate{}
		store.on("ping", times(100, down)...)
		p := relayer.NewProbe(store, g, nil)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		p.Down()
		p.Run(ctx) // returns
		if paused, _ := g.look(); !paused {
			t.Error("resumed without a store")
		}
	})
}

// Every call that finds the store away tells the probe.
func TestProbeIsToldByEveryStep(t *testing.T) {
	for _, step := range []string{"take", "claim", "attach", "complete"} {
		t.Run(step, func(t *testing.T) {
			bubble(t, counted(), func(r *rig) {
				r.create("pi_1")
				r.faults.on(step, down)
				go r.probe.Run(r.work)
				r.deliver(ref("pi_1"))
				pass(time.Second)
				if paused, turns := r.gate.look(); paused || turns != 1 {
					r.Errorf("paused %t after %d turns, want resumed after 1", paused, turns)
				}
			})
		})
	}
	for step, provoke := range map[string]func(r *rig){
		"park":   func(r *rig) { r.create("pi_1"); r.must(r.store.SetPaused(r.Context(), "payouts", true, "tester")) },
		"refuse": func(r *rig) { r.create("pi_1", expires(time.Nanosecond*2000)); pass(time.Millisecond) },
	} {
		t.Run(step, func(t *testing.T) {
			bubble(t, keyed(), func(r *rig) {
				provoke(r)
				r.faults.on(step, down)
				go r.probe.Run(r.work)
				r.requeued(r.deliver(ref("pi_1")), 5*time.Second)
				pass(time.Second)
				if _, turns := r.gate.look(); turns != 1 {
					r.Errorf("%d turns, want 1", turns)
				}
				r.stands("pi_1", intents.Authorized, 2, "")
			})
		})
	}
}
