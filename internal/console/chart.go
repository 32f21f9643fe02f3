package console

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	sampleEvery = 2 * time.Second
	samples     = 450 // 15 minutes
)

// chart is what came and what settled lately, over all processes.
type chart struct {
	mu    sync.Mutex
	rates []rate // oldest first

	from, head int64 // keys of the window that is counted next: it ended one sample ago, so that what was late is in it
	last       time.Time
	looks      int
}

// rate is per second.
type rate struct{ created, settled float64 }

func newChart() *chart { return &chart{} }

// Run samples until ctx ends. Without it the chart stays empty.
func (c *Console) Run(ctx context.Context) {
	t := time.NewTicker(sampleEvery)
	defer t.Stop()
	for {
		c.sample(ctx)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// sample takes one look. What cannot be read leaves a gap.
func (c *Console) sample(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sampleEvery)
	defer cancel()
	from, to := c.chart.window()
	f, err := c.cfg.Pulse.Flow(ctx, from, to)
	if err != nil {
		return
	}
	c.chart.add(f, c.cfg.Now())
}

func (c *chart) window() (from, to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from, c.head
}

func (c *chart) add(f intents.Flow, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looks++; c.looks == 1 {
		c.head = f.Head // nothing before it is counted
	}
	if c.looks > 2 && now.After(c.last) { // the first two looks only find where to begin
		s := now.Sub(c.last).Seconds()
		c.rates = append(c.rates, rate{float64(f.Created) / s, float64(f.Settled) / s})
		c.rates = c.rates[max(0, len(c.rates)-samples):]
	}
	c.from, c.head, c.last = c.head, f.Head, now
}

// The size of the drawing, in its own units.
const chartWidth, chartHeight = 900, 140

// chartView is the drawing: two lines, and the same in words.
type chartView struct {
	Width, Height    int
	Created, Settled string // points
	Top              string // what the height stands for, per second
	Now              string // the last sample in words
	Any              bool
	Minutes          int
}

func (c *chart) view() chartView {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := chartView{Width: chartWidth, Height: chartHeight, Any: len(c.rates) > 1, Minutes: samples * int(sampleEvery) / int(time.Minute)}
	if len(c.rates) == 0 {
		return v
	}
	top := 1.0
	for _, r := range c.rates {
		top = max(top, r.created, r.settled)
	}
	v.Created = points(c.rates, top, func(r rate) float64 { return r.created })
	v.Settled = points(c.rates, top, func(r rate) float64 { return r.settled })
	last := c.rates[len(c.rates)-1]
	v.Top, v.Now = fmt.Sprintf("%.0f/s", top), fmt.Sprintf("%.1f created and %.1f settled a second", last.created, last.settled)
	return v
}

// points draws a line that ends at the right edge.
func points(all []rate, top float64, of func(rate) float64) string {
	var b strings.Builder
	for i, r := range all {
		x := float64(chartWidth) * float64(samples-len(all)+i) / (samples - 1)
		fmt.Fprintf(&b, "%.1f,%.1f ", x, float64(chartHeight-2)*(1-of(r)/top)+1)
	}
	return strings.TrimSpace(b.String())
}
