package nsqworker

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nsqio/go-nsq"
)

// unansweredError: written, or half written, and not answered.
type unansweredError struct{ err error }

func (e *unansweredError) Error() string { return "no answer: " + e.err.Error() }
func (e *unansweredError) Unwrap() error { return e.err }

// outlet is one nsqd to publish to. It stands on go-nsq's Conn, not on its Producer: that keeps one line of answers for
// all its connections, so that an old one's answer confirms a new one's message or, when there is none, panics in a
// goroutine of its own (producer.go popTransaction); and it does not tell a message never sent from one unanswered.
type outlet struct {
	addr string
	cfg  *nsq.Config
	try  time.Duration

	failed atomic.Int64 // when, in Unix nanoseconds

	dialing sync.Mutex // held while a connection is made
	mu      sync.Mutex
	s       *session
	closed  bool
}

func newOutlet(addr string, c PublisherConfig) *outlet {
	n := nsq.NewConfig()
	n.HeartbeatInterval = 5 * time.Second
	n.ReadTimeout = 12 * time.Second
	n.WriteTimeout = 2 * time.Second
	n.DialTimeout = min(dialTimeout, c.TryTimeout)
	n.UserAgent, n.ClientID, n.Hostname = c.UserAgent, c.ClientID, c.Hostname
	return &outlet{addr: addr, cfg: n, try: c.TryTimeout}
}

func (o *outlet) failedSince(t time.Time) bool { return o.failed.Load() > t.UnixNano() }

// publish tries once, at most for the try timeout. An *unansweredError leaves open whether nsqd has the message.
func (o *outlet) publish(ctx context.Context, cmd *nsq.Command) error {
	ctx, cancel := context.WithTimeout(ctx, o.try)
	defer cancel()
	t := &try{cmd: cmd, answer: make(chan error, 1)}
	go o.attempt(ctx, t) // connecting and writing know no context
	var err error
	select {
	case err = <-t.answer:
	case <-ctx.Done():
		err = t.abandon(ctx.Err())
	}
	if _, refused := errors.AsType[*InvalidError](err); refused {
		return err // not the nsqd's fault
	}
	if err != nil {
		o.failed.Store(time.Now().UnixNano())
	}
	return err
}

// try is one message under way to one nsqd.
type try struct {
	cmd    *nsq.Command
	answer chan error
	fate   atomic.Int32 // 0, then written or abandoned, whichever comes first
}

const (
	written   = 1
	abandoned = 2
)

func (t *try) abandon(err error) error {
	if t.fate.CompareAndSwap(0, abandoned) {
		return err
	}
	select {
	case err := <-t.answer: // at the same moment
		return err
	default:
		return &unansweredError{err}
	}
}

func (o *outlet) attempt(ctx context.Context, t *try) {
	s, err := o.session(ctx)
	if err != nil {
		t.answer <- err
		return
	}
	s.send(t)
}

// session returns the connection, a new one if there is none. One caller dials; those behind it go when their time is up.
func (o *outlet) session(ctx context.Context) (*session, error) {
	o.dialing.Lock()
	defer o.dialing.Unlock()
	if s, err := o.standing(); s != nil || err != nil {
		return s, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := newSession(o.addr, o.cfg)
	if _, err := s.conn.Connect(); err != nil {
		s.conn.Close()
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		s.close(ErrClosed)
		return nil, ErrClosed
	}
	o.s = s
	return s, nil
}

func (o *outlet) standing() (*session, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, ErrClosed
	}
	if o.s != nil && o.s.alive() {
		return o.s, nil
	}
	return nil, nil
}

func (o *outlet) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.s != nil {
		o.s.close(ErrClosed)
	}
}

// session is one connection. nsqd answers in the order of the commands.
type session struct {
	conn  *nsq.Conn
	write sync.Mutex // held over line and wire, so that both have one order

	mu   sync.Mutex
	line []*try // unanswered
	err  error  // why it is over
}

func newSession(addr string, cfg *nsq.Config) *session {
	s := &session{}
	s.conn = nsq.NewConn(addr, cfg, sessionDelegate{s})
	return s
}

func (s *session) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil
}

// send writes one message; the answer arrives on the try.
func (s *session) send(t *try) {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.push(t); err != nil {
		t.answer <- err
		return
	}
	_ = s.conn.WriteCommand(t.cmd) // an error arrives at the delegate too, and ends the session
}

// push puts a try in line. What comes back as an error was not written.
func (s *session) push(t *try) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if !t.fate.CompareAndSwap(0, written) {
		return context.Canceled
	}
	s.line = append(s.line, t)
	return nil
}

func (s *session) answered(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.line) == 0 {
		return
	}
	t := s.line[0]
	s.line[0] = nil
	s.line = s.line[1:]
	t.answer <- err
}

// close ends the connection; what is in line stays unanswered.
func (s *session) close(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = err
	for _, t := range s.line {
		t.answer <- &unansweredError{err}
	}
	s.line = nil
	s.conn.Close()
}

// sessionDelegate keeps go-nsq's callbacks off session.
type sessionDelegate struct{ s *session }

func (d sessionDelegate) OnResponse(*nsq.Conn, []byte) { d.s.answered(nil) }

// OnError is nsqd's refusal: the message is not there. It ends the connection too.
func (d sessionDelegate) OnError(_ *nsq.Conn, data []byte) {
	text := string(data)
	if strings.HasPrefix(text, "E_BAD_") {
		d.s.answered(&InvalidError{"nsqd says " + text})
		return
	}
	d.s.answered(errors.New(text))
}

func (d sessionDelegate) OnIOError(_ *nsq.Conn, err error) { d.s.close(err) }

func (d sessionDelegate) OnClose(*nsq.Conn) { d.s.close(nsq.ErrClosing) }

func (sessionDelegate) OnMessage(*nsq.Conn, *nsq.Message)         {}
func (sessionDelegate) OnMessageFinished(*nsq.Conn, *nsq.Message) {}
func (sessionDelegate) OnMessageRequeued(*nsq.Conn, *nsq.Message) {}
func (sessionDelegate) OnBackoff(*nsq.Conn)                       {}
func (sessionDelegate) OnContinue(*nsq.Conn)                      {}
func (sessionDelegate) OnResume(*nsq.Conn)                        {}
func (sessionDelegate) OnHeartbeat(*nsq.Conn)                     {}
