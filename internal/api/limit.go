package api

import (
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limits bounds how often each token asks.
type limits struct {
	rate  rate.Limit
	burst int
	now   func() time.Time

	mu sync.Mutex
	of map[string]*rate.Limiter // by token; there are as many as tokens can be used
}

func newLimits(cfg Config) *limits {
	return &limits{rate: cfg.Rate, burst: cfg.Burst, now: cfg.Now, of: map[string]*rate.Limiter{}}
}

// take counts a request, or says when to come again.
func (l *limits) take(name string) *Problem {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.of[name]
	if of == nil {
		of = rate.NewLimiter(l.rate, l.burst)
		l.of[name] = of
	}
	r := of.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	p := newProblem(codeLimit, "more than "+strconv.FormatFloat(float64(l.rate), 'g', -1, 64)+" a second, or "+strconv.Itoa(l.burst)+" at once")
	p.Hdr.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return p
}
