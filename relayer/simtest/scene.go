package simtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// scene is what a seed decides before anything runs.
type scene struct {
	kind      string // of recipient
	machines  int
	payments  []*payment
	throttle  relayer.ThrottleConfig
	hands     int           // deliveries worked at once by a process
	wait      bool          // without funds intents wait
	funds     int64         // what the account is credited
	enforced  bool          // there is a credit at all
	window    int           // numbers that may be open
	faulty    float64       // how likely a gate goes wrong while faults are left
	faults    int           // how many things may go wrong
	slow      float64       // how likely a gate is kept shut for a while
	ranked    bool          // gates are opened by rank
	hasty     float64       // how likely time passes while somebody stands at a gate
	nsqSkew   time.Duration // nsqd's clock less ours
	sleeps    bool          // a process that stands still does so because its machine sleeps
	forgetful bool          // nsqd loses what is in memory
}

// payment is one intent as its producer has it.
type payment struct {
	in     intents.Intent
	at     time.Duration // when it is produced, from the start
	how    way
	copies []time.Duration // when it is published again
}

// way is how a payment comes in.
type way int

const (
	full      way = iota // as a message that carries it
	submitted            // stored first, then published by reference
	silent               // stored, and its message is lost
	waiting              // stored as created; a person lets it go, or not
)

const unlimited = int64(1) << 50

// newScene draws a scene.
func newScene(r *rand.Rand) *scene {
	kinds := recipients()
	sc := &scene{
		kind: kinds[r.IntN(len(kinds))], machines: 2 + r.IntN(2), hands: 2 + r.IntN(4), wait: r.IntN(2) == 0, funds: unlimited,
		window: 2 + r.IntN(4), faults: r.IntN(90), faulty: []float64{0.02, 0.08, 0.2}[r.IntN(3)],
		ranked: r.IntN(2) == 0, slow: []float64{0, 0.05, 0.2}[r.IntN(3)], hasty: []float64{0.02, 0.1}[r.IntN(2)], forgetful: r.IntN(2) == 0, sleeps: r.IntN(2) == 0,
		nsqSkew: time.Duration(r.IntN(20_000)-10_000) * time.Millisecond,
	}
	if r.IntN(8) == 0 {
		sc.faults = 0
	}
	sc.throttle = relayer.ThrottleConfig{PerSecond: relayer.Unlimited, InFlight: 1 + r.IntN(6), Jitter: asIs}
	if r.IntN(3) == 0 {
		sc.throttle.PerSecond, sc.throttle.Burst, sc.throttle.ReadShare = 1.37, 2, 0.5
	}
	n := 3 + r.IntN(4)
	if r.IntN(3) == 0 {
		sc.funds, sc.enforced = int64(n*40), true
	}
	for i := range n {
		sc.payments = append(sc.payments, newPayment(r, i))
	}
	return sc
}

func asIs(d time.Duration) time.Duration { return d }

// newPayment draws one payment.
func newPayment(r *rand.Rand, i int) *payment {
	p := &payment{at: draw(r, 40*time.Second), how: way(r.IntN(4))}
	p.in = intents.Intent{ID: fmt.Sprintf("pi_%d", i), Route: route, Account: "acct", Destination: fmt.Sprintf("there%d", i), Asset: "EUR",
		Amount: intents.NewAmount(int64(20 + r.IntN(60)))}
	if r.IntN(3) == 0 {
		p.in.Lane = "lane"
	}
	if r.IntN(12) == 0 {
		p.in.Destination = nowhere
	}
	starts := p.at
	if r.IntN(6) == 0 {
		starts += draw(r, time.Minute)
		p.in.NotBefore = stamp(starts)
	}
	if r.IntN(5) == 0 {
		p.in.ExpiresAt = stamp(starts + time.Millisecond + draw(r, 3*time.Minute))
	}
	for range r.IntN(4) {
		p.copies = append(p.copies, draw(r, []time.Duration{100 * time.Millisecond, 5 * time.Minute}[r.IntN(2)]))
	}
	return p
}

func draw(r *rand.Rand, below time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(below)))
}

// stamp is a moment as bodies and databases keep it.
func stamp(d time.Duration) time.Time { return epoch.Add(d).Truncate(time.Microsecond) }

const (
	route = "payouts"
	topic = "intents.payouts"
)

// epoch is when a bubble's clock starts.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// engine is how every process is set. The odd nanoseconds keep timers from ending in the same moment: which of two
// channels Go picks then is not the seed's choice.
func engine(sc *scene) relayer.Config {
	return relayer.Config{
		Route: route, Topic: topic, Concurrency: sc.hands, AcceptFull: true, WaitForFunds: sc.wait, Jitter: asIs,
		PlanTimeout: 2*time.Second + 11, PrepareTimeout: 2*time.Second + 101, SubmitTimeout: 2*time.Second + 1009,
		StoreTimeout: 1500*time.Millisecond + 10007, DrainTimeout: 5*time.Second + 100003, WriteGrace: time.Second + 1000003,
		ReviewAfter: 90*time.Second + 17, ConfirmAfter: 4*time.Minute + 19,
		SweepEvery: 9*time.Second + 1299709, ObserveEvery: 7*time.Second + 15485863,
	}
}
