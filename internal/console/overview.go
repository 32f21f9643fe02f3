package console

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Pulse counts intents, cheaply: nothing is read that grows with what is over.
type Pulse interface {
	// Standing tells how many intents stand where.
	Standing(ctx context.Context) (Standing, error)
	// Flow counts what was created and what settled under the keys above from, up to to.
	Flow(ctx context.Context, from, to int64) (intents.Flow, error)
}

// Standing is how many intents stand where.
type Standing struct {
	Counts  []Count
	All     int64            // all there are, by estimate; 0: Counts tells of them all
	Waiting []intents.Intent // of those that are open, some that were created first, oldest first
}

// Count is how many intents are in a state.
type Count struct {
	State intents.State
	N     int64
	More  bool // at least so many
}

// overviewView is the first page.
type overviewView struct {
	Standing Standing
	Review   int64 // how many wait for a person
	More     bool
	Oldest   *intents.Intent // longest in review
	Chart    chartView
}

func (c *Console) overview(w http.ResponseWriter, r *http.Request, who Person) {
	v, err := c.look(r.Context())
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	c.seen(w, r, who, "overview", page{Title: "Overview", Body: v})
}

// live is the part of the overview that is kept fresh.
func (c *Console) live(w http.ResponseWriter, r *http.Request, who Person) {
	v, err := c.look(r.Context())
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	c.part(w, "overview", "live", v)
}

func (c *Console) look(ctx context.Context) (overviewView, error) {
	s, err := c.standing.read(ctx, c.cfg)
	if err != nil {
		return overviewView{}, err
	}
	v := overviewView{Standing: s, Chart: c.chart.view()}
	for _, n := range s.Counts {
		if n.State == intents.NeedsReview {
			v.Review, v.More = n.N, n.More
		}
	}
	if v.Review == 0 {
		return v, nil
	}
	oldest, err := c.cfg.Reviews.Reviews(ctx, "", 1)
	if err == nil && len(oldest) > 0 {
		v.Oldest = &oldest[0]
	}
	return v, err
}

// waiting is how many wait for a person, for the menu.
func (c *Console) waiting(ctx context.Context) string {
	s, err := c.standing.read(ctx, c.cfg)
	if err != nil {
		return ""
	}
	for _, n := range s.Counts {
		if n.State == intents.NeedsReview && n.N > 0 {
			return number(n.N)
		}
	}
	return ""
}

// fresh is how long what was counted is shown before it is counted again: many may look at once.
const fresh = time.Second

// standing keeps the last count.
type standing struct {
	mu   sync.Mutex
	last Standing
	at   time.Time
}

// read counts, or shows what was counted just now. Who comes while it is counted waits for that.
func (s *standing) read(ctx context.Context, cfg Config) (Standing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := cfg.Now(); now.Sub(s.at) < fresh && !s.at.IsZero() {
		return s.last, nil
	}
	got, err := cfg.Pulse.Standing(ctx)
	if err == nil {
		s.last, s.at = got, cfg.Now()
	}
	return got, err
}
