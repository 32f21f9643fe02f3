//go:build !lean

package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// benchReport is what a relayer tells the bench, as often as there is news.
type benchReport struct {
	Ready     bool          // it has opened everything, and waits
	Connected bool          // it consumes
	First     int64         // when its first delivery came, in Unix nanoseconds
	Done      []benchDone   // intents that came to their end
	Due       int           // how many scheduled ones did besides
	DueEnd    int64         // when the last of those did, in Unix nanoseconds
	CPU       time.Duration // spent since it was let go; in its last report
	RSS       int64         // most memory it ever had, in bytes; in its last report
}

// benchDone is one intent at its end.
type benchDone struct {
	N           int
	Settled     bool
	Submit, End int64 // Unix nanoseconds
}

// benchHand is one relayer at work, a process of its own: what it takes is not mixed with what nsqd and the bench take.
type benchHand struct {
	cmd       *exec.Cmd
	in        io.WriteCloser // a byte lets it go; when it is closed, or the bench is gone, it drains
	reports   *gob.Decoder
	ready     chan struct{}
	connected chan struct{}
	ended     chan struct{} // closed when it is gone; then last and err are set
	last      benchReport
	err       error
}

// hire starts the relayers and waits until they are ready. fail is told of one that ends by itself.
func (b *bench) hire(ctx context.Context, fail func(error)) error {
	for n := range b.cmd.Processes {
		h, err := b.startHand(n)
		if err != nil {
			return err
		}
		b.crew = append(b.crew, h)
		go func() {
			defer close(h.ended)
			if h.err = h.listen(b.tally); h.err != nil {
				fail(h.err)
			}
		}()
	}
	for _, h := range b.crew {
		if err := await(ctx, h.ready); err != nil {
			return err
		}
	}
	return nil
}

func await(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *bench) startHand(n int) (*benchHand, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	h := &benchHand{ready: make(chan struct{}), connected: make(chan struct{}), ended: make(chan struct{})}
	args := []string{os.Args[0], "bench-worker", "--config", b.configPath(), "--tag", b.tag, "--sender", b.cmd.Sender,
		"--mode", b.cmd.Mode, "--log-level", cmp.Or(b.given.LogLevel, benchLevel.String())}
	args = append(args, profileFlag("--cpuprofile", b.cmd.CPUProfile, n)...)
	args = append(args, profileFlag("--memprofile", b.cmd.MemProfile, n)...)
	h.cmd = &exec.Cmd{Path: self, Args: args, Env: benchEnv(), Stderr: b.app.stderr, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}} // Ctrl-C is for us
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	h.reports = gob.NewDecoder(bufio.NewReader(out))
	return h, nil
}

// profileFlag gives each process a file of its own.
func profileFlag(flag, file string, n int) []string {
	if file == "" {
		return nil
	}
	if n > 0 {
		file += "." + strconv.Itoa(n+1)
	}
	return []string{flag, file}
}

// listen takes reports until the relayer is gone. An error says that it failed.
func (h *benchHand) listen(t *benchTally) error {
	for {
		var r benchReport
		if err := h.reports.Decode(&r); err != nil {
			break // it is gone, and why is told by its exit code
		}
		if r.Ready {
			close(h.ready)
		}
		if r.Connected {
			close(h.connected)
		}
		if r.RSS > 0 {
			h.last = r
		}
		t.take(r)
	}
	if err := h.cmd.Wait(); err != nil {
		return fmt.Errorf("a relayer of the bench ended: %w", err)
	}
	return nil
}

// release lets the relayers go, and returns when they consume.
func (b *bench) release(ctx context.Context) error {
	for _, h := range b.crew {
		if _, err := h.in.Write([]byte{'g'}); err != nil {
			return err
		}
	}
	for _, h := range b.crew {
		if err := await(ctx, h.connected); err != nil {
			return err
		}
	}
	return nil
}

// dismiss has the relayers drain and waits for their end. It may be called again.
func (b *bench) dismiss() error {
	for _, h := range b.crew {
		_ = h.in.Close() // one that is gone needs no word
	}
	var err error
	for _, h := range b.crew {
		<-h.ended
		err = cmp.Or(err, h.err)
	}
	return err
}
