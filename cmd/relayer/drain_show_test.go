package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// manager is a service manager's end of NOTIFY_SOCKET.
type manager struct {
	mu   sync.Mutex
	said []string
}

func newManager(t *testing.T, socket string) *manager {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	m := &manager{}
	var reading sync.WaitGroup
	reading.Go(func() {
		for b := make([]byte, 4096); ; {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			m.mu.Lock()
			m.said = append(m.said, string(b[:n]))
			m.mu.Unlock()
		}
	})
	t.Cleanup(func() { _ = c.Close(); reading.Wait() })
	return m
}

// heard says whether a message of a form came.
func (m *manager) heard(pattern string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.said {
		if regexp.MustCompile(pattern).MatchString(s) {
			return true
		}
	}
	return false
}

// A drain is seen from everywhere: the probe turns, the log counts down, the service manager gives time and shows what is left.
func TestDrainIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "slow=100%:40s")
	dir, err := os.MkdirTemp("", "n") // a socket's path must be short
	w.must(err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "n")
	m := newManager(t, socket)
	p := w.startIn([]string{"NOTIFY_SOCKET=" + socket}, "run", "--http-address", "127.0.0.1:0", "--set", "routes.webhooks.submit-timeout=35s")
	url := "http://" + p.address()
	until(t, "it is ready", func() bool { return m.heard(`^READY=1\nSTATUS=working 2 routes$`) })
	healthy := func(want int) {
		t.Helper()
		if got := startProgram(t, "healthcheck", "--url", url+"/readyz").ends(); got != want {
			t.Errorf("healthcheck exits %d, want %d", got, want)
		}
	}
	until(t, "readyz says so", func() bool { return status(t, url+"/readyz") == http.StatusOK })
	healthy(exitOK)
	w.publish(demoIntents("told", 4)[1:2])
	until(t, "it is under way", func() bool {
		return strings.Contains(get(t, url+"/metrics"), `relayer_throttle_in_flight{route="webhooks"} 1`)
	})
	p.signal(syscall.SIGTERM)
	until(t, "the manager gives time", func() bool {
		return m.heard(`^STOPPING=1\nSTATUS=draining: 1 in flight, oldest \d+s, \d+s left\nEXTEND_TIMEOUT_USEC=55000000$`)
	})
	until(t, "readyz turns", func() bool { return status(t, url+"/readyz") == http.StatusServiceUnavailable })
	healthy(exitFailed)
	contains(t, get(t, url+"/metrics"), `relayer_draining{route="webhooks"} 1`)
	counting := regexp.MustCompile(`"msg":"draining","route":"webhooks","in_flight":1,"oldest":[1-9]\d*,"left":\d+`)
	until(t, "the log counts down", func() bool { return counting.MatchString(p.stderr.String()) })
	until(t, "so does the status", func() bool { return m.heard(`^STATUS=draining: 1 in flight, oldest [1-9]\d*s, \d+s left$`) })
	p.signal(syscall.SIGTERM)
	p.exits(-1)
}

// status asks a page, and gives what it says of itself.
func status(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// Who asks finds the process by its settings; nobody there is not healthy, and nobody to ask is a mistake.
func TestHealthcheckFindsTheProcess(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			w.WriteHeader(http.StatusTeapot)
		}
	})}
	go func() { _ = web.Serve(l) }()
	t.Cleanup(func() { _ = web.Close() })
	for _, c := range []struct {
		env  string
		args []string
		code int
		says string
	}{
		{"RELAYER_HTTP_ADDRESS=:" + port, nil, exitOK, ""},
		{"RELAYER_HTTP_ADDRESS=0.0.0.0:" + port, nil, exitOK, ""},
		{"", []string{"--url", "http://127.0.0.1:" + port + "/other"}, exitFailed, "418"},
		{"RELAYER_HTTP_ADDRESS=127.0.0.1:1", nil, exitFailed, "refused"},
		{"", nil, exitUsage, "http-address is not set"},
		{"", []string{"--url", "readyz"}, exitUsage, "--url"},
	} {
		p := startProgramIn(t, []string{c.env}, append([]string{"healthcheck"}, c.args...)...)
		if code := p.ends(); code != c.code || !strings.Contains(p.stderr.String(), c.says) {
			t.Errorf("%s %v: exit %d, %s; want %d, %s", c.env, c.args, code, p.stderr.String(), c.code, c.says)
		}
	}
}
