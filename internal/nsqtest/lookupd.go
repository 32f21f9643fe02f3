package nsqtest

import (
	"testing"

	"github.com/nsqio/nsq/nsqd"
	"github.com/nsqio/nsq/nsqlookupd"
)

// Lookupd is one nsqlookupd in this process, listening on 127.0.0.1.
type Lookupd struct {
	tb   testing.TB
	tcp  string
	http string
	l    *nsqlookupd.NSQLookupd
	done chan error
}

// StartLookupd runs an nsqlookupd on free ports. It exits with the test. Start it before the nsqds that use it, so that they go first.
func StartLookupd(tb testing.TB) *Lookupd {
	tb.Helper()
	l := &Lookupd{tb: tb, tcp: "127.0.0.1:0", http: "127.0.0.1:0"}
	l.Restart()
	l.tcp, l.http = l.l.RealTCPAddr().String(), l.l.RealHTTPAddr().String()
	tb.Cleanup(l.Stop)
	return l
}

// HTTP is the address consumers ask.
func (l *Lookupd) HTTP() string { return l.http }

// Register is an option for Start: the nsqd announces itself to this nsqlookupd.
func (l *Lookupd) Register() Option {
	return func(o *nsqd.Options) { o.NSQLookupdTCPAddresses = append(o.NSQLookupdTCPAddresses, l.tcp) }
}

// Stop ends it; calling it twice is fine.
func (l *Lookupd) Stop() {
	if l.l == nil {
		return
	}
	l.l.Exit()
	<-l.done
	l.l = nil
}

// Restart starts it again on the same addresses. An nsqd finds it again within its 15 s ping.
func (l *Lookupd) Restart() {
	l.tb.Helper()
	o := nsqlookupd.NewOptions()
	up := newListeners()
	o.Logger, o.LogLevel = up, nsqd.LOG_INFO
	o.TCPAddress, o.HTTPAddress, o.BroadcastAddress = l.tcp, l.http, "127.0.0.1"
	d, err := nsqlookupd.New(o)
	if err != nil {
		l.tb.Fatalf("nsqlookupd: %v", err)
	}
	l.l, l.done = d, make(chan error, 1)
	go func() { l.done <- d.Main() }()
	up.wait(l.tb)
}
