package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

const progressEvery = 10 * time.Second

// progress shows how far a submission is: a bar on a terminal, elsewhere a line every 10 seconds.
type progress struct {
	bar  *progressbar.ProgressBar // nil: lines
	done atomic.Int64
	stop chan struct{}
	wg   sync.WaitGroup
}

// newProgress starts. A total below 0 is not known.
func newProgress(w io.Writer, total int) *progress {
	p := &progress{stop: make(chan struct{})}
	switch {
	case total == 1:
	case isTerminal(w):
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("submit"),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionClearOnFinish(),
			progressbar.OptionThrottle(100*time.Millisecond))
	default:
		p.wg.Go(func() { p.lines(w, total) })
	}
	return p
}

func (p *progress) lines(w io.Writer, total int) {
	of := ""
	if total >= 0 {
		of = fmt.Sprintf(" of %d", total)
	}
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			fmt.Fprintf(w, "submitted %d%s so far\n", p.done.Load(), of)
		}
	}
}

func (p *progress) add() {
	p.done.Add(1)
	if p.bar != nil {
		_ = p.bar.Add(1) // only a terminal that went away
	}
}

// finish takes the bar away. Nothing is shown after it.
func (p *progress) finish() {
	close(p.stop)
	p.wg.Wait()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
