// Package systemd tells the service manager how a process stands, as sd_notify(3) does it. Where nobody listens it does
// nothing.
package systemd

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// Notifier sends to the socket that the manager gave. The zero one sends nothing.
type Notifier struct{ socket string }

// New reads $NOTIFY_SOCKET: a path, or an abstract name behind @.
func New() Notifier { return Notifier{os.Getenv("NOTIFY_SOCKET")} }

// Ready tells that the service works.
func (n Notifier) Ready(status string) error { return n.send("READY=1", "STATUS="+status) }

// Stopping tells that the service ends, and may take so long for it from now on.
func (n Notifier) Stopping(status string, within time.Duration) error {
	return n.send("STOPPING=1", "STATUS="+status, fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", within.Microseconds()))
}

// Status tells in words what the service does.
func (n Notifier) Status(status string) error { return n.send("STATUS=" + status) }

func (n Notifier) send(lines ...string) error {
	if n.socket == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	for i := range lines { // a line is a field: what is shown must not make one
		lines[i] = strings.ReplaceAll(lines[i], "\n", "; ")
	}
	_, err = conn.Write([]byte(strings.Join(lines, "\n")))
	return err
}
