package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nsqrelayer/relayer/internal/devstack"
)

// motherMode makes the test binary a process with a child, whose id it prints.
const motherMode = "mother"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 5 && os.Args[1] == nsqdMode:
		main()
	case len(os.Args) == 3 && os.Args[1] == motherMode:
		mother(os.Args[2])
	}
	os.Exit(m.Run())
}

func mother(log string) {
	c, err := program{[]string{"sleep", "1000"}, log}.start()
	if err != nil {
		os.Exit(told(err, exitWrong))
	}
	fmt.Println(c.cmd.Process.Pid)
	_, _ = io.Copy(io.Discard, os.Stdin) // until we are killed, or the test has ended
	c.kill()
	os.Exit(0)
}

// A child does not outlive this program, whatever ended it.
func TestChildDiesWithUs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the parent death signal is Linux's")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, motherMode, filepath.Join(t.TempDir(), "log"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(line, &pid); err != nil || !running(pid) {
		t.Fatalf("no child: %q, %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	until(t, "the child is gone", func() bool { return !running(pid) })
}

// running says whether a process runs; one that is dead and not waited for does not.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// Killed, nsqd forgets what was in its memory; ended in order it keeps it. Both times it is back on its addresses.
func TestQueueIsKilledAndRestarted(t *testing.T) {
	t.Parallel()
	var ports devstack.Ports
	var addrs [2]string
	for i := range addrs {
		var err error
		if addrs[i], err = ports.Pick("port", "127.0.0.1:4350", false); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	q, err := newQueue(addrs[0], addrs[1], filepath.Join(dir, "data"), filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if err := q.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.close() })
	ask(t, q, "/topic/create?topic=t", "")
	ask(t, q, "/channel/create?topic=t&channel=c", "")
	over, cancel := context.WithCancel(t.Context())
	cancel() // faults that last no time
	for _, c := range []struct {
		kind kind
		want string
	}{{restart, `"depth":1`}, {kill, `"depth":0`}} {
		ask(t, q, "/pub?topic=t", "hello")
		until(t, "the channel has it", func() bool {
			return strings.Contains(ask(t, q, "/stats?format=json&topic=t&channel=c", ""), `"depth":1`)
		})
		if err := q.hurt(over, c.kind); err != nil {
			t.Fatal(err)
		}
		if got := depthOf(ask(t, q, "/stats?format=json&topic=t", "")); got != c.want {
			t.Errorf("%s: %s, want %s", c.kind, got, c.want)
		}
		ask(t, q, "/channel/empty?topic=t&channel=c", "")
	}
}

// depthOf is what nsqd's stats say of the channel's depth.
func depthOf(stats string) string {
	_, rest, _ := strings.Cut(stats, `"channel_name":"c",`)
	depth, _, _ := strings.Cut(rest, ",")
	return depth
}

// ask calls nsqd; a body makes it a POST.
func ask(t *testing.T, q *queue, path, body string) string {
	t.Helper()
	resp, err := http.Post("http://"+q.http+path, "text/plain", strings.NewReader(body))
	if strings.HasPrefix(path, "/stats") {
		resp, err = http.Get("http://" + q.http + path)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s, %v", path, resp.Status, answer, err)
	}
	return string(answer)
}

// complaints has a shell script end as a relayer would, and gives what was complained of.
func complaints(t *testing.T, script string, do func(w *worker, c *child)) (all []string) {
	t.Helper()
	w := newWorker("relayer-1", program{[]string{"/bin/sh", "-c", script}, filepath.Join(t.TempDir(), "log")}, func(what string) { all = append(all, what) })
	c, err := w.program.start()
	if err != nil {
		t.Fatal(err)
	}
	do(w, c)
	return all
}

// Which ends of a relayer are right depends on when they come.
func TestWorkerJudgesItsEnds(t *testing.T) {
	t.Parallel()
	byItself := func(w *worker, c *child) { <-c.done; w.endedByItself(c) }
	deploy := func(w *worker, c *child) { ready(t, w); w.drain(c, false) }
	end := func(w *worker, c *child) { ready(t, w); w.drain(c, true) }
	const traps = `trap 'exit %d' TERM; echo ready; while :; do sleep 0.01; done`
	for name, c := range map[string]struct {
		script string
		do     func(*worker, *child)
		wrong  bool
	}{
		"down at its start": {"exit 5", byItself, false},
		"ended":             {"exit 0", byItself, true},
		"panicked":          {"exit 2", byItself, true},
		"drained":           {fmt.Sprintf(traps, 0), deploy, false},
		"sends cut":         {fmt.Sprintf(traps, 1), deploy, false},
		"panicked draining": {fmt.Sprintf(traps, 2), deploy, true},
		"in the end":        {fmt.Sprintf(traps, 0), end, false},
		"cut in the end":    {fmt.Sprintf(traps, 1), end, true},
	} {
		if got := complaints(t, c.script, c.do); (len(got) > 0) != c.wrong {
			t.Errorf("%s: complaints %q, want some: %v", name, got, c.wrong)
		}
	}
}

// ready waits until the script says that it is.
func ready(t *testing.T, w *worker) {
	t.Helper()
	until(t, "the script is up", func() bool {
		raw, _ := os.ReadFile(w.program.log)
		return strings.Contains(string(raw), "ready")
	})
}

// A process that is killed is back; frozen, it is the same one that goes on.
func TestWorkerIsBack(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	w := newWorker("relayer-1", program{[]string{"/bin/sh", "-c", `trap 'exit 0' TERM; echo up $$; while :; do sleep 0.01; done`}, log}, func(what string) { t.Error(what) })
	over, cancel := context.WithCancel(t.Context())
	cancel() // faults that last no time
	up, leave := context.WithCancel(t.Context())
	defer leave()
	done := make(chan error, 1)
	go func() { done <- w.run(up) }()
	ups := func() int { raw, _ := os.ReadFile(log); return strings.Count(string(raw), "up ") }
	until(t, "it is up", func() bool { return ups() == 1 })
	for _, k := range []kind{kill, freeze, restart} {
		if err := w.hurt(over, k); err != nil {
			t.Error(err)
		}
		if k == kill {
			until(t, "it is back", func() bool { return ups() == 2 })
		}
	}
	until(t, "it is deployed", func() bool { return ups() == 3 })
	leave()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := w.hurt(over, kill); err != nil { // nobody is there any more: it must not hang
		t.Error(err)
	}
	if want := map[string]int{"killed": 1, "drained": 2}; fmt.Sprint(w.ends) != fmt.Sprint(want) {
		t.Errorf("ends %v, want %v", w.ends, want)
	}
}
