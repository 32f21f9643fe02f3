package relayer

import (
	"math"
	"testing"
	"time"
)

func TestPaceHalvesAndComesBack(t *testing.T) {
	start := time.Now()
	var p pace
	if got := p.share(start); !math.IsInf(got, 1) || !p.full(start).IsZero() {
		t.Errorf("never refused: share %v, full at %v", got, p.full(start))
	}
	if !p.refuse(start, start.Add(-time.Second), 1, paceLeast) {
		t.Fatal("the first refusal cut nothing")
	}
	last := 0.0
	for at, want := range map[time.Duration]float64{0: 0.5, paceBack / 2: 1 - 0.5/32, paceBack: 1, 2 * paceBack: 1.5, MaxSlow - 1: 513, MaxSlow: math.Inf(1)} {
		if got := p.share(start.Add(at)); math.Abs(got-want) > 1e-3 && got != want {
			t.Errorf("%v after a refusal the share is %v, want %v", at, got, want)
		}
	}
	for at := time.Duration(0); at < MaxSlow; at += time.Second {
		if got := p.share(start.Add(at)); got < last {
			t.Fatalf("the share falls from %v to %v at %v", last, got, at)
		} else {
			last = got
		}
	}
	if got, want := p.full(start.Add(time.Second)), start.Add(MaxSlow); !got.Equal(want) {
		t.Errorf("all of it is back at %v, want %v", got, want)
	}
}

// From wherever refusals have brought it, quiet brings it back to all of the rate before MaxSlow makes it so.
func TestPaceIsBackInTimeFromTheFloor(t *testing.T) {
	for _, floor := range []float64{paceLeast, 0.01, 0.3, 0.9, 1} {
		now := time.Now()
		var p pace
		for range 100 {
			share := min(p.share(now), 1)
			now = now.Add(time.Second)
			p.refuse(now, now.Add(-1), share, floor)
			if got := p.share(now); got < floor || got > max(share, floor) {
				t.Fatalf("floor %v: the share went from %v to %v", floor, share, got)
			}
		}
		if got := p.share(now); got != floor {
			t.Errorf("after 100 refusals the share is %v, want %v", got, floor)
		}
		if got := p.share(now.Add(MaxSlow - 1)); got < 1 {
			t.Errorf("floor %v: the share is %v after %v of quiet, want 1", floor, got, MaxSlow)
		}
	}
}

// All calls that were let pass before a cut are one refusal.
func TestPaceCutsOnceForCallsOfOneTime(t *testing.T) {
	cut := time.Now()
	var p pace
	p.refuse(cut, cut.Add(-time.Second), 1, paceLeast)
	for _, since := range []time.Duration{-time.Hour, -time.Second, 0} {
		if p.refuse(cut.Add(time.Minute), cut.Add(since), 1, paceLeast) {
			t.Errorf("a call let pass at %v cut again", since)
		}
	}
	if !p.refuse(cut.Add(time.Minute), cut.Add(1), 1, paceLeast) || p.cuts != 2 {
		t.Errorf("a call let pass after the cut did not cut: %d cuts", p.cuts)
	}
}

func TestPacePausesAreNotQuiet(t *testing.T) {
	cut := time.Now()
	var p pace
	p.refuse(cut, cut.Add(-1), 1, paceLeast)
	p.pause(time.Hour)
	if got := p.share(cut.Add(time.Hour)); got != 0.5 {
		t.Errorf("after the pause the share is %v, want 0.5", got)
	}
	if got := p.share(cut.Add(time.Hour + paceBack)); got != 1 {
		t.Errorf("a minute after the pause the share is %v, want 1", got)
	}
}

func TestGauge(t *testing.T) {
	now := time.Now()
	var g gauge
	if got := g.perSecond(now); got != 0 {
		t.Errorf("nothing passed, %v a second", got)
	}
	for range 300 {
		now = now.Add(50 * time.Millisecond)
		g.add(now, 2)
	}
	if got := g.perSecond(now); got < 39 || got > 42 {
		t.Errorf("40 a second measured as %v", got)
	}
	if got := g.perSecond(now.Add(time.Minute)); got > 1e-9 {
		t.Errorf("%v a second, a minute after the last", got)
	}
}
