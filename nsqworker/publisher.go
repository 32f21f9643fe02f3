package nsqworker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nsqio/go-nsq"
)

const (
	publishRounds = 3 // over all nsqds
	publishPause  = 100 * time.Millisecond
	shyFor        = 5 * time.Second  // an nsqd that failed is asked last
	nodesFor      = 30 * time.Second // an answer of the nsqlookupds is used
)

// PublisherConfig is what a Publisher needs. Zero fields take the default named.
type PublisherConfig struct {
	// NSQDs are TCP addresses of nsqds, Lookupds HTTP addresses of nsqlookupds whose nsqds are used too; one at least.
	NSQDs, Lookupds []string

	MaxBodySize int           // nsqd's --max-msg-size, 1 MiB
	TryTimeout  time.Duration // for one nsqd, 3 s

	UserAgent string // relayer/VERSION go-nsq/1.1.0
	ClientID  string // HOST-PID
	Hostname  string // os.Hostname

	Logger *slog.Logger // none: discarded
}

func (c PublisherConfig) withDefaults() PublisherConfig {
	host, _ := os.Hostname()
	c.MaxBodySize = cmp.Or(c.MaxBodySize, 1<<20)
	c.TryTimeout = cmp.Or(c.TryTimeout, 3*time.Second)
	c.UserAgent = cmp.Or(c.UserAgent, UserAgent("dev"))
	c.Hostname = cmp.Or(c.Hostname, host)
	c.ClientID = cmp.Or(c.ClientID, fmt.Sprintf("%s-%d", c.Hostname, os.Getpid()))
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate names everything that is wrong, joined.
func (c PublisherConfig) Validate() error {
	c = c.withDefaults()
	errs := []error{
		check(len(c.NSQDs)+len(c.Lookupds) > 0, "nsqd-tcp-address, nsqlookupd-http-address", "", "at least one address"),
		check(c.MaxBodySize > 0, "max-msg-size", c.MaxBodySize, "more than 0"),
		check(c.TryTimeout > 0, "try timeout", c.TryTimeout, "more than 0"),
	}
	return errors.Join(slices.Concat(errs,
		checkAddrs("nsqd-tcp-address", c.NSQDs), checkAddrs("nsqlookupd-http-address", c.Lookupds))...)
}

// ErrClosed answers a Publish after Close.
var ErrClosed = errors.New("nsqworker: publisher closed")

// InvalidError refuses a message that no nsqd takes. nsqd would answer by closing the connection, with what others have
// under way on it; so what we can see ourselves is not sent.
type InvalidError struct{ Reason string }

// Error says why.
func (e *InvalidError) Error() string { return "not published: " + e.Reason }

// UnknownError says that the message may have been published: it was sent, and no nsqd confirmed it.
type UnknownError struct{ Err error }

// Error says so.
func (e *UnknownError) Error() string { return "may have been published: " + e.Err.Error() }

// Unwrap returns what went wrong.
func (e *UnknownError) Unwrap() error { return e.Err }

// Publisher publishes to the nsqds it knows. It is safe for concurrent use.
type Publisher struct {
	cfg  PublisherConfig
	http *http.Client

	mu      sync.Mutex
	next    int
	outlets map[string]*outlet
	asked   time.Time
	closed  bool
	wg      sync.WaitGroup
}

// NewPublisher makes a Publisher; it connects when it first publishes. Its errors are those of Validate.
func NewPublisher(cfg PublisherConfig) (*Publisher, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("nsqworker: %w", err)
	}
	p := &Publisher{cfg: cfg.withDefaults(), http: newHTTPClient(), outlets: map[string]*outlet{}}
	for _, addr := range cfg.NSQDs {
		p.outlets[addr] = newOutlet(addr, p.cfg)
	}
	return p, nil
}

// Publish puts one message into topic on one nsqd: the next in turn, or the next after it when that fails. A nil error
// means that one of them has it, in memory; a message may be there twice when an earlier one did not answer.
//
// It returns an *InvalidError for what can never be published, ErrClosed, an *UnknownError when the message may be there
// although nobody confirmed it, and other errors when it is not there. It never outlasts ctx.
func (p *Publisher) Publish(ctx context.Context, topic string, body []byte) error {
	if err := p.valid(topic, body); err != nil {
		return err
	}
	if err := p.enter(); err != nil {
		return err
	}
	defer p.wg.Done()
	cmd := nsq.Publish(topic, slices.Clone(body)) // ours: writing may go on after ctx has ended
	var errs []error
	for i := range publishRounds {
		if i > 0 && !sleep(ctx, publishPause<<(2*i-2)) {
			break
		}
		err := p.round(ctx, cmd)
		if _, never := errors.AsType[*InvalidError](err); err == nil || never {
			return err
		}
		errs = append(errs, err)
	}
	return verdictOf(errs)
}

func (p *Publisher) valid(topic string, body []byte) error {
	switch {
	case !nsq.IsValidTopicName(topic):
		return &InvalidError{fmt.Sprintf("topic %q is not a valid name", topic)}
	case len(body) == 0: // go-nsq would leave out the length and nsqd read the next command as one
		return &InvalidError{"the body is empty"}
	case len(body) > p.cfg.MaxBodySize:
		return &InvalidError{fmt.Sprintf("the body has %d bytes, %d are allowed", len(body), p.cfg.MaxBodySize)}
	}
	return nil
}

func (p *Publisher) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	p.wg.Add(1)
	return nil
}

// round tries every nsqd once.
func (p *Publisher) round(ctx context.Context, cmd *nsq.Command) error {
	outlets := p.inTurn(ctx)
	if len(outlets) == 0 {
		return errors.New("no nsqd known")
	}
	var errs []error
	for _, o := range outlets {
		err := o.publish(ctx, cmd)
		if _, never := errors.AsType[*InvalidError](err); err == nil || never {
			return err
		}
		errs = append(errs, fmt.Errorf("nsqd %s: %w", o.addr, err))
		if ctx.Err() != nil {
			break
		}
		p.cfg.Logger.WarnContext(ctx, "publish failed", "nsqd", o.addr, "error", err)
	}
	return errors.Join(errs...)
}

// verdictOf makes of all failures one: unknown when any of them is.
func verdictOf(errs []error) error {
	err := errors.Join(errs...)
	if _, ok := errors.AsType[*unansweredError](err); ok {
		return &UnknownError{err}
	}
	return fmt.Errorf("not published: %w", err)
}

// inTurn lists all nsqds, beginning with the next, those that failed of late last.
func (p *Publisher) inTurn(ctx context.Context) []*outlet {
	p.refresh(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	addrs := slices.Sorted(maps.Keys(p.outlets))
	if len(addrs) == 0 {
		return nil
	}
	p.next = (p.next + 1) % len(addrs)
	var good, shy []*outlet
	for i := range addrs {
		o := p.outlets[addrs[(p.next+i)%len(addrs)]]
		if o.failedSince(time.Now().Add(-shyFor)) {
			shy = append(shy, o)
		} else {
			good = append(good, o)
		}
	}
	return append(good, shy...)
}

// refresh asks the nsqlookupds for nsqds now and then. Those they do not name any more go, if all of them answered.
func (p *Publisher) refresh(ctx context.Context) {
	if !p.due(time.Now()) {
		return
	}
	f := ask(ctx, p.http, p.cfg.Lookupds, "/nodes")
	p.mu.Lock()
	defer p.mu.Unlock()
	for addr := range f.nsqds {
		if p.outlets[addr] == nil {
			p.outlets[addr] = newOutlet(addr, p.cfg)
		}
	}
	for addr, o := range p.outlets {
		_, named := f.nsqds[addr]
		if !named && f.complete() && !slices.Contains(p.cfg.NSQDs, addr) {
			delete(p.outlets, addr)
			go o.close()
		}
	}
}

func (p *Publisher) due(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.cfg.Lookupds) == 0 || (now.Sub(p.asked) < nodesFor && len(p.outlets) > 0) {
		return false
	}
	p.asked = now
	return true
}

// Close waits until every Publish has returned, then closes the connections. Calling it again is fine.
func (p *Publisher) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.wg.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.outlets {
		o.close()
	}
	p.http.CloseIdleConnections()
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
