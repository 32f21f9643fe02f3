package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Case 85: under a shell that passes no signal on, as the first process of a container is, the graceful end never runs and
// all is killed after a grace time. That is case 83: the next process settles what was under way, once.
func TestShellKeepsTheSignal(t *testing.T) {
	t.Parallel()
	w := newSite(t, silent())
	self, err := os.Executable()
	w.must(err)
	link := filepath.Join(t.TempDir(), "relayer")
	w.must(os.Symlink(self, link))
	args := append([]string{link}, few("10s", "--drain-timeout", "60s", "--config", w.config)...)
	// The shell has a handler, so the signal does not end it; it runs the handler when relayer has ended.
	script := `trap : TERM; "$@"; echo ended`
	p := startCommand(t, nil, exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...))
	ins := ofRoute("webhooks", "shell", 4)
	w.stored(ins)
	until(t, "they are sent, without an answer", func() bool { return len(w.sink.Effects()) == 4 })
	p.signal(syscall.SIGTERM)
	w.must(syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)) // the whole group, as a container's end does
	p.exits(-1)
	if p.said("draining") > 0 {
		t.Error("it drained: the shell passed the signal on")
	}
	w.expire()
	next := w.start(shortTerms()...)
	w.settles(ins)
	next.drains()
	w.once(ins)
}

// Case 85: the image starts relayer itself: signals reach it.
func TestImageHasNoShell(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string][]string{}
	for text := range strings.Lines(string(raw)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		switch word {
		case "SHELL":
			t.Error("it has a SHELL")
		case "ENTRYPOINT", "CMD":
			var args []string
			if err := json.Unmarshal([]byte(rest), &args); err != nil {
				t.Errorf("%s %s is no exec form: a shell would be the first process", word, rest)
			}
			forms[word] = args
		case "STOPSIGNAL":
			forms[word] = []string{rest}
		}
	}
	if e := forms["ENTRYPOINT"]; len(e) != 1 || filepath.Base(e[0]) != "relayer" {
		t.Errorf("ENTRYPOINT %q, want relayer alone", e)
	}
	if c := forms["CMD"]; len(c) == 0 || c[0] != "run" {
		t.Errorf("CMD %q, want run", c)
	}
	if s := forms["STOPSIGNAL"]; len(s) != 1 || s[0] != "SIGTERM" {
		t.Errorf("STOPSIGNAL %q, want SIGTERM", s)
	}
}
