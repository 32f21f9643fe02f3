package nsqworker

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"time"

	"github.com/nsqio/go-nsq"
)

const (
	minMsgTimeout     = time.Second // nsqd refuses less (client_v2.go)
	defaultMsgTimeout = time.Minute
	nsqdMaxMsgTimeout = 15 * time.Minute // nsqd's default
)

// Unbuffered, as an OutputBufferTimeout, has nsqd write each message at once, in packets of its own: no message waits for
// company, and nsqd spends about twice the time on each.
const Unbuffered time.Duration = -1

// What an OutputBufferTimeout may be otherwise: nsqd refuses less and more (--min- and --max-output-buffer-timeout).
const (
	MinOutputBufferTimeout = 25 * time.Millisecond
	MaxOutputBufferTimeout = 30 * time.Second
)

// Config is what a Worker needs. Zero fields take the default named.
type Config struct {
	Topic, Channel string // required

	// NSQDs are TCP addresses of nsqds, Lookupds HTTP addresses of nsqlookupds; at least one of either.
	NSQDs, Lookupds []string
	// NSQDHTTPs are the HTTP addresses of NSQDs, in the same order. None: the port after the TCP one, as nsqd's defaults
	// have it. They serve the watchdog and the question for max-msg-timeout; a worker without them works.
	NSQDHTTPs []string

	Concurrency int // handlers at once, 64

	MsgTimeout    time.Duration // asked of nsqd for each lease, 60 s
	MaxMsgTimeout time.Duration // nsqd's --max-msg-timeout; 0 asks each nsqd and falls back to 15 min
	MaxReqTimeout time.Duration // nsqd's --max-req-timeout, the longest delay of a Requeue, 1 h

	DrainTimeout time.Duration // from the end of Run's context until the work contexts end, 45 s
	WriteTimeout time.Duration // after that, for handlers to write down what they know, 5 s

	OutputBufferTimeout time.Duration // how long nsqd may hold a message back to fill a packet, 25 ms, its least; or Unbuffered
	ReconnectInterval   time.Duration // between tries to connect to an nsqd, 1 s
	LookupInterval      time.Duration // between questions to the nsqlookupds, 5 s
	WatchdogInterval    time.Duration // between looks at each nsqd's /stats, 15 s

	UserAgent string // relayer/VERSION go-nsq/1.1.0
	ClientID  string // tells instances apart in nsqadmin and for the watchdog; HOST-PID
	Hostname  string // os.Hostname

	Logger *slog.Logger // none: discarded

	// OnLost is told when a connection to an nsqd has ended that we did not end: what nsqd held in memory may be gone. It must
	// not block. None: nobody is.
	OnLost func()
}

func (c Config) withDefaults() Config {
	host, _ := os.Hostname()
	if c.OnLost == nil {
		c.OnLost = func() {}
	}
	c.Concurrency = cmp.Or(c.Concurrency, 64)
	c.MsgTimeout = cmp.Or(c.MsgTimeout, defaultMsgTimeout)
	c.MaxReqTimeout = cmp.Or(c.MaxReqTimeout, time.Hour)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 45*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 5*time.Second)
	c.OutputBufferTimeout = cmp.Or(c.OutputBufferTimeout, MinOutputBufferTimeout)
	c.ReconnectInterval = cmp.Or(c.ReconnectInterval, time.Second)
	c.LookupInterval = cmp.Or(c.LookupInterval, 5*time.Second)
	c.WatchdogInterval = cmp.Or(c.WatchdogInterval, 15*time.Second)
	c.UserAgent = cmp.Or(c.UserAgent, UserAgent("dev"))
	c.Hostname = cmp.Or(c.Hostname, host)
	c.ClientID = cmp.Or(c.ClientID, fmt.Sprintf("%s-%d", c.Hostname, os.Getpid()))
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate names everything that is wrong, each with the field, its value and what would be right, joined.
func (c Config) Validate() error {
	c = c.withDefaults()
	most := cmp.Or(c.MaxMsgTimeout, 24*time.Hour) // unknown until an nsqd is asked
	errs := []error{
		check(nsq.IsValidTopicName(c.Topic), "topic", c.Topic, "1 to 64 of . a-z A-Z 0-9 _ -"),
		check(nsq.IsValidChannelName(c.Channel), "channel", c.Channel, "1 to 64 of . a-z A-Z 0-9 _ -"),
		check(len(c.NSQDs)+len(c.Lookupds) > 0, "nsqd-tcp-address, nsqlookupd-http-address", "", "at least one address"),
		check(len(c.NSQDHTTPs) == 0 || len(c.NSQDHTTPs) == len(c.NSQDs), "nsqd-http-address", c.NSQDHTTPs,
			fmt.Sprintf("none, or one for each of the %d nsqd-tcp-address", len(c.NSQDs))),
		check(c.Concurrency >= 1 && c.Concurrency <= 100_000, "concurrency", c.Concurrency, "1 to 100000"),
		check(c.MaxMsgTimeout >= 0, "max-msg-timeout", c.MaxMsgTimeout, "nsqd's own, or 0 to ask it"),
		check(c.MsgTimeout >= minMsgTimeout && c.MsgTimeout <= most, "msg-timeout", c.MsgTimeout,
			fmt.Sprintf("%v up to nsqd's max-msg-timeout, %v", minMsgTimeout, most)),
		check(c.MaxReqTimeout > 0, "max-req-timeout", c.MaxReqTimeout, "more than 0"),
		check(c.DrainTimeout > 0, "drain-timeout", c.DrainTimeout, "more than 0"),
		check(c.WriteTimeout > 0, "write-timeout", c.WriteTimeout, "more than 0"),
		check(c.OutputBufferTimeout == Unbuffered || c.OutputBufferTimeout >= MinOutputBufferTimeout && c.OutputBufferTimeout <= MaxOutputBufferTimeout,
			"output-buffer-timeout", c.OutputBufferTimeout, fmt.Sprintf("%v to %v, or unbuffered", MinOutputBufferTimeout, MaxOutputBufferTimeout)),
		check(min(c.ReconnectInterval, c.LookupInterval, c.WatchdogInterval) > 0, "reconnect, lookup, watchdog interval",
			min(c.ReconnectInterval, c.LookupInterval, c.WatchdogInterval), "more than 0"),
	}
	return errors.Join(append(errs, c.checkAddresses()...)...)
}

func (c Config) checkAddresses() []error {
	return slices.Concat(
		checkAddrs("nsqd-tcp-address", c.NSQDs),
		checkAddrs("nsqlookupd-http-address", c.Lookupds),
		checkAddrs("nsqd-http-address", c.NSQDHTTPs))
}

func checkAddrs(field string, addrs []string) []error {
	var errs []error
	for _, a := range addrs {
		_, port, err := net.SplitHostPort(a)
		errs = append(errs, check(err == nil && port != "", field, a, "host:port"))
	}
	return errs
}

func check(ok bool, field string, value any, right string) error {
	if ok {
		return nil
	}
	return &ConfigError{Field: field, Value: fmt.Sprint(value), Right: right}
}

// ConfigError names one field that makes no sense.
type ConfigError struct {
	Field, Value, Right string
}

// Error reads `msg-timeout "10ms": must be 1s up to …`.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s %q: must be %s", e.Field, e.Value, e.Right)
}
