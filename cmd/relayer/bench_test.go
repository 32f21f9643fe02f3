//go:build !lean

package main

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// benched runs a bench and reads its figures.
func benched(t *testing.T, args ...string) benchView {
	t.Helper()
	p := startProgram(t, append([]string{"bench", "-o", "json"}, args...)...)
	p.exits(exitOK)
	var v benchView
	d := json.NewDecoder(strings.NewReader(p.stdout.String()))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, p.stdout)
	}
	if left := processesOf(p); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	return v
}

// sane wants figures that can be: all settled, later after sooner, and something spent on it.
func sane(t *testing.T, v benchView, count int) {
	t.Helper()
	sorted := func(b benchTail) bool { return 0 < b.P50 && b.P50 <= b.P95 && b.P95 <= b.P99 && b.P99 <= b.Max }
	switch {
	case v.Intents != count || v.Settled != count:
		t.Errorf("%d of %d settled, want %d", v.Settled, v.Intents, count)
	case v.PerSecond <= 0 || v.Seconds <= 0 || v.PerSecond*v.Seconds < 0.9*float64(count) || v.PerSecond*v.Seconds > 1.1*float64(count):
		t.Errorf("%v a second for %v s", v.PerSecond, v.Seconds)
	case !sorted(v.PublishToSubmit) || !sorted(v.PublishToSettled) || v.PublishToSubmit.P50 >= v.PublishToSettled.P50 || v.PublishToSubmit.Max >= v.PublishToSettled.Max:
		t.Errorf("submitted after %+v, settled after %+v", v.PublishToSubmit, v.PublishToSettled)
	case v.WALPerIntent < 500 || v.WALPerIntent > 1<<20: // 120 bytes, four rows and three of accounts at least
		t.Errorf("%v bytes of log for each", v.WALPerIntent)
	case v.PeakRSS < 5 || v.PeakRSS > 1000 || v.CPUPerIntent <= 0:
		t.Errorf("%v MB, %v us", v.PeakRSS, v.CPUPerIntent)
	}
}

func TestBench(t *testing.T) {
	t.Parallel()
	const count = 400
	batch := benched(t, "--intents", "400", "--preload", "1000")
	sane(t, batch, count)
	if batch.CommitsPerIntent <= 0 || batch.CommitsPerIntent > 1 {
		t.Errorf("%v commits for each intent, want few for many", batch.CommitsPerIntent)
	}
	row := benched(t, "--intents", "400", "--mode", "row", "--processes", "2")
	sane(t, row, count)
	if row.CommitsPerIntent < 2 {
		t.Errorf("row by row: %v commits for each intent, want one for the claim and one for the result", row.CommitsPerIntent)
	}
}

// TestBenchScheduled: what is scheduled is settled besides, by the sweeper alone.
func TestBenchScheduled(t *testing.T) {
	t.Parallel()
	v := benched(t, "--rate", "50", "--intents", "50", "--scheduled", "300")
	sane(t, v, 50)
	if v.Scheduled != 300 || v.DueSeconds <= 0 {
		t.Errorf("%d scheduled ones settled in %v s", v.Scheduled, v.DueSeconds)
	}
}

func TestBenchSenders(t *testing.T) {
	t.Parallel()
	sane(t, benched(t, "--intents", "200", "--sender", "webhook", "--concurrency", "32"), 200)
	sane(t, benched(t, "--intents", "10", "--sender", "evm"), 10)
}

// TestBenchRate: nothing is published before it is due, and latency counts from then.
func TestBenchRate(t *testing.T) {
	t.Parallel()
	v := benched(t, "--rate", "100", "--intents", "60", "--latency")
	sane(t, v, 60)
	if v.Seconds < 0.59 || !v.Latency || v.Rate != 100 {
		t.Errorf("the last of 60 settled after %v s: %+v", v.Seconds, v)
	}
}

// TestBenchKeys: programs rely on these names.
func TestBenchKeys(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(benchView{})
	if err != nil {
		t.Fatal(err)
	}
	const tail = `{"p50":0,"p95":0,"p99":0,"max":0}`
	const want = `{"intents":0,"per_second":0,"publish_to_submit_ms":` + tail + `,"publish_to_settled_ms":` + tail +
		`,"commits_per_intent":0,"wal_bytes_per_intent":0,"peak_rss_mb":0,`
	if !strings.HasPrefix(string(raw), want) {
		t.Errorf("got %s\nwant %s…", raw, want)
	}
}

// TestBenchOnWhatRuns: a topic and a database are made on servers that were given, and nothing of them stays.
func TestBenchOnWhatRuns(t *testing.T) {
	t.Parallel()
	nsqd, dsn := nsqtest.Start(t), pgtest.Server(t).DSN("postgres")
	sane(t, benched(t, "--intents", "50", "--database-url", dsn, "--nsqd-tcp-address", nsqd.TCP(), "--set", "nsq.nsqd-http-address="+nsqd.HTTP()), 50)
	resp, err := http.Get("http://" + nsqd.HTTP() + "/stats?format=json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var stats struct{ Topics []any }
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil || len(stats.Topics) != 0 {
		t.Errorf("topics left behind: %v, %v", stats.Topics, err)
	}
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var names, tables string
	if err := db.QueryRowContext(t.Context(), `select string_agg(datname, ' '), coalesce((select string_agg(tablename, ' ') from pg_tables where schemaname = 'public'), '')
		from pg_database`).Scan(&names, &tables); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(names, "bench") || tables != "" {
		t.Errorf("databases %s, tables %s", names, tables)
	}
}

// TestBenchInterrupted: it ends, with all that it started, however it is asked.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "bench", "--rate", "5", "--intents", "1000", "--log-level", "info")
	until(t, "a relayer works", func() bool { return strings.Contains(p.stderr.String(), `"state":"settled"`) })
	p.signal(syscall.SIGINT)
	p.exits(exitFailed)
	if p.stdout.String() != "" || p.stderr.last() != "relayer: interrupted" {
		t.Errorf("it says %q, last %q", p.stdout, p.stderr.last())
	}
	left, err := filepath.Glob(filepath.Join(tmpOf(p), "*"))
	if err != nil || len(left) > 0 || len(processesOf(p)) > 0 {
		t.Errorf("left behind: %q, %q, %v", left, processesOf(p), err)
	}
}

// TestBenchKilled: a relayer whose bench is gone ends by itself.
func TestBenchKilled(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "bench", "--rate", "5", "--intents", "1000", "--log-level", "info")
	until(t, "a relayer works", func() bool { return strings.Contains(p.stderr.String(), `"state":"settled"`) })
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "everything ends", func() bool { return len(processesOf(p)) == 0 })
}

func TestBenchRefusesNonsense(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--intents", "0"}, {"--intents=-1"}, {"--processes", "0"}, {"--concurrency", "0"}, {"--preload=-1"}, {"--rate=-1"}, {"--rate", "nan"},
		{"--sender", "tron"}, {"--mode", "rows"}, {"--database-url", "mysql://x"}, {"--nsqd-tcp-address", "nowhere"}, {"--concurrency", "100001"},
	} {
		p := startProgram(t, append([]string{"bench"}, args...)...)
		p.exits(exitUsage)
		if flag, _, _ := strings.Cut(args[0], "="); !strings.Contains(p.stderr.String(), strings.TrimPrefix(flag, "--")) {
			t.Errorf("%v: the flag is not named in %s", args, p.stderr)
		}
	}
}

func tmpOf(p *program) string {
	for _, kv := range p.cmd.Env {
		if dir, ok := strings.CutPrefix(kv, "TMPDIR="); ok {
			return dir
		}
	}
	return ""
}

// processesOf lists what runs with the program's temporary directory in its command line, where the kernel tells.
func processesOf(p *program) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(line), tmpOf(p)) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
