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

// progress shows how far something long is: a bar on a terminal, elsewhere a line every 10 seconds.
type progress struct {
	bar  *progressbar.ProgressBar // nil: lines
	did  string                   // to how many
	done atomic.Int64
	stop chan struct{}
	wg   sync.WaitGroup
}

// newProgress starts. A total below 0 is not known.
func newProgress(w io.Writer, did string, total int) *progress {
	p := &progress{did: did, stop: make(chan struct{})}
	switch {
	case total == 1:
	case isTerminal(w):
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(did),
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
			fmt.Fprintf(w, "%s %d%s so far\n", p.did, p.done.Load(), of)
		}
	}
}

// add counts so many more. It may be called by many at once.
func (p *progress) add(n int) {
	p.done.Add(int64(n))
	if p.bar != nil {
		_ = p.bar.Add(n) // only a terminal that went away
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
