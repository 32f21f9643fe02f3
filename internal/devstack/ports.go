// Package devstack picks the ports of a development stack. The parts themselves are in its subpackages: nsq (the
// three daemons of NSQ), chain (an EVM chain that mines) and sink (an HTTP payment provider). They know nothing of
// the relayer, and one can be linked without the others.
package devstack

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

const tries = 100 // ports to look at above a taken one

// PortTakenError says that a port somebody asked for is in use. For a command it is a usage error.
type PortTakenError struct {
	Flag string // that asked, without dashes
	Addr string
}

func (e *PortTakenError) Error() string { return fmt.Sprintf("--%s: %s is taken", e.Flag, e.Addr) }

// Ports picks addresses to listen on and gives none twice. The zero value is ready.
//
// A picked port is free, not held: somebody else may take it before it is used, and the part that was to listen there
// then fails to start. Pick before building an nsqd: one that cannot listen keeps the lock of its data path until the
// process ends.
type Ports struct {
	given map[string]bool
}

// Pick returns addr if it is free. If it is not, a default moves to the next port that is free, and an explicit one,
// given by a flag, is a *PortTakenError. Port 0 is any free port. Other errors mean that nobody can listen at the host.
func (p *Ports) Pick(flagName, addr string, explicit bool) (string, error) {
	host, port, err := split(addr)
	if err != nil {
		return "", fmt.Errorf("--%s: %w", flagName, err)
	}
	for range tries {
		got, err := p.probe(host, port)
		switch {
		case err == nil:
			return got, nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return "", fmt.Errorf("--%s: %w", flagName, err)
		case explicit:
			return "", &PortTakenError{Flag: flagName, Addr: addr}
		}
		if port++; port > 65535 {
			break
		}
	}
	return "", &PortTakenError{Flag: flagName, Addr: addr}
}

func split(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("port %q is not a number from 0 to 65535", text)
	}
	return host, int(n), nil
}

// probe listens for a moment.
func (p *Ports) probe(host string, port int) (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return "", err
	}
	defer l.Close()
	got := net.JoinHostPort(host, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	if p.given[got] {
		return "", syscall.EADDRINUSE
	}
	if p.given == nil {
		p.given = map[string]bool{}
	}
	p.given[got] = true
	return got, nil
}
