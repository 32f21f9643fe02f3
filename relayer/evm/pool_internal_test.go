package evm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nsqrelayer/relayer/intents"
)

func exactly(d time.Duration) time.Duration { return d }

// nodes makes a pool of nodes with the weights given.
func nodes(weights ...int) *pool {
	var all []*node
	for i, w := range weights {
		all = append(all, &node{host: fmt.Sprint(i), weight: w})
	}
	p := newPool(all)
	p.jitter = exactly
	return p
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestPoolWeights(t *testing.T) {
	t.Parallel()
	p := nodes(3, 1, 2)
	got := map[string]int{}
	run, last := 0, ""
	for range 600 {
		n := p.take(start, nil)
		got[n.host]++
		if run++; n.host != last {
			run = 0
		}
		if last = n.host; run > 1 {
			t.Fatalf("node %s three times in a row with weights 3, 1, 2", last)
		}
	}
	if got["0"] != 300 || got["1"] != 100 || got["2"] != 200 {
		t.Errorf("reads %v, want 300, 100 and 200", got)
	}
	if n := p.take(start, p.nodes); n != nil {
		t.Errorf("%v is taken although all were asked", n)
	}
}

// TestPoolOrder: sends go to the first that works, and lagging nodes come last for both.
func TestPoolOrder(t *testing.T) {
	t.Parallel()
	p := nodes(1, 1, 1)
	p.nodes[0].behind = true
	var order []string
	var asked []*node
	for n := p.takeFirst(start, asked); n != nil; n = p.takeFirst(start, asked) {
		order, asked = append(order, n.host), append(asked, n)
	}
	if got := fmt.Sprint(order); got != "[1 2 0]" {
		t.Errorf("sends go to %s, want 1, 2, and 0, which lags, last", got)
	}
	for range 4 {
		if n := p.take(start, nil); n.host == "0" {
			t.Error("a read goes to the node that lags")
		}
	}
	p.nodes[1].foreign, p.nodes[2].syncing = true, true
	if n := p.take(start, p.nodes[:1]); n != p.nodes[2] {
		t.Errorf("a read goes to %v, want the one that syncs, for want of others", n)
	}
	if n := p.take(start, []*node{p.nodes[0], p.nodes[2]}); n != nil {
		t.Errorf("case 75: a read goes to %v of another chain", n)
	}
}

// TestHealthOut: three failures in a row put a node out, for 1 s doubling to 30 s, then one call decides.
func TestHealthOut(t *testing.T) {
	t.Parallel()
	p := nodes(1)
	n := p.nodes[0]
	n.bad(start, exactly)
	n.bad(start, exactly)
	n.good()
	n.bad(start, exactly)
	n.bad(start, exactly)
	if !n.open(start) {
		t.Fatal("out after two failures in a row")
	}
	n.bad(start, exactly)
	now := start
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		want *= time.Second
		if n.open(now.Add(want - 1)) {
			t.Errorf("called again within %v", want)
		}
		n.bad(now, exactly) // of a call that was on its way
		if rest, calm := p.rest(now); rest != want || calm != 0 {
			t.Errorf("rests for %v, calm %v; want %v and none", rest, calm, want)
		}
		now = now.Add(want)
		if p.take(now, nil) == nil {
			t.Fatalf("not called after %v", want)
		}
		if p.take(now, nil) != nil || p.takeFirst(now, nil) != nil {
			t.Error("a second call while the first has not told")
		}
		n.bad(now, exactly)
	}
	now = now.Add(lastOut)
	p.take(now, nil)
	p.release(n) // nothing was learned
	if p.take(now, nil) == nil {
		t.Error("not called after one that told nothing")
	}
	n.good()
	for range 2 {
		if p.take(now, nil) == nil {
			t.Error("not back after a good answer")
		}
	}
}

// TestHealthCool is case 56: within a minute of 429 without Retry-After there are few calls, however many ask.
func TestHealthCool(t *testing.T) {
	t.Parallel()
	p := nodes(1)
	n := p.nodes[0]
	calls := 0
	for now := start; now.Before(start.Add(time.Minute)); now = now.Add(10 * time.Millisecond) {
		for range 16 {
			if p.take(now, nil) == nil {
				continue
			}
			calls++
			n.cool(now, 0, exactly)
		}
	}
	if calls != 6 { // at 0, 1, 3, 7, 15 and 31 s
		t.Errorf("case 56: %d calls in a minute, want 6", calls)
	}
	n.good()
	if wait := n.cool(start, 0, exactly); wait != firstOut {
		t.Errorf("after a good answer %v, want %v", wait, firstOut)
	}
	for range 15 { // the others that were on their way
		if wait := n.cool(start, 0, exactly); wait != firstOut {
			t.Fatalf("one storm counts more than once: %v", wait)
		}
	}
}

// TestHealthAsked: what the other side asks for is done, and never made shorter.
func TestHealthAsked(t *testing.T) {
	t.Parallel()
	p := nodes(1, 1)
	n := p.nodes[0]
	if wait := n.cool(start, 7*time.Second, exactly); wait != 7*time.Second {
		t.Errorf("asked for 7 s, waits %v", wait)
	}
	if wait := n.cool(start, 2*time.Second, exactly); wait != 7*time.Second {
		t.Errorf("asked for 2 s on top, waits %v", wait)
	}
	if rest, calm := p.rest(start); rest != 0 || calm != 0 {
		t.Errorf("with another node at work: rest %v, calm %v", rest, calm)
	}
	p.nodes[1].foreign = true
	if rest, calm := p.rest(start.Add(time.Second)); rest != 6*time.Second || calm != 6*time.Second {
		t.Errorf("with another of a foreign chain: rest %v, calm %v; want 6 s", rest, calm)
	}
}

func TestPoolNone(t *testing.T) {
	t.Parallel()
	p := nodes(1, 1)
	why := errors.New("why")
	if err := p.none(why); err != why {
		t.Errorf("%v, want what was said", err)
	}
	for range mostFailures {
		p.bad(p.nodes[0])
	}
	p.cool(p.nodes[1], time.Minute)
	limited, ok := errors.AsType[*intents.LimitedError](p.none(why))
	if !ok || limited.After < 50*time.Second || !errors.Is(limited, why) {
		t.Errorf("%v, want a minute of calm", limited)
	}
}

// TestBest: a height is kept for a while, also of a node that is out, but never one of another chain.
func TestBest(t *testing.T) {
	t.Parallel()
	p := nodes(1, 1, 1)
	for i, head := range []uint64{100, 110, 900} {
		p.sawHead(p.nodes[i], head)
	}
	p.isOurs(p.nodes[2], false)
	now := time.Now()
	p.nodes[1].until = now.Add(time.Hour)
	if got := p.best(now); got != 110 {
		t.Errorf("best %d, want 110", got)
	}
	if got := p.best(now.Add(headKeep + time.Second)); got != 0 {
		t.Errorf("best %d after a while, want none", got)
	}
}

// TestCompare: lag is told by the age of the newest block.
func TestCompare(t *testing.T) {
	t.Parallel()
	p := nodes(1, 1, 1, 1)
	probes := make([]probe, 4)
	for i, stamp := range []uint64{1000, 970, 969, 5000} {
		probes[i].newest.Timestamp = hexutil.Uint64(stamp)
	}
	probes[3].err = errors.New("of another chain")
	probes[1].syncing = map[string]any{"currentBlock": "0x1"}
	p.compare(p.nodes, probes)
	for i, fit := range []bool{true, false, false, true} {
		if p.nodes[i].fit() != fit {
			t.Errorf("node %d is fit: %v, want %v", i, !fit, fit)
		}
	}
	probes[1].syncing, probes[2].newest.Timestamp = false, 990
	p.compare(p.nodes, probes)
	if !p.nodes[1].fit() || !p.nodes[2].fit() {
		t.Error("who has caught up is not fit again")
	}
}

// TestBestKept: a node that shows less than before stands for many; what it showed once is not forgotten at once.
func TestBestKept(t *testing.T) {
	t.Parallel()
	p := nodes(1)
	p.sawHead(p.nodes[0], 100)
	p.sawHead(p.nodes[0], 98)
	if got := p.best(time.Now()); got != 100 {
		t.Errorf("best %d, want 100", got)
	}
	p.nodes[0].headAt = p.nodes[0].headAt.Add(-headKeep)
	p.sawHead(p.nodes[0], 98)
	if got := p.best(time.Now()); got != 98 {
		t.Errorf("best %d after a while, want 98", got)
	}
}

// TestDisbelieve: nobody's death is believed from nodes behind, nor that bytes are gone.
func TestDisbelieve(t *testing.T) {
	t.Parallel()
	behind, high := view{head: 9, best: 10}, view{head: 10, best: 10}
	g := glance{
		seen: []intents.Observation{
			{No: 1, Fact: intents.Dead, Ref: "x", Foreign: new(intents.Foreign)}, {No: 1, Fact: intents.Included},
			{Fact: intents.NotSeen, Gone: true}, {Fact: intents.NotSeen}, {Fact: intents.Dead},
		},
		where: []presence{{gone: true}, {}, {gone: true}, {gone: true}, {gone: true}},
		views: []view{behind, behind, behind, high, high},
	}
	left := g.doubtful()
	if !slices.Equal(left, []int{0, 2}) {
		t.Fatalf("in doubt are %v, want the first and the third", left)
	}
	g.disbelieve(left)
	for i, want := range []intents.Fact{intents.NotSeen, intents.Included, intents.NotSeen, intents.NotSeen, intents.Dead} {
		if seen := g.seen[i]; seen.Fact != want || seen.Gone || g.where[i].gone != (i > 2) {
			t.Errorf("observation %d is %+v, gone %v; want %v", i, seen, g.where[i].gone, want)
		}
	}
	if o := g.seen[0]; o.No != 0 || o.Ref != "" || o.Foreign != nil {
		t.Errorf("a death that is not believed leaves %+v", o)
	}
}

// TestPoolConcurrent is for the race detector, and: no node stays stuck with a probe out.
func TestPoolConcurrent(t *testing.T) {
	t.Parallel()
	p := nodes(1, 2, 3)
	p.jitter = func(time.Duration) time.Duration { return time.Nanosecond }
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 500 {
				n := p.take(time.Now(), nil)
				if n == nil {
					continue
				}
				switch rand.N(4) {
				case 0:
					p.bad(n)
				case 1:
					p.cool(n, time.Nanosecond)
				case 2:
					p.good(n)
				}
				p.release(n)
			}
		})
	}
	wait.Wait()
	for _, n := range p.nodes {
		if n.probing {
			t.Errorf("%v is stuck", n)
		}
	}
}
