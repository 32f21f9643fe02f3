package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// overHTTP are the commands of README's part on HTTP, a line or more each.
func overHTTP(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "run as written by TestREADMEOverHTTP -->\n```sh\n")
	part, _, closed := strings.Cut(part, "\n```")
	if !found || !closed {
		t.Fatal("README has no such part")
	}
	return regexp.MustCompile(`(?m)^curl `).Split(part, -1)[1:]
}

// What README says about HTTP is run as it is written, but for the port, against the dev stack.
func TestREADMEOverHTTP(t *testing.T) {
	t.Parallel()
	p := startDev(t, "--intents", "1")
	var found []string
	until(t, "it says where", func() bool {
		found = regexp.MustCompile(`\n  metrics   http://(\S+)/metrics\n`).FindStringSubmatch(p.stdout.String())
		return found != nil
	})
	run := func(command string) string {
		t.Helper()
		command = strings.ReplaceAll("curl --fail-with-body "+command, "127.0.0.1:4480", found[1])
		out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", command, err, out)
		}
		return string(out)
	}
	until(t, "it serves", func() bool {
		return exec.CommandContext(t.Context(), "curl", "-sf", "http://"+found[1]+"/livez").Run() == nil
	})
	for i, want := range []string{`"id":"pi_h1"`, `"to":"created","actor":"anonymous"`, `"has_more":false`, `"paused":true,"by":"anonymous"`, `"paused":false`, `"total_approximate":`} {
		commands := overHTTP(t)
		if len(commands) != 6 {
			t.Fatalf("README has %d commands", len(commands))
		}
		if got := run(commands[i]); !strings.Contains(got, want) {
			t.Errorf("curl %s: %s, want %s", commands[i], got, want)
		}
	}
	until(t, "it settles", func() bool {
		return strings.Contains(run("-s http://127.0.0.1:4480/v1/intents/pi_h1"), `"state":"settled"`)
	})
	if got := run("-s http://127.0.0.1:4480/v1/instances"); !strings.Contains(got, `"routes":["payouts","webhooks"]`) {
		t.Errorf("instances: %s", got)
	}
	p.signal(syscall.SIGINT)
	p.exits(exitOK)
}

// A process that ends well leaves the list. The next of its name tells in the log of one that did not.
func TestUncleanEndIsTold(t *testing.T) {
	t.Parallel()
	s, err := pgstore.Open(t.Context(), pgstore.Config{DSN: pgtest.New(t, migrated)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	const told = "the last process of this name has not ended well"
	live := func(clean bool) string {
		t.Helper()
		var log bytes.Buffer
		var beats atomic.Int64
		h := heart{store: s, name: "host-1", every: time.Millisecond, log: slog.New(slog.NewTextHandler(&log, nil)),
			pulse: func() intents.Pulse { beats.Add(1); return intents.Pulse{InFlight: 3} }}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		end := h.start(ctx)
		listed := func(n int) func() bool {
			return func() bool {
				all, err := s.Instances(t.Context())
				return err == nil && len(all) == n
			}
		}
		until(t, "it beats", func() bool { return beats.Load() > 1 })
		until(t, "it is listed", listed(1))
		end()
		until(t, "it has left", listed(0))
		if !clean {
			if err := s.Beat(t.Context(), "host-1", intents.Pulse{InFlight: 3}); err != nil { // as if it had been killed
				t.Fatal(err)
			}
		}
		return log.String()
	}
	if log := live(true); strings.Contains(log, told) {
		t.Errorf("the first: %s", log)
	}
	if log := live(false); strings.Contains(log, told) {
		t.Errorf("after one that ended well: %s", log)
	}
	if log := live(true); !strings.Contains(log, told) || !strings.Contains(log, "in_flight=3") {
		t.Errorf("after one that was killed: %s", log)
	}
}
