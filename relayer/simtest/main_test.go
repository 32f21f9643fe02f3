package simtest

import (
	"flag"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// flags are how the tests are run by hand; see the Makefile.
type flags struct {
	seeds uint64 // how many
	first uint64 // from which one on
	trace bool   // print every trace
}

var asked = readFlags()

func readFlags() *flags {
	f := &flags{}
	flag.Uint64Var(&f.seeds, "seeds", 0, "play so many seeds (default 2000, 200 under the race detector)")
	flag.Uint64Var(&f.first, "first", 1, "play seeds from this one on")
	flag.BoolVar(&f.trace, "trace", false, "print the trace of every seed")
	return f
}

// total is what was played by order, for the last lines.
var total summary

func TestMain(m *testing.M) {
	code := m.Run()
	if asked.seeds > 0 {
		fmt.Printf("%s\nsimulate: %d seeds, %d violations\n", &total, total.played, total.violated)
	}
	os.Exit(code)
}

// progress shows how far a long run is: a bar on a terminal, elsewhere a line now and then.
type progress struct {
	bar  *progressbar.ProgressBar // nil: lines
	w    io.Writer
	of   uint64
	done atomic.Uint64
	last atomic.Int64 // seconds since 1970 of the last line
}

const progressEvery = 10 // seconds

// newProgress shows nothing of a run that nobody asked for.
func newProgress(of uint64) *progress {
	p := &progress{w: os.Stderr, of: of}
	p.last.Store(time.Now().Unix())
	switch {
	case asked.seeds == 0:
		p.w = io.Discard
	case term.IsTerminal(int(os.Stderr.Fd())):
		p.bar = progressbar.NewOptions64(int64(of), progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription("simulate"),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	}
	return p
}

func (p *progress) add() {
	n, now := p.done.Add(1), time.Now().Unix()
	if p.bar != nil {
		_ = p.bar.Add(1) // only a terminal that went away
		return
	}
	if last := p.last.Load(); now-last >= progressEvery && p.last.CompareAndSwap(last, now) {
		fmt.Fprintf(p.w, "simulated %d of %d seeds so far\n", n, p.of)
	}
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
