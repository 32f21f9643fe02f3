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
	if !refuseOften(&p, start, 1, paceLeast) {
		t.Fatal("refusals cut nothing")
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
			refuseOften(&p, now, share, floor)
			if got := p.share(now); got < floor || got > 1.001*max(share, floor) {
				t.Fatalf("floor %v: the share went from %v to %v", floor, share, got)
			}
		}
		if got := p.share(now); got < floor || got > 1.001*floor {
			t.Errorf("after 100 refusals the share is %v, want %v", got, floor)
		}
		if got := p.share(now.Add(MaxSlow - 1)); got < 1 {
			t.Errorf("floor %v: the share is %v after %v of quiet, want 1", floor, got, MaxSlow)
		}
	}
}

// refuseOften refuses as often as it takes for a cut, the last time at now.
func refuseOften(p *pace, now time.Time, share, floor float64) (cut bool) {
	for i := range paceFew {
		at := now.Add(time.Duration(i-paceFew+1) * time.Millisecond)
		cut = p.refuse(at, at, time.Second, share, floor)
	}
	return cut
}

// Few refusals cut nothing: three within ten pauses do, then two more.
func TestPaceFewRefusalsAreNone(t *testing.T) {
	now := time.Now()
	var p pace
	for i, tt := range []struct {
		wait, pause time.Duration
		cut         bool
	}{
		{0, time.Second, false}, {time.Second, time.Second, false}, {9001 * time.Millisecond, time.Second, false}, // 10.001 s after the first
		{998 * time.Millisecond, time.Second, true}, // 10 s after the second but one
		{time.Second, time.Second, false}, {time.Second, time.Second, true},
		{time.Minute, 20 * time.Second, false}, {20 * time.Second, 20 * time.Second, true}, // longer pauses, a longer time
		{time.Hour, time.Millisecond, false}, {4 * time.Second, time.Millisecond, false}, {6 * time.Second, time.Millisecond, true}, // no less than 10 s
	} {
		now = now.Add(tt.wait)
		if cut := p.refuse(now, now, tt.pause, 1, paceLeast); cut != tt.cut {
			t.Errorf("refusal %d: cut %t, want %t", i, cut, tt.cut)
		}
	}
}

// All calls that were let pass before a refusal are one with it.
func TestPaceCallsOfOneTimeAreOneRefusal(t *testing.T) {
	now := time.Now()
	var p pace
	for i := range 50 {
		if p.refuse(now.Add(time.Duration(i)), now.Add(-time.Second), time.Second, 1, paceLeast) {
			t.Fatalf("call %d of one time cut", i)
		}
	}
	if refuseOften(&p, now.Add(time.Second), 1, paceLeast); p.cuts != 1 {
		t.Errorf("%d cuts, want 1", p.cuts)
	}
}

func TestPacePausesAreNotQuiet(t *testing.T) {
	cut := time.Now()
	var p pace
	refuseOften(&p, cut, 1, paceLeast)
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
	if got := g.best(now.Add(time.Minute)); got < 39/math.E || got > 42/math.E {
		t.Errorf("%v a second at best, a minute after the last; want 40/e", got)
	}
	g.add(now.Add(time.Minute), 1)
	if got := g.best(now.Add(time.Minute)); got < 39/math.E || got > 42/math.E {
		t.Errorf("one more makes it %v", got)
	}
}
