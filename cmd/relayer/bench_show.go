//go:build !lean

package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// benchView is what a bench measured, as programs read it.
type benchView struct {
	Intents          int       `json:"intents"`
	PerSecond        float64   `json:"per_second"`
	PublishToSubmit  benchTail `json:"publish_to_submit_ms"`
	PublishToSettled benchTail `json:"publish_to_settled_ms"`
	CommitsPerIntent float64   `json:"commits_per_intent"`
	WALPerIntent     float64   `json:"wal_bytes_per_intent"`
	PeakRSS          float64   `json:"peak_rss_mb"` // of the relayers

	Settled      int     `json:"settled"`
	Seconds      float64 `json:"seconds"`
	CPUPerIntent float64 `json:"relayer_cpu_us_per_intent"`
	Sender       string  `json:"sender"`
	Mode         string  `json:"mode"`
	Processes    int     `json:"processes"`
	Concurrency  int     `json:"concurrency"`
	Rate         float64 `json:"rate"` // 0: all were published before the start
	Preload      int     `json:"preload"`
	Scheduled    int     `json:"scheduled"`
	DueSeconds   float64 `json:"scheduled_seconds"` // until the last of those was settled
	Latency      bool    `json:"latency"`
}

// benchTail is how late things were, in milliseconds.
type benchTail struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// tailOf sorts.
func tailOf(lates []time.Duration) benchTail {
	if len(lates) == 0 {
		return benchTail{}
	}
	slices.Sort(lates)
	at := func(part float64) float64 {
		n := int(math.Ceil(part*float64(len(lates)))) - 1
		return round(lates[max(n, 0)].Seconds()*1000, 3)
	}
	return benchTail{at(0.5), at(0.95), at(0.99), at(1)}
}

func round(f float64, digits int) float64 {
	shift := math.Pow10(digits)
	return math.Round(f*shift) / shift
}

// view adds everything up.
func (b *bench) view() benchView {
	t, c := b.tally, b.cmd
	start := b.start
	if start.IsZero() {
		start = time.Unix(0, t.first)
	}
	took, all := time.Unix(0, slices.Max(t.ends)).Sub(start), float64(b.count+c.Scheduled)
	v := benchView{
		Intents: b.count, Settled: t.settled, Seconds: round(took.Seconds(), 3), Sender: c.Sender, Mode: c.Mode,
		Processes: c.Processes, Concurrency: c.Concurrency, Rate: c.Rate, Preload: c.Preload, Latency: c.Latency,
		PerSecond:        round(float64(t.settled)/took.Seconds(), 1),
		CommitsPerIntent: round(float64(b.usage.Commits)/all, 4),
		WALPerIntent:     round(float64(b.usage.WAL)/all, 1),
		PublishToSubmit:  tailOf(b.lates(start, t.submits)), PublishToSettled: tailOf(b.lates(start, t.ends)),
	}
	if v.Scheduled = c.Scheduled; v.Scheduled > 0 {
		v.DueSeconds = round(time.Unix(0, t.dueEnd).Sub(start).Seconds(), 3)
	}
	for _, h := range b.crew {
		v.PeakRSS += float64(h.last.RSS) / (1 << 20)
		v.CPUPerIntent += float64(h.last.CPU.Microseconds()) / all
	}
	v.PeakRSS, v.CPUPerIntent = round(v.PeakRSS, 1), round(v.CPUPerIntent, 1)
	return v
}

// lates says how long after each intent was to be published something happened to it; to what it never happened is left
// out.
func (b *bench) lates(start time.Time, at []int64) []time.Duration {
	var all []time.Duration
	for n, ns := range at {
		if ns != 0 {
			all = append(all, time.Unix(0, ns).Sub(start.Add(b.cmd.due(n))))
		}
	}
	return all
}

// print prints the figures, and fails when anything was not settled.
func (b *bench) print(w io.Writer) error {
	v := b.view()
	if b.cmd.Output == "json" {
		if err := printJSON(w, v); err != nil {
			return err
		}
	} else {
		v.text(w)
	}
	if v.Settled != v.Intents {
		b.app.complain(fmt.Sprintf("%d of %d intents did not settle", v.Intents-v.Settled, v.Intents))
		return quiet(exitBadEnd)
	}
	return nil
}

func (v benchView) text(w io.Writer) {
	load := "all published before the start"
	if v.Rate > 0 {
		load = fmt.Sprintf("published at %v a second", v.Rate)
	}
	fmt.Fprintf(w, "sender %s, mode %s, concurrency %d, processes %d, %s\n\n", v.Sender, v.Mode, v.Concurrency, v.Processes, load)
	t := newTable(w)
	t.row("settled", fmt.Sprintf("%d of %d in %.2fs", v.Settled, v.Intents, v.Seconds))
	if v.Scheduled > 0 {
		t.row("scheduled", fmt.Sprintf("%d settled in %.2fs", v.Scheduled, v.DueSeconds))
	}
	t.row("throughput", fmt.Sprintf("%.0f/s", v.PerSecond))
	t.row("publish to submit", v.PublishToSubmit.String())
	t.row("publish to settled", v.PublishToSettled.String())
	t.row("commits per intent", fmt.Sprintf("%.4f", v.CommitsPerIntent))
	t.row("log per intent", fmt.Sprintf("%.0f bytes", v.WALPerIntent))
	t.row("relayer CPU per intent", fmt.Sprintf("%.0f us", v.CPUPerIntent))
	t.row("relayer peak memory", fmt.Sprintf("%.0f MB", v.PeakRSS))
	_ = t.flush()
}

func (t benchTail) String() string {
	return fmt.Sprintf("p50 %.1f  p95 %.1f  p99 %.1f  max %.1f ms", t.P50, t.P95, t.P99, t.Max)
}
