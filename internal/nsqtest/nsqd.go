// Package nsqtest runs real NSQ parts inside a test: nsqd, nsqlookupd, and a TCP proxy that can break connections.
package nsqtest

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqio/nsq/nsqd"
)

// exitTimeout bounds nsqd's Exit, which waits for every TCP client that connected and never said a word.
const exitTimeout = 30 * time.Second

// nodeID keeps message ids of several nsqds in one process apart; the default is a hash of the hostname.
var nodeID atomic.Int64

// Option changes nsqd's options before it starts.
type Option func(*nsqd.Options)

// NSQD is one nsqd in this process, listening on 127.0.0.1.
type NSQD struct {
	tb   testing.TB
	opts nsqd.Options
	tcp  string
	http string
	d    *nsqd.NSQD
	done chan error
}

// Start runs an nsqd on free ports with a data path of its own. It scans for timeouts every 10 ms, also in channels just
// made (nsqd's own defaults are 100 ms and 5 s). It exits with the test; stop consumers before (see Stop).
func Start(tb testing.TB, opts ...Option) *NSQD {
	tb.Helper()
	n := &NSQD{tb: tb, opts: *newOptions(tb, opts)}
	n.start()
	n.tcp, n.http = n.d.RealTCPAddr().String(), n.d.RealHTTPAddr().String()
	tb.Cleanup(n.Stop)
	return n
}

func newOptions(tb testing.TB, opts []Option) *nsqd.Options {
	tb.Helper()
	o := nsqd.NewOptions()
	o.ID = nodeID.Add(1) % 1024
	o.TCPAddress, o.HTTPAddress, o.HTTPSAddress = "127.0.0.1:0", "127.0.0.1:0", ""
	o.BroadcastAddress = "127.0.0.1"
	o.DataPath = tb.TempDir()
	o.QueueScanInterval, o.QueueScanRefreshInterval = 10*time.Millisecond, 50*time.Millisecond
	for _, opt := range opts {
		opt(o)
	}
	return o
}

func (n *NSQD) start() {
	n.tb.Helper()
	o := n.opts
	up := newListeners()
	o.Logger, o.LogLevel = up, nsqd.LOG_INFO
	d, err := nsqd.New(&o)
	if err != nil {
		n.tb.Fatalf("nsqd: %v", err)
	}
	if err := d.LoadMetadata(); err != nil {
		n.tb.Fatalf("nsqd metadata: %v", err)
	}
	n.d, n.done = d, make(chan error, 1)
	go func() { n.done <- d.Main() }()
	up.wait(n.tb)
}

// TCP is the address for consumers and producers.
func (n *NSQD) TCP() string { return n.tcp }

// HTTP is the address of nsqd's API.
func (n *NSQD) HTTP() string { return n.http }

// Stop ends nsqd as SIGTERM does: what it holds goes to its data path. Calling it twice is fine. Consumers must be gone:
// nsqd 1.3.0 reads its in-flight map without its lock on exit, and the race detector says so.
func (n *NSQD) Stop() {
	if n.d == nil {
		return
	}
	d := n.d
	n.d = nil
	d.GetStats("", "", true) // takes every channel's lock once: orders what consumers did before what Exit reads
	exited := make(chan struct{})
	go func() { d.Exit(); close(exited) }()
	select {
	case <-exited:
		<-n.done
	case <-time.After(exitTimeout):
		n.tb.Errorf("nsqd %s did not exit within %v", n.tcp, exitTimeout)
	}
}

// Restart starts a stopped nsqd again on the same addresses and data path.
func (n *NSQD) Restart() {
	n.tb.Helper()
	if n.d != nil {
		n.tb.Fatal("Restart of a running nsqd")
	}
	n.opts.TCPAddress, n.opts.HTTPAddress = n.tcp, n.http
	Until(n.tb, "nsqd's ports to be free again", func() bool { return free(n.tcp) && free(n.http) })
	n.start()
}

func free(addr string) bool {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// listeners is a daemon's logger: it says nothing, and hears when TCP and HTTP are listened on. A daemon's Exit must not
// come while its Main still starts: they race for one wait group.
type listeners struct {
	missing atomic.Int32
	up      chan struct{}
}

func newListeners() *listeners {
	l := &listeners{up: make(chan struct{})}
	l.missing.Store(2)
	return l
}

// Output is what NSQ's daemons call.
func (l *listeners) Output(_ int, line string) error {
	if strings.Contains(line, "listening on") && l.missing.Add(-1) == 0 {
		close(l.up)
	}
	return nil
}

func (l *listeners) wait(tb testing.TB) {
	tb.Helper()
	select {
	case <-l.up:
	case <-time.After(exitTimeout):
		tb.Fatal("an NSQ daemon does not listen")
	}
}
