package systemd_test

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/internal/systemd"
)

// listen is the manager's end.
func listen(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func heard(t *testing.T, c *net.UnixConn) string {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	b := make([]byte, 4096)
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

// What the manager hears is one datagram for each call, of a path or an abstract socket; a line break makes no field.
func TestNotify(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "n"), "@relayer-test-" + filepath.Base(t.TempDir())} {
		c := listen(t, name)
		t.Setenv("NOTIFY_SOCKET", name)
		n := systemd.New()
		for _, step := range []struct {
			do   func() error
			want string
		}{
			{func() error { return n.Ready("2 routes\nREADY=0") }, "READY=1\nSTATUS=2 routes; READY=0"},
			{func() error { return n.Status("busy") }, "STATUS=busy"},
			{func() error { return n.Stopping("draining", 90*time.Second) }, "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=90000000"},
		} {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			if got := heard(t, c); got != step.want {
				t.Errorf("heard %q, want %q", got, step.want)
			}
		}
	}
}

// Without a manager nothing is sent, and a socket that is gone is an error, not a hang.
func TestNobodyListens(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if err := systemd.New().Ready("x"); err != nil {
		t.Error(err)
	}
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "gone"))
	if err := systemd.New().Ready("x"); err == nil {
		t.Error("no error")
	}
}
