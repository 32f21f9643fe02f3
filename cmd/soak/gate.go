package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// lateBy is how much later an answer comes: some come after submit-timeout, most before.
const lateBy = 1500 * time.Millisecond

// gate stands before a server and breaks what passes. Open, it passes everything.
type gate struct {
	addr, target string

	mu       sync.Mutex
	mode     kind // empty: open
	turned   chan struct{}
	listener net.Listener
	passing  map[*passage]bool
	closed   bool
	loops    sync.WaitGroup
}

func openGate(addr, target string) (*gate, error) {
	g := &gate{addr: addr, target: target, turned: make(chan struct{}), passing: map[*passage]bool{}}
	return g, g.listen()
}

func (g *gate) listen() error {
	l, err := net.Listen("tcp", g.addr)
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.listener = l
	g.mu.Unlock()
	g.loops.Go(func() { g.accept(l) })
	return nil
}

// hurt breaks it until ctx ends.
func (g *gate) hurt(ctx context.Context, k kind) error {
	g.turn(k)
	if k == refuse {
		g.shut()
	}
	<-ctx.Done()
	g.turn("")
	if k == refuse {
		return back(ctx, g.reopen)
	}
	return nil
}

// reopen listens again, as soon as nobody else has the port.
func (g *gate) reopen(ctx context.Context) (err error) {
	for ctx.Err() == nil {
		if err = g.listen(); err == nil {
			return nil
		}
		pause(ctx, 50*time.Millisecond)
	}
	return err
}

// turn changes the mode. Passages whose answers were lost end: what would follow is no answer to anything.
func (g *gate) turn(k kind) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode = k
	close(g.turned)
	g.turned = make(chan struct{})
	for p := range g.passing {
		if p.lost {
			p.cut()
		}
	}
}

// now is the mode, and what is closed when it changes.
func (g *gate) now() (kind, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mode, g.turned
}

// shut listens no more and cuts what passes.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.listener.Close()
	for p := range g.passing {
		p.cut()
	}
}

// close ends the gate for good.
func (g *gate) close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.turn("")
	g.shut()
	g.loops.Wait()
	return nil
}

func (g *gate) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			g.loops.Go(func() { g.pass(client) })
		}
	}
}

// pass joins a client with a connection of its own to the server.
func (g *gate) pass(client net.Conn) {
	server, err := net.Dial("tcp", g.target)
	if err != nil {
		_ = client.Close()
		return
	}
	p := &passage{gate: g, client: client, server: server}
	if !g.enter(p) {
		p.cut()
		return
	}
	var asks sync.WaitGroup
	asks.Go(p.asks)
	p.answers()
	asks.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.passing, p)
}

func (g *gate) enter(p *passage) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.mode == refuse {
		return false
	}
	g.passing[p] = true
	return true
}

// passage is one connection through a gate.
type passage struct {
	gate           *gate
	client, server net.Conn
	lost           bool // an answer, or a part of one; guarded by the gate
}

// asks passes what the client says. While the gate hangs it is kept, and passed on later, even if the client has gone.
func (p *passage) asks() {
	defer p.end()
	buf := make([]byte, 32<<10)
	for {
		n, err := p.client.Read(buf)
		mode, turned := p.gate.now()
		for mode == hang && n > 0 {
			<-turned
			mode, turned = p.gate.now()
		}
		if n > 0 {
			if _, werr := p.server.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// answers passes what the server says, late or not at all.
func (p *passage) answers() {
	defer p.end()
	buf := make([]byte, 32<<10)
	for {
		n, err := p.server.Read(buf)
		if n > 0 && !p.answer(buf[:n]) {
			return
		}
		if err != nil {
			return
		}
	}
}

// answer passes one piece, and says whether that worked.
func (p *passage) answer(piece []byte) bool {
	mode, turned := p.gate.now()
	for mode == hang {
		<-turned
		mode, turned = p.gate.now()
	}
	switch {
	case mode == deaf, p.isLost():
		p.lose()
		return true
	case mode == late:
		select {
		case <-turned:
		case <-time.After(lateBy):
		}
	}
	_, err := p.client.Write(piece)
	return err == nil
}

func (p *passage) isLost() bool {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	return p.lost
}

func (p *passage) lose() {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.lost = true
}

// end closes both sides.
func (p *passage) end() {
	_ = p.client.Close()
	_ = p.server.Close()
}

// cut resets the client's side and closes the server's.
func (p *passage) cut() {
	if tcp, ok := p.client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	p.end()
}
