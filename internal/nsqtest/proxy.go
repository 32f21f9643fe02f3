package nsqtest

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
)

// Proxy stands between a client and a server, an nsqd or any other, and breaks connections on demand.
type Proxy struct {
	target string
	ln     net.Listener
	wg     sync.WaitGroup

	mu     sync.Mutex
	pairs  map[*pair]struct{}
	refuse bool
	thawed chan struct{} // closed while bytes may pass
	closed bool
	traps  map[bool]*trap // by whether it watches the client's bytes
}

type trap struct {
	pattern      []byte
	left, sprung int
}

type pair struct {
	client, server net.Conn
	orphan         bool // the client is to believe that it stands
}

// StartProxy listens on 127.0.0.1 and forwards to target, host:port or the path of a unix socket. It ends with the test.
func StartProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("proxy: %v", err)
	}
	p := &Proxy{target: target, ln: ln, pairs: map[*pair]struct{}{}, thawed: make(chan struct{}), traps: map[bool]*trap{}}
	close(p.thawed)
	p.wg.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Cut resets every connection that stands now.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

func (p *Proxy) cut() {
	for c := range p.pairs {
		c.reset()
	}
}

// Orphan resets the server's side of every connection that stands now. The client's stays, and hears nothing any more.
func (p *Proxy) Orphan() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.orphan = true
		reset(c.server)
	}
}

// Refuse resets every connection and each new one, until Accept.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = true
	p.cut()
}

// Accept ends Refuse.
func (p *Proxy) Accept() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = false
}

// Freeze stops all bytes both ways and keeps the connections: a black hole. New ones are accepted and hear nothing.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thawed:
		p.thawed = make(chan struct{})
	default:
	}
}

// Thaw ends Freeze; what was held back goes on.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.thaw()
}

func (p *Proxy) thaw() {
	select {
	case <-p.thawed:
	default:
		close(p.thawed)
	}
}

// TrapClient resets the connection instead of passing on bytes of the client that contain pattern, n times.
func (p *Proxy) TrapClient(pattern string, n int) { p.setTrap(true, pattern, n) }

// TrapServer is TrapClient for bytes of the server.
func (p *Proxy) TrapServer(pattern string, n int) { p.setTrap(false, pattern, n) }

func (p *Proxy) setTrap(client bool, pattern string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traps[client] = &trap{pattern: []byte(pattern), left: n}
}

// Sprung is how often traps were sprung.
func (p *Proxy) Sprung() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, t := range p.traps {
		n += t.sprung
	}
	return n
}

func (p *Proxy) springs(client bool, b []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.traps[client]
	if t == nil || t.left == 0 || !bytes.Contains(b, t.pattern) {
		return false
	}
	t.left--
	t.sprung++
	return true
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.cut()
	p.thaw()
	p.mu.Unlock()
	p.ln.Close()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(network(p.target), p.target)
		if err != nil {
			(&pair{client: client}).reset()
			continue
		}
		p.serve(&pair{client: client, server: server})
	}
}

func network(target string) string {
	if strings.HasPrefix(target, "/") {
		return "unix"
	}
	return "tcp"
}

func (p *Proxy) serve(c *pair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse || p.closed {
		c.reset()
		return
	}
	p.pairs[c] = struct{}{}
	p.wg.Go(func() { p.pump(c, c.client, c.server) })
	p.wg.Go(func() { p.pump(c, c.server, c.client) })
}

// pump copies one way until either side ends or the trap is sprung; then both are reset.
func (p *Proxy) pump(c *pair, from, to net.Conn) {
	defer p.drop(c)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			<-p.open()
			if p.springs(from == c.client, buf[:n]) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) open() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.thawed
}

// drop ends a pair. An orphan's client is left as it is until the proxy ends.
func (p *Proxy) drop(c *pair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.orphan && !p.closed {
		return
	}
	delete(p.pairs, c)
	c.reset()
}

// reset closes both sides with RST: nothing more is delivered.
func (c *pair) reset() {
	reset(c.client)
	reset(c.server)
}

func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	if conn != nil {
		conn.Close()
	}
}

// Conns is how many connections stand now.
func (p *Proxy) Conns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pairs)
}
