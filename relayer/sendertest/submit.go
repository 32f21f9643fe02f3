package sendertest

import (
	"context"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func sendOne(a *act) {
	at := a.prepare(0)
	if r := a.submit(a.Context(), at); !happened(r) || r.Ref == "" {
		a.Fatalf("Submit = %v, ref %q; want accepted or done with a reference: %s", r.Verdict, r.Ref, r.Evidence)
	}
	if n := a.Calls(); n != 1 {
		a.Errorf("one Submit made %d calls, want 1", n)
	}
	a.once(0)
}

func sendAgain(a *act) {
	if !a.h.Once {
		a.Skip("the other side makes two effects of the same bytes")
	}
	at := a.prepare(0)
	for i := range 3 {
		r := a.submit(a.Context(), at)
		if i == 0 && !happened(r) || r.Verdict == intents.Declined {
			a.Errorf("Submit %d of the same bytes = %v: %s", i, r.Verdict, r.Evidence)
		}
	}
	if n := a.Calls(); n != 3 {
		a.Errorf("three Submits made %d calls, want 3", n)
	}
	a.once(0)
}

// loseAnswer: cases 63, 93 and 102. What may have happened is unknown, and the same bytes bring it to its end.
func loseAnswer(a *act) {
	at := a.prepare(0)
	a.Turn(Loses)
	if r := a.submit(a.Context(), at); r.Verdict != intents.Unknown {
		a.Errorf("Submit with its answer lost = %v, want unknown: %s", r.Verdict, r.Evidence)
	}
	if n := a.Calls(); n != 1 {
		a.Errorf("one Submit with its answer lost made %d calls, want 1", n)
	}
	a.Turn(Works)
	if a.h.Once {
		if r := a.submit(a.Context(), at); r.Verdict == intents.Declined || r.Verdict == intents.NotSent {
			a.Errorf("the same bytes after a lost answer = %v: %s", r.Verdict, r.Evidence)
		}
	}
	a.once(0)
}

// sendDead: case 93, the connection is refused.
func sendDead(a *act) {
	at := a.prepare(0)
	a.Turn(Dead)
	if r := a.submit(a.Context(), at); r.Verdict != intents.NotSent {
		a.Errorf("Submit with nobody listening = %v, want not_sent: %s", r.Verdict, r.Evidence)
	}
	a.quiet()
	_, err := a.Sender.Plan(a.Context(), a.Intent(1))
	if err != nil {
		a.clean("error of Plan", []byte(err.Error()))
	}
}

func cancelBefore(a *act) {
	at := a.prepare(0)
	ctx, cancel := context.WithCancel(a.Context())
	cancel()
	if r := a.submit(ctx, at); r.Verdict != intents.NotSent {
		a.Errorf("Submit with a context that had ended = %v, want not_sent: %s", r.Verdict, r.Evidence)
	}
	a.quiet()
}

func cancelDuring(a *act) {
	at := a.prepare(0)
	a.Turn(Hangs)
	ctx, cancel := context.WithCancel(a.Context())
	defer cancel()
	result := make(chan intents.Result, 1)
	go func() { result <- a.Sender.Submit(ctx, at) }()
	a.until("the call has arrived", func() bool { return a.Calls() == 1 })
	cancel()
	select {
	case r := <-result:
		a.clean("evidence of Submit", r.Evidence)
		if r.Verdict != intents.Unknown {
			a.Errorf("Submit canceled on its way = %v, want unknown: %s", r.Verdict, r.Evidence)
		}
	case <-time.After(Wait):
		a.Fatal("Submit does not return when its context ends")
	}
}

// deadlineDuring: case 93, the answer does not come in time.
func deadlineDuring(a *act) {
	at := a.prepare(0)
	a.Turn(Hangs)
	ctx, cancel := context.WithCancel(a.Context())
	defer cancel()
	late, stop := context.WithDeadline(ctx, time.Now().Add(2*time.Second))
	defer stop()
	r := a.submit(late, at)
	if want := intents.Unknown; a.Calls() == 1 && r.Verdict != want {
		a.Errorf("Submit past its deadline = %v, want %v: %s", r.Verdict, want, r.Evidence)
	}
	if n := a.Calls(); n > 1 {
		a.Errorf("one Submit made %d calls, want 1", n)
	}
}

func sendGarbage(a *act) {
	for _, b := range [][]byte{nil, {}, {0}, []byte("{}"), []byte("null"), []byte(`{"v":2}`), {0x02, 0xff}} {
		at := a.prepare(0)
		at.Bytes = b
		if r := a.submit(a.Context(), at); happened(r) || r.Verdict == intents.Declined {
			a.Errorf("Submit of %q = %v, want no word about the payment", b, r.Verdict)
		}
	}
	if a.Settle != nil {
		a.Settle()
	}
	if n := a.Effects(0); n != 0 {
		a.Errorf("garbage had %d effect(s)", n)
	}
}

// sendMany runs the whole path in several goroutines; the race detector watches.
func sendMany(a *act) {
	const most = 8
	var attempts [most]intents.Attempt
	var wg sync.WaitGroup
	for n := range most { // counter slots are taken one after the other
		in, s := a.claimed(n)
		wg.Go(func() { attempts[n] = a.prepareIn(in, s, nil) })
	}
	wg.Wait()
	for n := range most {
		wg.Go(func() {
			if r := a.submit(a.Context(), attempts[n]); !happened(r) {
				a.Errorf("Submit(%d) = %v, want accepted or done: %s", n, r.Verdict, r.Evidence)
			}
		})
	}
	wg.Wait()
	for n := range most {
		a.once(n)
	}
	if n := a.Calls(); n != most {
		a.Errorf("%d Submits made %d calls", most, n)
	}
}

// once checks that the n-th intent happened exactly once.
func (a *act) once(n int) {
	a.Helper()
	if a.Settle != nil {
		a.Settle()
	}
	if got := a.Effects(n); got != 1 {
		a.Errorf("intent %d had %d effects, want 1", n, got)
	}
}

// until polls until cond holds.
func (a *act) until(what string, cond func() bool) {
	a.Helper()
	tick, end := time.NewTicker(5*time.Millisecond), time.After(Wait)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			a.Fatalf("waited %v in vain until %s", Wait, what)
		}
	}
}
