package pgstore

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// fate is what becomes of a COMMIT at the proxy.
type fate int

const (
	passes     fate = iota
	cutBefore       // the connection breaks and the server never sees it
	cutAfter        // the server commits, the answer is lost
	cutForGood      // as cutAfter, and nobody gets through any more
	swallowed       // nothing breaks, nothing arrives
	mute            // the server commits, its answer is never told, nothing breaks
	heldUp          // what the test does comes first, then the server sees it
)

// proxy stands between a store and its server and breaks connections at COMMIT.
type proxy struct {
	server string // address of the server's socket

	mu    sync.Mutex
	fate  fate   // of the next COMMIT; then it is passes again
	shut  bool   // nobody gets through
	first func() // what comes before a COMMIT that is held
	cuts  int
	conns map[net.Conn]bool
}

// newProxy listens beside a server and returns a DSN that leads through it.
func newProxy(t *testing.T, dsn string) (*proxy, string) {
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{conns: map[net.Conn]bool{}}
	q := u.Query()
	network, address := "unix", filepath.Join(t.TempDir(), ".s.PGSQL.5432")
	if host := q.Get("host"); host != "" {
		p.server = filepath.Join(host, ".s.PGSQL.5432")
	} else {
		p.server, network, address = u.Host, "tcp", "127.0.0.1:0"
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { p.accept(l, network, &running) })
	t.Cleanup(func() {
		l.Close()
		p.cutAll()
		running.Wait()
	})
	if network == "unix" {
		q.Set("host", filepath.Dir(address))
		u.RawQuery = q.Encode()
	} else {
		u.Host = l.Addr().String()
	}
	return p, u.String()
}

func (p *proxy) accept(l net.Listener, network string, running *sync.WaitGroup) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(network, p.server)
		if err != nil || !p.admit(client, server) {
			client.Close()
			if err == nil {
				server.Close()
			}
			continue
		}
		told := &gag{Writer: client}
		running.Go(func() { p.forward(client, server, told) })
		running.Go(func() {
			_, _ = io.Copy(told, server) // ends with either side
			client.Close()
			server.Close()
		})
	}
}

// gag passes on what a server says, until nothing more is to be heard of it.
type gag struct {
	io.Writer
	shut atomic.Bool
}

func (g *gag) Write(b []byte) (int, error) {
	if g.shut.Load() {
		return len(b), nil
	}
	return g.Writer.Write(b)
}

func (p *proxy) admit(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		return false
	}
	p.conns[client], p.conns[server] = true, true
	return true
}

// forward copies what the client sends, and looks for COMMIT: a simple query is one write of the driver.
func (p *proxy) forward(client, server net.Conn, told *gag) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		f := passes
		if bytes.Contains(buf[:n], []byte("Q\x00\x00\x00\x0bcommit\x00")) {
			f = p.next()
		}
		switch f {
		case passes:
		case swallowed:
			_, _ = io.Copy(io.Discard, client) // until the client gives up
			return
		case cutBefore:
			return
		case cutAfter, cutForGood:
			client.Close()
		case mute:
			told.shut.Store(true)
		case heldUp:
			p.first()
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
		if f == cutAfter || f == cutForGood {
			_, _ = io.ReadFull(server, buf[:1]) // the server has answered, or the copier of answers got it
			return
		}
	}
}

func (p *proxy) next() fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fate
	p.fate = passes
	if f != passes {
		p.cuts++
	}
	if f == cutForGood {
		p.shut = true
	}
	return f
}

func (p *proxy) set(f fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fate = f
}

// open lets everybody through again.
func (p *proxy) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = false
}

func (p *proxy) times() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

func (p *proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}
