package relayer_test

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// world is what is outside. It counts effects by intent, and what bytes came to it.
type world struct {
	mu      sync.Mutex
	naive   bool                // it takes the same key twice
	effects map[string]int      // by intent
	sent    map[string][]string // bytes that came, by intent
	used    map[string]string   // slot: whose bytes used it
}

// take lets an attempt have its effect, unless its slot was used before. The bytes say whose payment it is.
func (w *world) take(a intents.Attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, _, _ := strings.Cut(string(a.Bytes), "|")
	w.sent[id] = append(w.sent[id], string(a.Bytes))
	if _, used := w.used[a.Slot.String()]; used && !w.naive {
		return
	}
	w.used[a.Slot.String()] = id
	w.effects[id]++
}

// saw says whether a slot was used.
func (w *world) saw(s intents.Slot) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, used := w.used[s.String()]
	return used
}

// bytes are what came for an intent.
func (w *world) bytes(id string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.sent[id]...)
}

// answer is what one call on the wire does.
type answer func(ctx context.Context, w *world, a intents.Attempt) intents.Result

// scripted is a sender that does as it is told.
type scripted struct {
	world *world
	maker string // whose bytes these are
	plan  intents.Plan

	onPlan    func(ctx context.Context, in intents.Intent) (intents.Plan, error)
	onPrepare func(ctx context.Context, kind intents.Kind) error
	onObserve func(ws []intents.Watch) ([]intents.Observation, error)
	onCanon   func(in intents.Intent) (intents.Intent, error)

	mu       sync.Mutex
	answers  []answer // of the calls, in order; the last one repeats; none: accepted
	calls    int
	prepared int
	kinds    []intents.Kind
	steady   bool              // prepares the same bytes for the same purpose each time
	attempts []intents.Attempt // of the calls
}

// says sets what the next calls come to.
func (s *scripted) says(answers ...answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers, s.calls = answers, 0
}

func (s *scripted) submits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *scripted) Plan(ctx context.Context, in intents.Intent) (intents.Plan, error) {
	if s.onPlan != nil {
		return s.onPlan(ctx, in)
	}
	return s.plan, ctx.Err()
}

// Prepare makes bytes that no other call makes, unless it is steady.
func (s *scripted) Prepare(ctx context.Context, in intents.Intent, slot intents.Slot, kind intents.Kind, _ []intents.Attempt) (intents.Attempt, error) {
	if s.onPrepare != nil {
		if err := s.onPrepare(ctx, kind); err != nil {
			return intents.Attempt{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepared++
	s.kinds = append(s.kinds, kind)
	nth := strconv.Itoa(s.prepared)
	if s.steady {
		nth = "same"
	}
	b := fmt.Sprintf("%s|%s|%s|%s", cmp.Or(in.ID, "filler"), s.maker, kind, nth)
	return intents.Attempt{Slot: slot, Bytes: []byte(b), Name: "name of " + b}, nil
}

func (s *scripted) Submit(ctx context.Context, a intents.Attempt) intents.Result {
	s.mu.Lock()
	do := accepted
	if n := len(s.answers); n > 0 {
		do = s.answers[min(s.calls, n-1)]
	}
	s.calls++
	s.attempts = append(s.attempts, a)
	s.mu.Unlock()
	return do(ctx, s.world, a)
}

// Observe sees what the world saw, beyond recall.
func (s *scripted) Observe(ctx context.Context, ws []intents.Watch) ([]intents.Observation, error) {
	if s.onObserve != nil {
		return s.onObserve(ws)
	}
	var out []intents.Observation
	for _, w := range ws {
		if s.world.saw(w.Slot) && (s.plan.Seen || w.Intent.ID == "") {
			out = append(out, intents.Observation{Slot: w.Slot, No: 1, Fact: intents.Final})
		}
	}
	return out, ctx.Err()
}

// Canonical writes destinations in small letters.
func (s *scripted) Canonical(in intents.Intent) (intents.Intent, error) {
	if s.onCanon != nil {
		return s.onCanon(in)
	}
	in.Destination = strings.ToLower(in.Destination)
	return in, nil
}

// What a call may come to. The first three have their effect.

func accepted(_ context.Context, w *world, a intents.Attempt) intents.Result {
	w.take(a)
	return intents.Result{Verdict: intents.Accepted, Ref: "ref-1", Evidence: []byte(`{"status":202}`)}
}

func happened(_ context.Context, w *world, a intents.Attempt) intents.Result {
	w.take(a)
	return intents.Result{Verdict: intents.Done, Ref: "ref-1", Evidence: []byte(`{"status":200}`)}
}

func unheard(_ context.Context, w *world, a intents.Attempt) intents.Result {
	w.take(a)
	return intents.Result{Evidence: []byte(`{"error":"reset"}`)}
}

// hangs takes effect and answers only when it is cut.
func hangs(ctx context.Context, w *world, a intents.Attempt) intents.Result {
	w.take(a)
	<-ctx.Done()
	return intents.Result{Evidence: []byte(`{"error":"canceled"}`)}
}

// silence answers nothing and has no effect either.
func silence(context.Context, *world, intents.Attempt) intents.Result {
	return intents.Result{Evidence: []byte(`{"status":503}`)}
}

func notSent(context.Context, *world, intents.Attempt) intents.Result {
	return intents.Result{Verdict: intents.NotSent, Evidence: []byte(`{"error":"refused"}`)}
}

func declined(context.Context, *world, intents.Attempt) intents.Result {
	return intents.Result{Verdict: intents.Declined, Evidence: []byte(`{"status":422}`)}
}

func panics(context.Context, *world, intents.Attempt) intents.Result { panic("the sender blew up") }

// killedBefore and killedAfter end the process before and after the effect.
func killedBefore(context.Context, *world, intents.Attempt) intents.Result {
	runtime.Goexit()
	return intents.Result{}
}

func killedAfter(_ context.Context, w *world, a intents.Attempt) intents.Result {
	w.take(a)
	runtime.Goexit()
	return intents.Result{}
}

// after answers late, cut or not.
func after(d time.Duration, then answer) answer {
	return func(ctx context.Context, w *world, a intents.Attempt) intents.Result {
		<-time.After(d)
		return then(ctx, w, a)
	}
}

// during does something while the call is out.
func during(other func(), then answer) answer {
	return func(ctx context.Context, w *world, a intents.Attempt) intents.Result {
		other()
		return then(ctx, w, a)
	}
}
