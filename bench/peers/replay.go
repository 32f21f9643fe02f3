package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"

	"golang.org/x/sync/errgroup"
)

// player sends a tape to a server again, each connection as fast as the server answers.
type player struct {
	tape   *tape
	server string // path of its socket
	// One connection follows another: it sends nothing of which the other's answer was part.
	follower, leader int

	mu   sync.Mutex
	more *sync.Cond
	led  int // cycles of the leader that were answered
	err  error
}

// play returns when everything was answered. A refusal is an error.
func (p *player) play(ctx context.Context) error {
	p.more = sync.NewCond(&p.mu)
	g, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() { p.fail(ctx.Err()) })()
	for n := range p.tape.conns {
		g.Go(func() error {
			if err := p.conn(ctx, n); err != nil {
				return fmt.Errorf("connection %d: %w", n, err)
			}
			return nil
		})
	}
	return g.Wait()
}

func (p *player) conn(ctx context.Context, n int) error {
	c, err := new(net.Dialer).DialContext(ctx, "unix", p.server)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	in := bufio.NewReaderSize(c, 64<<10)
	status := byte(idle)
	for _, cy := range p.tape.conns[n].cycles {
		if err := p.turn(n, cy, status); err != nil {
			return err
		}
		if _, err := c.Write(cy.sent); err != nil {
			return err
		}
		if status, err = answered(in); err != nil {
			return err
		}
		p.did(n)
	}
	return nil
}

// turn waits until a cycle may be sent. Inside a transaction nothing waits: it may hold what the leader needs.
func (p *player) turn(n int, cy cycle, status byte) error {
	if n != p.follower || status != idle {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.err == nil && p.leader < len(cy.seen) && p.led < cy.seen[p.leader] {
		p.more.Wait()
	}
	return p.err
}

func (p *player) did(n int) {
	if n != p.leader {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.led++
	p.more.Broadcast()
}

// fail ends all waiting.
func (p *player) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	p.more.Broadcast()
}

// idle is the status of a connection outside a transaction.
const idle = 'I'

// answered reads until the server is ready for more, and tells the status of the connection.
func answered(in *bufio.Reader) (status byte, err error) {
	for {
		var text bytes.Buffer
		kind, err := message(in, &text)
		switch {
		case err != nil:
			return 0, err
		case kind == refusal:
			return 0, fmt.Errorf("the server refused: %q", text.String())
		case kind == ready:
			return text.Bytes()[text.Len()-1], nil
		}
	}
}
