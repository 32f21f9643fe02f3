package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// tape is what clients sent to a server, connection by connection.
type tape struct {
	mu    sync.Mutex
	conns []*track
}

// track is one connection's part.
type track struct {
	cycles []cycle
	open   cycle // not answered yet
}

// cycle is what was sent until the server was ready for more.
type cycle struct {
	sent []byte
	seen []int // of each connection, how many cycles were answered when this one began
}

// add opens a connection's track.
func (t *tape) add() *track {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns = append(t.conns, &track{})
	return t.conns[len(t.conns)-1]
}

func (t *tape) sent(tr *track, b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tr.open.seen == nil {
		for _, other := range t.conns {
			tr.open.seen = append(tr.open.seen, len(other.cycles))
		}
	}
	tr.open.sent = append(tr.open.sent, b...)
}

func (t *tape) answered(tr *track) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tr.cycles, tr.open = append(tr.cycles, tr.open), cycle{}
}

// with finds the connection on which a text was sent.
func (t *tape) with(text string) (int, error) {
	for n, tr := range t.conns {
		for _, c := range tr.cycles {
			if bytes.Contains(c.sent, []byte(text)) {
				return n, nil
			}
		}
	}
	return 0, fmt.Errorf("nobody sent %q", text)
}

// record stands between clients and a server until the listener is closed. It returns when all have left.
func (t *tape) record(l net.Listener, server string) error {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		up, err := net.Dial("unix", server)
		if err != nil {
			client.Close()
			return err
		}
		tr := t.add()
		all.Go(func() { t.pass(tr, client, up) })
	}
}

// pass takes one connection from its start to its end.
func (t *tape) pass(tr *track, client, server net.Conn) {
	var both sync.WaitGroup
	both.Go(func() {
		defer server.Close()
		b := make([]byte, 64<<10)
		for {
			n, err := client.Read(b)
			if n > 0 {
				t.sent(tr, b[:n])
				_, bad := server.Write(b[:n])
				err = errors.Join(err, bad)
			}
			if err != nil {
				return
			}
		}
	})
	defer both.Wait()
	defer client.Close()
	in, out := bufio.NewReader(server), bufio.NewWriter(client)
	for {
		kind, err := message(in, out)
		if err != nil {
			return
		}
		if kind != ready {
			continue
		}
		t.answered(tr)
		if out.Flush() != nil {
			return
		}
	}
}

// Kinds of messages a server sends.
const (
	ready   = 'Z' // for the next query
	refusal = 'E'
)

// message passes one message of a server on.
func message(in *bufio.Reader, out io.Writer) (kind byte, err error) {
	head, err := in.Peek(5)
	if err != nil {
		return 0, err
	}
	kind = head[0]
	_, err = io.CopyN(out, in, 1+int64(binary.BigEndian.Uint32(head[1:])))
	return kind, err
}
