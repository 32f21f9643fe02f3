package main

import (
	"context"
	"encoding/binary"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
)

// dnsEnv has a program of the tests ask this name server.
const dnsEnv = "RELAYER_TEST_DNS"

// resolving points Go's resolver at the test's name server.
func resolving() {
	server := os.Getenv(dnsEnv)
	if server == "" {
		return
	}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server)
	}}
}

// The codes that a name server answers with, and none.
const (
	noError  = 0
	servFail = 2
	nxDomain = 3
	silence  = -1
)

// nameServer answers every question for an address alike.
type nameServer struct {
	conn net.PacketConn

	mu    sync.Mutex
	code  int
	addrs []string       // with noError
	asked map[string]int // by the first label, since the last change
}

func startNameServer(t *testing.T) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{conn: conn, asked: map[string]int{}}
	var serving sync.WaitGroup
	serving.Go(s.serve)
	t.Cleanup(func() { conn.Close(); serving.Wait() })
	return s
}

func (s *nameServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if out := s.answer(buf[:n]); out != nil {
			_, _ = s.conn.WriteTo(out, from)
		}
	}
}

// answer makes the reply to a message with one question, nil for none (RFC 1035, section 4).
func (s *nameServer) answer(q []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := 12
	for q[end] != 0 { // labels
		end += 1 + int(q[end])
	}
	s.asked[string(q[13:13+q[12]])]++
	if s.code == silence {
		return nil
	}
	out := append([]byte(nil), q[:end+5]...)
	binary.BigEndian.PutUint16(out[2:], 0x8180|uint16(s.code)) // an answer, recursion available
	clear(out[6:12])                                           // no records yet
	if isA := binary.BigEndian.Uint16(q[end+1:]) == 1; s.code != noError || !isA {
		return out
	}
	out[7] = byte(len(s.addrs))
	for _, a := range s.addrs {
		out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4) // the name asked for, A, IN, for 0 s
		out = append(out, net.ParseIP(a).To4()...)
	}
	return out
}

// turn changes what is answered.
func (s *nameServer) turn(code int, addrs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code, s.addrs, s.asked = code, addrs, map[string]int{}
}

func (s *nameServer) count(label string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[label]
}

// Case 91: a name that does not resolve is no verdict. Nothing was sent, whether the resolver says that there is no such name, that it
// failed, or nothing at all: no call counts, nothing fails and nothing goes to a person. Later the name has a dead address first
// and a good one second, and all are settled.
func TestNamesThatDoNotResolve(t *testing.T) {
	t.Parallel()
	w := newSite(t, site{nsqd: true})
	dns := startNameServer(t)
	at := func(label, url string) string {
		return strings.Replace(url, "127.0.0.1", label+".relayer.test", 1)
	}
	p := w.startIn([]string{
		dnsEnv + "=" + dns.conn.LocalAddr().String(),
		"RELAYER_ROUTES_PAYOUTS_RPC_URL=" + at("node", w.chain.URL),
		"RELAYER_ROUTES_WEBHOOKS_URL=" + at("hook", w.sink.URL) + "/payments",
		"RELAYER_ROUTES_WEBHOOKS_LOOKUP=" + at("hook", w.sink.URL) + "/lookup/{id}",
	}, shortTerms("--set", "routes.webhooks.throttle.in-flight=4")...)
	ins := demoIntents("dns", 8)
	w.stored(ins)
	for _, code := range []int{nxDomain, servFail, silence} {
		dns.turn(code)
		until(t, "both routes to ask for their names, the provider's again", func() bool {
			w.hurry()
			return dns.count("node") >= 1 && dns.count("hook") >= 3
		})
		if s := w.states(); s[intents.Failed]+s[intents.NeedsReview]+s[intents.Confirming]+s[intents.Settled] > 0 {
			t.Fatalf("states %v after code %d", s, code)
		}
	}
	dns.turn(noError, "127.0.0.2", "127.0.0.1")
	w.settles(ins)
	p.drains()
	w.once(ins)
	for _, in := range ins {
		now, err := w.store.Get(t.Context(), in.ID)
		w.must(err)
		if now.Calls != 1 {
			t.Errorf("%s counts %d calls, want 1: the others were never made", in.ID, now.Calls)
		}
	}
}
