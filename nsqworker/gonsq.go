package nsqworker

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/nsqio/go-nsq"
)

// intakes is how many goroutines of go-nsq hand messages over.
const intakes = 4

// consumer is one go-nsq consumer. Recycling makes the next generation.
type consumer struct {
	*nsq.Consumer
	gen int
}

// nsqConfig has go-nsq keep its hands off: it drops a message after MaxAttempts, and one error pauses all connections.
func (c Config) nsqConfig(t timing, gen int) *nsq.Config {
	n := nsq.NewConfig()
	n.MaxAttempts = 0
	n.MaxBackoffDuration = 0 // off; BackoffMultiplier must stay, with both 0 backoff begins
	n.MaxInFlight = c.Concurrency
	n.MsgTimeout = c.MsgTimeout
	n.HeartbeatInterval = t.heartbeat()
	n.ReadTimeout = 3 * n.HeartbeatInterval
	n.WriteTimeout = netWriteTimeout
	n.DialTimeout = dialTimeout
	n.OutputBufferTimeout = c.OutputBufferTimeout
	if c.OutputBufferTimeout == Unbuffered {
		n.OutputBufferSize = -1 // without this a message waits for a full buffer, or the next heartbeat
	}
	n.LookupdPollInterval = min(5*c.ReconnectInterval, nsqMaxPoll) // go-nsq's own reconnecting; ours is sooner
	n.UserAgent, n.ClientID, n.Hostname = c.UserAgent, clientID(c.ClientID, gen), c.Hostname
	return n
}

// clientID tells apart the consumers of one Worker.
func clientID(id string, gen int) string {
	if gen == 1 {
		return id
	}
	return fmt.Sprintf("%s.%d", id, gen)
}

func (w *Worker) newConsumer(gen int) (*consumer, error) {
	c, err := nsq.NewConsumer(w.cfg.Topic, w.cfg.Channel, w.cfg.nsqConfig(w.timing, gen))
	if err != nil {
		return nil, err
	}
	c.SetLogger(hook{w: w, gen: gen, lines: newLines()}, nsq.LogLevelInfo) // before connecting: connections copy it
	c.AddConcurrentHandlers(intake{w: w, gen: gen}, intakes)
	return &consumer{Consumer: c, gen: gen}, nil
}

// hook listens to go-nsq's log, the only place where it tells of lost leases and connections. It is called on read loops
// and must not block.
type hook struct {
	w     *Worker
	gen   int
	lines lines
}

// Output takes one line.
func (h hook) Output(_ int, line string) error {
	h.w.heard(h.gen, h.lines.parse(line))
	return nil
}

type event uint8

const (
	other        event = iota
	connecting         // a new connection is tried
	ioError            // a connection is lost
	refused            // nsqd refused TOUCH, FIN or REQ
	notConnected       // a try failed
	complaint          // any other error of nsqd's; most end the connection
	closed             // a connection is gone and may be replaced
)

type said struct {
	event event
	addr  string
	id    nsq.MessageID
	text  string
}

// lines knows the text of go-nsq 1.1.0 (conn.go, consumer.go) and of nsqd 1.3.0 (protocol_v2.go).
type lines struct{ at, refused, closed *regexp.Regexp }

func newLines() lines {
	return lines{
		at:      regexp.MustCompile(`^(?:DBG|INF|WRN|ERR)\s+\d+ \[[^\]]+\] \((\S+)\) (.*)$`),
		refused: regexp.MustCompile(`^protocol error - (E_(?:TOUCH|FIN|REQ)_FAILED \w+ ([0-9a-f]{16}) failed .*)$`),
		closed:  regexp.MustCompile(`^WRN\s+\d+ \[[^\]]+\] there are \d+ connections left alive$`),
	}
}

func (l lines) parse(line string) said {
	at := l.at.FindStringSubmatch(line)
	if at == nil {
		if l.closed.MatchString(line) {
			return said{event: closed}
		}
		return said{text: line}
	}
	s := said{addr: at[1], text: at[2]}
	if no := l.refused.FindStringSubmatch(s.text); no != nil {
		s.event, s.text = refused, no[1]
		copy(s.id[:], no[2])
		return s
	}
	if text, ok := strings.CutPrefix(s.text, "IO error - "); ok {
		s.event, s.text = ioError, text
	} else if text, ok := strings.CutPrefix(s.text, "protocol error - "); ok {
		s.event, s.text = complaint, text
	} else if text, ok := strings.CutPrefix(s.text, "error connecting to nsqd - "); ok {
		s.event, s.text = notConnected, text
	} else if s.text == "connecting to nsqd" {
		s.event = connecting
	}
	return s
}

func (w *Worker) heard(gen int, s said) {
	switch s.event {
	case closed:
		w.nudge()
	case connecting:
		w.nodes.get(s.addr, w.newNode).connecting(gen)
	case ioError:
		w.lostConnection(gen, s)
	case refused:
		if w.nodes.get(s.addr, w.newNode).failed(gen, s.id, fmt.Errorf("%w: %s", ErrLeaseLost, s.text)) {
			w.log.WarnContext(w.base, "lease lost", "message", string(s.id[:]), "nsqd", s.addr, "error", s.text)
		}
	case notConnected:
		w.nodes.get(s.addr, w.newNode).refusedUs(gen, errors.New(s.text))
	case complaint:
		w.nodes.get(s.addr, w.newNode).complained(gen, s.text)
		w.log.ErrorContext(w.base, "nsqd complained", "nsqd", s.addr, "error", s.text)
	default:
		w.log.DebugContext(w.base, "go-nsq", "nsqd", s.addr, "line", s.text)
	}
}

func (w *Worker) lostConnection(gen int, s said) {
	lost := w.nodes.get(s.addr, w.newNode).broken(gen, fmt.Errorf("connection lost: %s", s.text))
	if w.drained.Load() {
		return // our own doing
	}
	w.log.WarnContext(w.base, "connection lost", "nsqd", s.addr, "leases_lost", lost, "error", s.text)
	w.cfg.OnLost()
	w.nudge()
}
