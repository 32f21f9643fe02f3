package relayer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// rig is one worker of one route over the model store, with a scripted sender and a scripted outside world. All of it
// lives in a bubble: its clock moves only when everybody waits.
type rig struct {
	*testing.T
	cfg      relayer.Config
	store    *memstore.Store // the truth
	faults   *faulty         // the truth as the worker sees it
	world    *world
	sender   *scripted
	throttle *relayer.Throttle
	gate     *gate
	probe    *relayer.Probe
	worker   *relayer.Worker
	logs     *buffer

	work, lease context.Context
	cut, drain  context.CancelFunc // end of the drain deadline; end of the lease, or begin of the drain
	begun       sync.WaitGroup
}

// option changes a rig before it is built.
type option func(*rig)

func config(change func(*relayer.Config)) option { return func(r *rig) { change(&r.cfg) } }

// throttled gives the rig a limited throttle.
func throttled(cfg relayer.ThrottleConfig) option {
	return func(r *rig) { r.throttle = newThrottle(cfg) }
}

// bubble runs f on a rig whose sender plans as given.
func bubble(t *testing.T, plan intents.Plan, f func(r *rig), opts ...option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(newRig(t, plan, opts...)) })
}

func newRig(t *testing.T, plan intents.Plan, opts ...option) *rig {
	r := &rig{T: t, store: memstore.New(memstore.Config{}), gate: &gate{}, logs: &buffer{}}
	r.world = &world{effects: map[string]int{}, sent: map[string][]string{}, used: map[string]string{}}
	r.cfg = relayer.Config{Route: "payouts", Topic: "intents.payouts", Owner: "w1", Concurrency: 4, AcceptFull: true,
		Logger: slog.New(slog.NewJSONHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	r.throttle = newThrottle(relayer.ThrottleConfig{PerSecond: relayer.Unlimited, InFlight: 64})
	for _, o := range opts {
		o(r)
	}
	r.faults = newFaulty(r.store)
	r.sender = &scripted{world: r.world, maker: r.cfg.Owner, plan: plan}
	r.probe = relayer.NewProbe(r.faults, r.gate, nil)
	r.openSigner(7, 16)
	var err error
	r.worker, err = relayer.NewWorker(r.cfg, r.faults, r.faults, r.sender, r.throttle, r.probe)
	r.must(err)
	r.work, r.cut = context.WithCancel(context.Background())
	r.lease, r.drain = context.WithCancel(r.work)
	t.Cleanup(func() { r.cut(); r.begun.Wait(); r.sound() })
	return r
}

// twin is a second process of the same route, on the same store and the same world.
func (r *rig) twin(owner string) *rig {
	tw := newRig(r.T, r.sender.plan, config(func(c *relayer.Config) { *c = r.cfg; c.Owner = owner }))
	tw.store, tw.world = r.store, r.world
	tw.faults.Store, tw.sender.world = r.store, r.world
	return tw
}

// openSigner tells the store how far the chain counts, and how many numbers may be open.
func (r *rig) openSigner(next int64, window int) {
	_, err := r.store.OpenSigner(r.Context(), intents.Signer{Scope: "signer", Next: next, Window: window})
	r.must(err)
}

// The four ways a sender may plan.
func keyed() intents.Plan {
	return intents.Plan{Slot: intents.Key, Scope: "endpoint", Again: intents.Always, Seen: true}
}
func counted() intents.Plan {
	return intents.Plan{Slot: intents.Counter, Scope: "signer", Again: intents.Always, Seen: true, Cost: intents.NewAmount(3)}
}
func lookedUp() intents.Plan { // never sent twice, but Observe finds it
	return intents.Plan{Slot: intents.Key, Scope: "endpoint", Again: intents.Never, Seen: true}
}
func blind() intents.Plan { // never sent twice, never seen
	return intents.Plan{Slot: intents.Key, Scope: "endpoint", Again: intents.Never}
}

// pass lets d of the bubble's time go by, and all that happens in it.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("unexpected error: %v", err)
	}
}

// content is what a test pays, by id.
func (r *rig) content(id string, change ...func(*intents.Intent)) intents.Intent {
	in := intents.Intent{ID: id, Route: r.cfg.Route, Account: "acct", Destination: "there", Asset: "EUR", Amount: intents.NewAmount(100)}
	for _, c := range change {
		c(&in)
	}
	return in
}

// create stores an authorized intent.
func (r *rig) create(id string, change ...func(*intents.Intent)) intents.Intent {
	r.Helper()
	in, err := r.store.Create(r.Context(), r.content(id, change...), true, "tester")
	r.must(err)
	return in
}

func (r *rig) get(id string) intents.Intent {
	r.Helper()
	in, err := r.store.Get(r.Context(), id)
	r.must(err)
	return in
}

// ref is the body of a message that names an intent, full of one that carries it.
func ref(id string) []byte { return fmt.Appendf(nil, `{"v":1,"intent_id":%q}`, id) }

func (r *rig) full(in intents.Intent) []byte {
	r.Helper()
	b, err := intents.Encode(in)
	r.must(err)
	return b
}

// delivery is a fresh message whose lease lasts a minute.
func (r *rig) delivery(body []byte) relayer.Delivery {
	now := time.Now()
	return relayer.Delivery{ID: "0a1b", Topic: r.cfg.Topic, Body: body, Published: now, Until: now.Add(time.Minute)}
}

// deliver has the worker handle a message.
func (r *rig) deliver(body []byte) relayer.Disposition { return r.handle(r.delivery(body)) }

func (r *rig) handle(d relayer.Delivery) relayer.Disposition {
	return r.worker.Handle(r.work, r.lease, d)
}

// start handles a message beside the test. What comes of it is in the channel; nothing, when the worker was killed.
func (r *rig) start(body []byte) <-chan relayer.Disposition {
	out := make(chan relayer.Disposition, 1)
	r.begun.Go(func() {
		defer close(out)
		out <- r.deliver(body)
	})
	return out
}

// killed handles a message that the process does not outlive.
func (r *rig) killed(body []byte) {
	r.Helper()
	if d, ok := <-r.start(body); ok {
		r.Fatalf("the worker lives and says %+v", d)
	}
}

// stands wants an intent in a state, at a version, for a reason.
func (r *rig) stands(id string, state intents.State, version int, reason intents.Reason) intents.Intent {
	r.Helper()
	in := r.get(id)
	if in.State != state || in.Version != version || in.Reason != reason {
		r.Fatalf("%s is %s v%d %q, want %s v%d %q; timeline: %s", id, in.State, in.Version, in.Reason, state, version, reason, r.story(id))
	}
	return in
}

// story is an intent's timeline in words: states for changes, kinds in brackets for what was only noted.
func (r *rig) story(id string) string {
	r.Helper()
	events, err := r.store.Events(r.Context(), id)
	r.must(err)
	var words []string
	for _, e := range events {
		word := e.To.String()
		if e.Kind != intents.Changed {
			word = "(" + e.Kind.String() + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func (r *rig) tells(id, want string) {
	r.Helper()
	if got := r.story(id); got != want {
		r.Errorf("timeline of %s:\n got %s\nwant %s", id, got, want)
	}
}

// lastDetail is the evidence of the last event.
func (r *rig) lastDetail(id string) string {
	r.Helper()
	events, err := r.store.Events(r.Context(), id)
	r.must(err)
	return string(events[len(events)-1].Detail)
}

// holds wants the account to hold so much for what is under way.
func (r *rig) holds(pending int64) {
	r.Helper()
	var got intents.Amount
	as, err := r.store.Accounts(r.Context(), "acct")
	r.must(err)
	for _, a := range as {
		got = got.Add(a.Pending)
	}
	if !got.Equal(intents.NewAmount(pending)) {
		r.Errorf("account holds %s, want %d", got, pending)
	}
}

// counts wants the worker's numbers.
func (r *rig) counts(want relayer.Stats) {
	r.Helper()
	if got := r.worker.Stats(); got != want {
		r.Errorf("stats: got %+v, want %+v", got, want)
	}
}

// wire wants so many calls to have been made, and effects to have happened once for each of the ids, else nowhere.
func (r *rig) wire(calls int, effects ...string) {
	r.Helper()
	if got := r.sender.submits(); got != calls {
		r.Errorf("%d calls on the wire, want %d", got, calls)
	}
	r.effects(effects...)
}

func (r *rig) effects(ids ...string) {
	r.Helper()
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	for _, id := range ids {
		if r.world.effects[id] != 1 {
			r.Errorf("%d effects for %s, want 1", r.world.effects[id], id)
		}
	}
	if len(r.world.effects) != len(ids) {
		r.Errorf("effects %v, want only %v", r.world.effects, ids)
	}
}

// near wants a moment some wait from now, at most a quarter and a second later.
func (r *rig) near(what string, at time.Time, wait time.Duration) {
	r.Helper()
	if got := time.Until(at); got < wait-time.Second/100 || got > wait+wait/4+time.Second {
		r.Errorf("%s is in %s, want in %s", what, got, wait)
	}
}

func (r *rig) finished(d relayer.Disposition) {
	r.Helper()
	if !d.Finished() {
		r.Errorf("message: got %s, want FIN\n%s", d, r.logs)
	}
}

func (r *rig) left(d relayer.Disposition) {
	r.Helper()
	if d != relayer.Leave() {
		r.Errorf("message: got %s, want none\n%s", d, r.logs)
	}
}

// requeued wants a REQ of a delay, at most a quarter more.
func (r *rig) requeued(d relayer.Disposition, delay time.Duration) {
	r.Helper()
	got, ok := d.Requeued()
	if !ok || got < delay || got > delay+delay/4 {
		r.Errorf("message: got %s, want REQ %s\n%s", d, delay, r.logs)
	}
}

// letters wants so many dead letters, the last of a reason.
func (r *rig) letters(n int, reason string) intents.BuriedLetter {
	r.Helper()
	all, err := r.store.DeadLetters(r.Context(), 100)
	r.must(err)
	if len(all) != n {
		r.Fatalf("%d dead letters, want %d: %+v", len(all), n, all)
	}
	if n == 0 {
		return intents.BuriedLetter{}
	}
	if all[0].Reason != reason {
		r.Errorf("dead letter for %q (%s), want %q", all[0].Reason, all[0].Detail, reason)
	}
	return all[0]
}

// sound is what must be true after every test: no permit is out, the store's sums add up, nothing happened twice.
func (r *rig) sound() {
	r.Helper()
	synctest.Wait()
	if s := r.throttle.State(); s.InFlight != 0 || s.Waiting != 0 || s.WaitingReads != 0 {
		r.Errorf("permits are out: %+v", s)
	}
	wrong, err := r.store.Audit(context.Background())
	if err != nil || len(wrong) > 0 {
		r.Errorf("audit: %v %v", wrong, err)
	}
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	for id, n := range r.world.effects {
		if n > 1 {
			r.Errorf("%d effects for %q: %v", n, id, r.world.sent[id])
		}
	}
}

// faulty is the store with faults. A fault wraps one call; those that are queued for a method are used up in order.
type faulty struct {
	*memstore.Store
	mu     sync.Mutex
	queued map[string][]fault
	calls  map[string]int
	show   func(in *intents.Intent) // changes what take reads
}

// fault does a call, or does not, or lies about it.
type fault func(ctx context.Context, do func() error) error

func newFaulty(s *memstore.Store) *faulty {
	return &faulty{Store: s, queued: map[string][]fault{}, calls: map[string]int{}}
}

// on queues faults for a method: take, claim, attach, complete, park, refuse, bury, ping, record, watches, lead, sweep.
func (f *faulty) on(method string, faults ...fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queued[method] = append(f.queued[method], faults...)
}

func (f *faulty) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

func (f *faulty) next(method string) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[method]++
	q := f.queued[method]
	if len(q) == 0 {
		return plainly
	}
	f.queued[method] = q[1:]
	return q[0]
}

// call does what a method does, as real stores do: not at all once the caller's time is over.
func call[T any](ctx context.Context, f *faulty, method string, do func() (T, error)) (out T, err error) {
	next := f.next(method)
	if err := ctx.Err(); err != nil {
		return out, err
	}
	err = next(ctx, func() (err error) {
		out, err = do()
		return err
	})
	return out, err
}

func plainly(_ context.Context, do func() error) error { return do() }
func down(context.Context, func() error) error         { return fmt.Errorf("dial: %w", intents.ErrUnavailable) }
func spoilt(context.Context, func() error) error       { return errors.New("invalid byte sequence") }
func blown(context.Context, func() error) error        { panic("the store blew up") }

// stalls answers nothing until the caller's time is over.
func stalls(ctx context.Context, _ func() error) error { <-ctx.Done(); return ctx.Err() }

// mute answers nothing until the store's own bound.
func mute(ctx context.Context, _ func() error) error {
	ctx, cancel := context.WithTimeout(ctx, relayer.DefaultStoreTimeout)
	defer cancel()
	return stalls(ctx, nil)
}

// moved says that another was faster, which nobody was.
func moved(context.Context, func() error) error {
	return &intents.NotClaimedError{Why: intents.WhyMoved}
}

// lost writes, and the answer is lost.
func lost(_ context.Context, do func() error) error {
	_ = do()
	return fmt.Errorf("read: %w", intents.ErrUnsure)
}

// unsure writes nothing, and nobody can tell.
func unsure(context.Context, func() error) error { return intents.ErrUnsure }

// dies ends the process before the call, diesAfter after it.
func dies(context.Context, func() error) error { runtime.Goexit(); return nil }
func diesAfter(_ context.Context, do func() error) error {
	_ = do()
	runtime.Goexit()
	return nil
}

// first does something else before the call: another process is faster.
func first(other func()) fault {
	return func(_ context.Context, do func() error) error { other(); return do() }
}

// slowly has the answer of a call come late.
func slowly(d time.Duration) fault {
	return func(_ context.Context, do func() error) error { err := do(); <-time.After(d); return err }
}

// times repeats a fault.
func times(n int, f fault) []fault {
	var out []fault
	for range n {
		out = append(out, f)
	}
	return out
}

func (f *faulty) Take(ctx context.Context, m intents.Message) (intents.Intent, error) {
	in, err := call(ctx, f, "take", func() (intents.Intent, error) { return f.Store.Take(ctx, m) })
	if f.show != nil {
		f.show(&in)
	}
	return in, err
}

func (f *faulty) Claim(ctx context.Context, c intents.Claim) (intents.Claimed, error) {
	return call(ctx, f, "claim", func() (intents.Claimed, error) { return f.Store.Claim(ctx, c) })
}

func (f *faulty) Attach(ctx context.Context, a intents.Attempt) (intents.Attempt, error) {
	return call(ctx, f, "attach", func() (intents.Attempt, error) { return f.Store.Attach(ctx, a) })
}

func (f *faulty) Complete(ctx context.Context, c intents.Claimed, r intents.Result) (intents.Intent, error) {
	return call(ctx, f, "complete", func() (intents.Intent, error) { return f.Store.Complete(ctx, c, r) })
}

func (f *faulty) Park(ctx context.Context, in intents.Intent, wait time.Duration) error {
	_, err := call(ctx, f, "park", func() (int, error) { return 0, f.Store.Park(ctx, in, wait) })
	return err
}

func (f *faulty) Refuse(ctx context.Context, in intents.Intent, reason intents.Reason, detail []byte) (intents.Intent, error) {
	return call(ctx, f, "refuse", func() (intents.Intent, error) { return f.Store.Refuse(ctx, in, reason, detail) })
}

func (f *faulty) Bury(ctx context.Context, d intents.DeadLetter) error {
	_, err := call(ctx, f, "bury", func() (int, error) { return 0, f.Store.Bury(ctx, d) })
	return err
}

func (f *faulty) Ping(ctx context.Context) error {
	_, err := call(ctx, f, "ping", func() (int, error) { return 0, f.Store.Ping(ctx) })
	return err
}

func (f *faulty) Record(ctx context.Context, ws []intents.Watch, os []intents.Observation, p intents.Patience) ([]intents.Intent, error) {
	return call(ctx, f, "record", func() ([]intents.Intent, error) { return f.Store.Record(ctx, ws, os, p) })
}

func (f *faulty) Lead(ctx context.Context, name, owner string, term time.Duration) (bool, error) {
	return call(ctx, f, "lead", func() (bool, error) { return f.Store.Lead(ctx, name, owner, term) })
}

func (f *faulty) Sweep(ctx context.Context, route string, most int) ([]intents.Intent, error) {
	return call(ctx, f, "sweep", func() ([]intents.Intent, error) { return f.Store.Sweep(ctx, route, most) })
}

// gate is the consumer as the probe sees it.
type gate struct {
	mu     sync.Mutex
	paused bool
	turns  int // how often it was paused
}

func (g *gate) Pause(string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused = true
	g.turns++
}

func (g *gate) Resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused = false
}

func (g *gate) look() (paused bool, turns int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.paused, g.turns
}

// buffer keeps a log.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// lines counts the lines that have a text.
func (b *buffer) lines(text string) int { return strings.Count(b.String(), text) }

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
