package devstack

import (
	"errors"
	"net"
	"testing"
)

// occupy listens on a free port until the test ends.
func occupy(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestDefaultPortMovesOn(t *testing.T) {
	taken := occupy(t)
	var ports Ports
	got, err := ports.Pick("nsqd-tcp-address", taken, false)
	if err != nil {
		t.Fatal(err)
	}
	_, was, _ := split(taken)
	if host, port, _ := split(got); host != "127.0.0.1" || port <= was {
		t.Errorf("moved from %s to %s", taken, got)
	}
	l, err := net.Listen("tcp", got)
	if err != nil {
		t.Fatalf("the picked port is not free: %v", err)
	}
	l.Close()
}

func TestExplicitPortThatIsTaken(t *testing.T) {
	taken := occupy(t)
	var ports Ports
	_, err := ports.Pick("nsqd-tcp-address", taken, true)
	e, ok := errors.AsType[*PortTakenError](err)
	if !ok || e.Flag != "nsqd-tcp-address" || e.Addr != taken {
		t.Fatalf("error is %v", err)
	}
	if want := "--nsqd-tcp-address: " + taken + " is taken"; err.Error() != want {
		t.Errorf("error says %q, want %q", err, want)
	}
}

func TestNoPortIsGivenTwice(t *testing.T) {
	var ports Ports
	first, err := ports.Pick("a", "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	second, err := ports.Pick("b", first, false) // free on the machine, but promised
	if err != nil {
		t.Fatal(err)
	}
	if first == second {
		t.Errorf("%s was given twice", first)
	}
	if _, err := ports.Pick("c", first, true); err == nil {
		t.Errorf("%s was given again to a flag", first)
	}
}

func TestBadAddresses(t *testing.T) {
	for _, addr := range []string{"4150", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", "192.0.2.1:4150"} {
		var ports Ports
		_, err := ports.Pick("flag", addr, false)
		if err == nil {
			t.Errorf("%q was accepted", addr)
			continue
		}
		if _, taken := errors.AsType[*PortTakenError](err); taken {
			t.Errorf("%q counts as taken: %v", addr, err)
		}
	}
}

func TestNothingFreeBelowTheLastPort(t *testing.T) {
	ports := Ports{given: map[string]bool{"127.0.0.1:65535": true}}
	_, err := ports.Pick("flag", "127.0.0.1:65535", false)
	if _, ok := errors.AsType[*PortTakenError](err); !ok {
		t.Errorf("error is %v", err)
	}
}
