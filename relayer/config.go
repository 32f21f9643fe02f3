package relayer

import (
	"cmp"
	crand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Config is a route as its worker, sweeper and observer see it. Zero durations take the defaults; Route, Topic and
// Concurrency have none.
type Config struct {
	Route       string
	Topic       string   // where its messages are
	Owner       string   // this process, in timelines and leases
	Concurrency int      // deliveries worked at once
	AcceptFull  bool     // full intents in messages create intents; else only references are taken
	Assets      []string // what full intents may move; empty: anything the sender knows
	Weight      int      // permits of a send whose plan names none. Default 1
	Metered     bool     // the sender has its reads charged to Throttle.Spend itself; else a look takes one permit

	PlanTimeout    time.Duration // of one Plan. Default 10s
	PrepareTimeout time.Duration // of one Prepare. Default 10s
	SubmitTimeout  time.Duration // of one Submit. Default 10s
	StoreTimeout   time.Duration // of one call that the store does not bound itself: see Store. Default 5s
	DrainTimeout   time.Duration // how long begun sends may go on after a stop; checked here, kept by the consumer. Default 45s
	WriteGrace     time.Duration // how long after that results may still be written. Default 5s

	ReviewAfter  time.Duration // since the first claim, for bytes that must not be sent again. Default 5m
	ConfirmAfter time.Duration // confirming longer than that goes to a person; watching goes on. Default 1h
	WaitForFunds bool          // without funds an intent waits instead of failing

	SweepEvery   time.Duration // Default 250ms: scheduled intents run to the second
	ObserveEvery time.Duration // Default 1s
	ObserveMost  int           // slots in one look. Default 500

	Now    func() time.Time                  // the process's clock, wall and monotonic, for claims and ages. Default: time.Now
	Jitter func(time.Duration) time.Duration // spreads waits, and shortens none. Default: up to a quarter more
	Logger *slog.Logger                      // Default: none
	Meter  Meter                             // Default: nobody counts
}

// Defaults of Config.
const (
	DefaultStepTimeout  = 10 * time.Second
	DefaultStoreTimeout = 5 * time.Second
	DefaultDrainTimeout = 45 * time.Second
	DefaultWriteGrace   = 5 * time.Second
	DefaultReviewAfter  = 5 * time.Minute
	DefaultConfirmAfter = time.Hour
	DefaultSweepEvery   = 250 * time.Millisecond
	DefaultObserveEvery = time.Second
	DefaultObserveMost  = 500
)

// termSlack is what a claim's term has above its timeouts: the writes between them.
const termSlack = 15 * time.Second

// WithDefaults fills what is zero.
func (c Config) WithDefaults() Config {
	c.PlanTimeout = cmp.Or(c.PlanTimeout, DefaultStepTimeout)
	c.PrepareTimeout = cmp.Or(c.PrepareTimeout, DefaultStepTimeout)
	c.SubmitTimeout = cmp.Or(c.SubmitTimeout, DefaultStepTimeout)
	c.StoreTimeout = cmp.Or(c.StoreTimeout, DefaultStoreTimeout)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, DefaultDrainTimeout)
	c.WriteGrace = cmp.Or(c.WriteGrace, DefaultWriteGrace)
	c.ReviewAfter = cmp.Or(c.ReviewAfter, DefaultReviewAfter)
	c.ConfirmAfter = cmp.Or(c.ConfirmAfter, DefaultConfirmAfter)
	c.SweepEvery = cmp.Or(c.SweepEvery, DefaultSweepEvery)
	c.ObserveEvery = cmp.Or(c.ObserveEvery, DefaultObserveEvery)
	c.ObserveMost = cmp.Or(c.ObserveMost, DefaultObserveMost)
	c.Weight = cmp.Or(c.Weight, 1)
	c.Owner = cmp.Or(c.Owner, "relayer")
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Jitter == nil {
		c.Jitter = upToAQuarterMore
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Meter == nil {
		c.Meter = deaf{}
	}
	return c
}

// Term is how long a claim runs: derived, not set, so that no step can outlast it.
func (c Config) Term() time.Duration { return c.PrepareTimeout + c.SubmitTimeout + termSlack }

// Validate says everything that makes no sense, each as an *intents.InvalidError that names the setting, joined.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs []error
	bad := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, &intents.InvalidError{Field: field, Value: fmt.Sprint(value), Want: want})
		}
	}
	bad(c.Route != "", "route", c.Route, "a name")
	bad(c.Topic != "", "topic", c.Topic, "the topic of the route's messages")
	bad(c.Concurrency > 0, "concurrency", c.Concurrency, "at least 1")
	bad(c.Weight > 0, "weight", c.Weight, "at least 1")
	bad(c.ObserveMost > 0, "observe-most", c.ObserveMost, "at least 1")
	for field, d := range map[string]time.Duration{
		"plan-timeout": c.PlanTimeout, "prepare-timeout": c.PrepareTimeout, "submit-timeout": c.SubmitTimeout,
		"store-timeout": c.StoreTimeout, "drain-timeout": c.DrainTimeout, "review-after": c.ReviewAfter,
		"confirm-after": c.ConfirmAfter, "sweep-every": c.SweepEvery, "observe-every": c.ObserveEvery,
		"write-grace": c.WriteGrace,
	} {
		bad(d > 0, field, d, "a time above zero")
	}
	bad(c.DrainTimeout > c.SubmitTimeout+c.StoreTimeout, "drain-timeout", c.DrainTimeout,
		fmt.Sprintf("more than submit-timeout and store-timeout together (%s)", c.SubmitTimeout+c.StoreTimeout))
	bad(c.ReviewAfter > c.Term(), "review-after", c.ReviewAfter, fmt.Sprintf("more than a claim's term (%s)", c.Term()))
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

func upToAQuarterMore(d time.Duration) time.Duration { return d + rand.N(d/4+1) }

// newClaimID names a claim. No two are ever the same.
func newClaimID() string { return crand.Text() }
