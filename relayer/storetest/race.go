package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/nsqrelayer/relayer/intents"
)

func raceTests() []test {
	return []test{
		{"race/each is claimed once (cases 40, 41)", raceClaims},
		{"race/takeover by one", raceTakeover},
		{"race/no account is overdrawn (case 76)", raceFunds},
		{"race/many accounts in any order (cases 40, 41)", raceAccounts},
		{"race/one lane", raceLane},
		{"race/result and takeover", raceResult},
	}
}

// raceClaims: 50 workers want the same 10 intents.
func raceClaims(f *fixture) {
	var ins []intents.Intent
	for range 10 {
		ins = append(ins, f.taken())
	}
	won := make([]atomic.Int32, len(ins))
	var wg sync.WaitGroup
	for w := range 50 {
		wg.Go(func() {
			for i := range ins {
				i = (i + w) % len(ins)
				cl, err := f.Claim(f.ctx, f.keyedAs(ins[i], fmt.Sprintf("%s.%d", ins[i].ID, w)))
				switch _, lost := errors.AsType[*intents.NotClaimedError](err); {
				case err == nil:
					won[i].Add(1)
					if string(cl.Attempts[0].Bytes) != cl.Intent.ClaimID {
						f.Errorf("the winner sends another's bytes")
					}
				case !lost:
					f.Errorf("claim: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for i := range won {
		if n := won[i].Load(); n != 1 {
			f.Errorf("intent %d was claimed %d times", i, n)
		}
	}
	f.sums(0, 1000)
}

func raceTakeover(f *fixture) {
	in := f.lapsed(f.keyed(f.taken())).Intent
	var won atomic.Int32
	var wg sync.WaitGroup
	for w := range 20 {
		wg.Go(func() {
			if _, err := f.Claim(f.ctx, f.keyedAs(in, fmt.Sprintf("%s.%d", in.ID, w))); err == nil {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		f.Errorf("taken over by %d", won.Load())
	}
	f.stands(f.get(in.ID), intents.Settling, 4, "")
}

func raceFunds(f *fixture) {
	f.credit(750)
	var ins []intents.Intent
	for range 20 {
		ins = append(ins, f.taken())
	}
	var held atomic.Int32
	var wg sync.WaitGroup
	for _, in := range ins {
		wg.Go(func() {
			if _, err := f.Claim(f.ctx, f.keyedAs(in, in.ID+".claim")); err == nil {
				held.Add(1)
			}
		})
	}
	wg.Wait()
	if held.Load() != 7 {
		f.Errorf("%d payments of 100 were claimed from 750", held.Load())
	}
	f.sums(750, 700)
}

// raceAccounts: whole payments over few accounts and one signer, in mixed order. Nothing deadlocks, nothing is lost.
func raceAccounts(f *fixture) {
	f.signer(0, 10_000)
	const workers, each = 12, 8
	var wg sync.WaitGroup
	ids := make([][]string, workers)
	for w := range workers {
		for i := range each {
			in := f.intent(func(in *intents.Intent) { in.Account = fmt.Sprintf("%s%d", f.account, (i*w+i)%5) })
			ids[w] = append(ids[w], in.ID)
		}
		wg.Go(func() {
			for i, id := range ids[w] {
				f.pay(intents.Intent{ID: id, Route: f.route, Account: fmt.Sprintf("%s%d", f.account, (i*w+i)%5), Destination: "d", Asset: "EUR", Amount: intents.NewAmount(1)}, (w+i)%2 == 0)
			}
		})
	}
	wg.Wait()
	n, err := f.Count(f.ctx, f.route)
	f.must(err)
	if len(n) != 1 || n[intents.Settled] != workers*each {
		f.Errorf("states: got %v, want %d settled", n, workers*each)
	}
	if s := f.readSigner(); s.Open != 0 || s.Next != workers*each/2 {
		f.Errorf("signer: got %+v", s)
	}
}

// pay takes an intent along the whole path. It may be called from several goroutines.
func (f *fixture) pay(in intents.Intent, counter bool) {
	in, err := f.Take(f.ctx, full(in))
	if err != nil {
		f.Errorf("take: %v", err)
		return
	}
	c := f.keyedAs(in, in.ID+".claim")
	if counter {
		c.Attempt, c.Plan.Slot = nil, intents.Counter
	}
	cl, err := f.Claim(f.ctx, c)
	if err != nil {
		f.Errorf("claim: %v", err)
		return
	}
	if counter {
		if _, err := f.Attach(f.ctx, intents.Attempt{Slot: cl.Slot(), No: 1, Kind: intents.First, Bytes: []byte("b"), Name: "n"}); err != nil {
			f.Errorf("attach: %v", err)
		}
	}
	if _, err := f.Complete(f.ctx, cl, intents.Result{Verdict: intents.Done, Ref: "n"}); err != nil {
		f.Errorf("complete: %v", err)
	}
}

// raceLane: of a lane one is under way, however many ask at once.
func raceLane(f *fixture) {
	var ins []intents.Intent
	for range 5 {
		ins = append(ins, f.taken(inLane("l")))
	}
	for n := range ins {
		var wg sync.WaitGroup
		claims := make([]intents.Claimed, len(ins))
		for i := range ins {
			wg.Go(func() { claims[i], _ = f.Claim(f.ctx, f.keyedAs(ins[i], fmt.Sprintf("%s.%d", ins[i].ID, n))) })
		}
		wg.Wait()
		for i, cl := range claims {
			if (cl.Intent.ID != "") != (i == n) {
				f.Fatalf("turn of %d: claimed %t of %d", n, cl.Intent.ID != "", i)
			}
		}
		f.complete(claims[n], intents.Result{Verdict: intents.Done})
	}
}

// raceResult: the owner's late result against a takeover. Either way the fact stands in the end, once.
func raceResult(f *fixture) {
	for i := range 50 {
		old := f.lapsed(f.keyed(f.taken()))
		var over intents.Claimed
		var won, lost error
		var wg sync.WaitGroup
		wg.Go(func() { over, won = f.Claim(f.ctx, f.keyedAs(old.Intent, fmt.Sprintf("%s.%d", old.Intent.ID, i))) })
		wg.Go(func() { _, lost = f.Complete(f.ctx, old, intents.Result{Verdict: intents.Done, Ref: "r"}) })
		wg.Wait()
		if lost != nil {
			f.Fatalf("complete: %v", lost)
		}
		in := f.get(old.Intent.ID)
		if in.State != intents.Settled || (won == nil) != (in.Version == 5) {
			f.Fatalf("taken over: %v; the row is %s v%d", won, in.State, in.Version)
		}
		if won == nil { // the taker sent the same bytes and learns the same
			f.same(in, f.complete(over, intents.Result{Verdict: intents.Done, Ref: "r"}))
		}
	}
	f.sums(-5000, 0)
}
