//go:build !lean

package main

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// benchWorker is the process that a bench measures: relayer run, with somebody at its seams who looks at the clock.
type benchWorker struct {
	Tag        string
	Sender     string
	Mode       string
	CPUProfile string `name:"cpuprofile"`
	MemProfile string `name:"memprofile"`
}

// reportEvery is how often a bench is told of what was done.
const reportEvery = 20 * time.Millisecond

// Run opens everything, waits for a byte on stdin, works until stdin ends, and drains.
func (c *benchWorker) Run(a *app) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	r := newBenchRecorder(c.Tag)
	p, err := openProcess(ctx, cfg, a.logger(benchLevel), r.seams(c.Sender, c.Mode))
	if err != nil {
		return err
	}
	defer p.close()
	out := bufio.NewWriter(a.stdout)
	say := benchTeller{gob.NewEncoder(out), out}
	if err := say.tell(benchReport{Ready: true}); err != nil {
		return err
	}
	if _, err := a.stdin.Read(make([]byte, 1)); err != nil {
		return nil // nobody lets us go
	}
	go func() {
		_, _ = io.Copy(io.Discard, a.stdin)
		stop()
	}()
	return c.profiled(func() error { return c.work(ctx, p, r, say) })
}

// benchTeller writes reports.
type benchTeller struct {
	enc *gob.Encoder
	out *bufio.Writer
}

func (t benchTeller) tell(r benchReport) error { return errors.Join(t.enc.Encode(r), t.out.Flush()) }

// work runs the process and tells what it does.
func (c *benchWorker) work(ctx context.Context, p *process, r *benchRecorder, say benchTeller) error {
	began := cpuTime()
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	connected := false
	for {
		var err error
		select {
		case err = <-ended:
			last := r.report()
			last.CPU, last.RSS = cpuTime()-began, peakRSS()
			return errors.Join(err, say.tell(last))
		case <-tick.C:
		}
		report := r.report()
		if up := p.routes[0].consumer.Health() == nil; up && !connected {
			connected, report.Connected = true, true
		}
		if report.Connected || len(report.Done) > 0 || report.Due > 0 {
			if err := say.tell(report); err != nil {
				return err // the bench is gone
			}
		}
	}
}

// profiled writes the profiles that are wanted of what f does.
func (c *benchWorker) profiled(f func() error) error {
	if c.CPUProfile != "" {
		file, err := os.Create(c.CPUProfile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	err := f()
	if c.MemProfile == "" {
		return err
	}
	file, bad := os.Create(c.MemProfile)
	if bad != nil {
		return errors.Join(err, bad)
	}
	defer file.Close()
	return errors.Join(err, pprof.Lookup("allocs").WriteTo(file, 0))
}

// cpuTime is what this process has spent.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakRSS is the most memory this process ever had, in bytes. Where the kernel tells of this program alone, that is
// taken: rusage also counts the one that started it (Linux, fs/exec.c, exec_mmap).
func peakRSS() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")), 10, 64)
				return n << 10
			}
		}
	}
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	if runtime.GOOS == "darwin" {
		return u.Maxrss
	}
	return u.Maxrss << 10
}
