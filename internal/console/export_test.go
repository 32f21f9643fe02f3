package console

import "context"

// Sample takes one look, as Run does.
func Sample(ctx context.Context, c *Console) { c.sample(ctx) }

// Drawn is the chart's lines, and what is said of them.
func Drawn(c *Console) (created, settled, said string) {
	v := c.chart.view()
	return v.Created, v.Settled, v.Now
}
